// Questions that the client cannot answer from what it has been told.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "remote/server/session.h"

namespace cleave::remote::server {
namespace {

// What is answered with handles, which mean nothing to the client: it knows those objects itself.
constexpr std::array<cl_uint, 19> kHandles{
    CL_DEVICE_PLATFORM,      CL_DEVICE_PARENT_DEVICE, CL_CONTEXT_DEVICES,
    CL_CONTEXT_PROPERTIES,   CL_QUEUE_CONTEXT,        CL_QUEUE_DEVICE,
    CL_QUEUE_DEVICE_DEFAULT, CL_MEM_CONTEXT,          CL_MEM_ASSOCIATED_MEMOBJECT,
    CL_MEM_HOST_PTR,         CL_IMAGE_BUFFER,         CL_SAMPLER_CONTEXT,
    CL_PROGRAM_CONTEXT,      CL_PROGRAM_DEVICES,      CL_PROGRAM_BINARIES,
    CL_KERNEL_CONTEXT,       CL_KERNEL_PROGRAM,       CL_EVENT_COMMAND_QUEUE,
    CL_EVENT_CONTEXT};

template <typename Value>
bool take(const flatbuffers::Vector<std::uint8_t>* input, Value& value) {
  if (input == nullptr || input->size() != sizeof value) return false;
  std::memcpy(&value, input->data(), sizeof value);
  return true;
}

Told value_told(cl_int error, const void* value, std::size_t size) {
  const auto* const bytes = static_cast<const std::uint8_t*>(value);
  return {error,
          error == CL_SUCCESS ? std::vector<std::uint8_t>(bytes, bytes + size) : std::vector<std::uint8_t>()};
}

Told image_formats(const Table& cl, cl_context context, const wire::Query& query) {
  cl_mem_flags flags = 0;
  if (!take(query.input(), flags)) return {CL_INVALID_VALUE, {}};
  cl_uint count = 0;
  cl_int error = cl.clGetSupportedImageFormats(context, flags, query.param(), 0, nullptr, &count);
  std::vector<cl_image_format> formats(std::min(count, cl_uint{65536}));
  if (error == CL_SUCCESS && !formats.empty()) {
    error = cl.clGetSupportedImageFormats(context, flags, query.param(), static_cast<cl_uint>(formats.size()),
                                          formats.data(), nullptr);
  }
  return value_told(error, formats.data(), formats.size() * sizeof(cl_image_format));
}

Told sub_group(const Table& cl, cl_kernel kernel, cl_device_id device, const wire::Query& query) {
  const auto* const input = query.input();
  std::array<std::size_t, 3> values{};
  const std::size_t size = input != nullptr ? input->size() : 0;
  if (size > sizeof values) return {CL_INVALID_VALUE, {}};
  if (size > 0) std::memcpy(values.data(), input->data(), size);
  std::array<std::size_t, 3> answer{};
  // `index` is the size that the program has room for: the answer's length may follow it.
  const std::size_t room = std::min<std::size_t>(query.index(), sizeof answer);
  std::size_t length = 0;
  const cl_int error = cl.clGetKernelSubGroupInfo(
      kernel, device, query.param(), size, size > 0 ? values.data() : nullptr, room, answer.data(), &length);
  return value_told(error, answer.data(), std::min(length, sizeof answer));
}

using SuggestedLocalSize = cl_int(CL_API_CALL*)(cl_command_queue, cl_kernel, cl_uint, const std::size_t*,
                                                const std::size_t*, std::size_t*);

Told suggested(const Table& cl, cl_command_queue queue, cl_kernel kernel, const wire::Query& query) {
  std::array<std::uint64_t, 7> in{};
  if (!take(query.input(), in) || in[0] < 1 || in[0] > 3) return {CL_INVALID_VALUE, {}};
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  cl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  cl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  const auto ask = reinterpret_cast<SuggestedLocalSize>(
      cl.clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSizeKHR"));
  if (ask == nullptr) return {CL_INVALID_OPERATION, {}};
  std::array<std::size_t, 3> out{};
  const cl_int error =
      ask(queue, kernel, static_cast<cl_uint>(in[0]), in.data() + 1, in.data() + 4, out.data());
  return value_told(error, out.data(), sizeof out);
}

}  // namespace

Told Session::build_info(cl_program program, cl_device_id device, cl_program_build_info param) const {
  if (program == nullptr) return {CL_INVALID_PROGRAM, {}};
  Told told =
      told_by([&](auto... rest) { return cl_.clGetProgramBuildInfo(program, device, param, rest...); });
  if (param != CL_PROGRAM_BUILD_LOG || told.bytes.empty()) return told;
  const std::string_view log(reinterpret_cast<const char*>(told.bytes.data()), told.bytes.size() - 1);
  const std::string text = without_source_folders(log);
  told.bytes.assign(text.c_str(), text.c_str() + text.size() + 1);
  return told;
}

// The one handle that is told of, as its id.
Told Session::default_device_queue(cl_command_queue queue) const {
  if (queue == nullptr) return {CL_INVALID_COMMAND_QUEUE, {}};
  cl_command_queue answer = nullptr;
  const cl_int error = cl_.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE_DEFAULT, sizeof answer,
                                                 static_cast<void*>(&answer), nullptr);
  std::uint64_t id = 0;
  for (const auto& one : objects_.queues()) {
    if (answer != nullptr && one->handle() == answer) id = one->facts().id;
  }
  return value_told(error, &id, sizeof id);
}

Told Session::ask(const wire::Query& query) {
  const std::uint64_t id = query.object();
  const cl_uint param = query.param();
  if (query.what() == wire::What::queue && param == CL_QUEUE_DEVICE_DEFAULT)
    return default_device_queue(objects_.handle<cl_command_queue>(id));
  if (query.what() != wire::What::image_formats &&
      std::find(kHandles.begin(), kHandles.end(), param) != kHandles.end()) {
    return {CL_INVALID_VALUE, {}};
  }
  const auto about = [&]<typename Handle>(Handle handle, auto function) {
    if (handle == nullptr) return Told{KindOf<Handle>::invalid, {}};
    return told_by([&](auto... rest) { return function(handle, param, rest...); });
  };
  const auto device = objects_.handle<cl_device_id>(query.device());
  switch (query.what()) {
    case wire::What::platform:
      return about(objects_.handle<cl_platform_id>(id), cl_.clGetPlatformInfo);
    case wire::What::device:
      return about(objects_.handle<cl_device_id>(id), cl_.clGetDeviceInfo);
    case wire::What::context:
      return about(objects_.handle<cl_context>(id), cl_.clGetContextInfo);
    case wire::What::queue:
      return about(objects_.handle<cl_command_queue>(id), cl_.clGetCommandQueueInfo);
    case wire::What::memory:
      return about(objects_.handle<cl_mem>(id), cl_.clGetMemObjectInfo);
    case wire::What::image:
      return about(objects_.handle<cl_mem>(id), cl_.clGetImageInfo);
    case wire::What::pipe:
      return about(objects_.handle<cl_mem>(id), cl_.clGetPipeInfo);
    case wire::What::sampler:
      return about(objects_.handle<cl_sampler>(id), cl_.clGetSamplerInfo);
    case wire::What::program:
      return about(objects_.handle<cl_program>(id), cl_.clGetProgramInfo);
    case wire::What::program_build:
      return build_info(objects_.handle<cl_program>(id), device, param);
    case wire::What::kernel:
      return about(objects_.handle<cl_kernel>(id), cl_.clGetKernelInfo);
    case wire::What::kernel_argument:
      return about(objects_.handle<cl_kernel>(id), [&](cl_kernel kernel, auto... rest) {
        return cl_.clGetKernelArgInfo(kernel, query.index(), rest...);
      });
    case wire::What::kernel_work_group:
      return about(objects_.handle<cl_kernel>(id), [&](cl_kernel kernel, auto... rest) {
        return cl_.clGetKernelWorkGroupInfo(kernel, device, rest...);
      });
    case wire::What::event:
      return about(objects_.handle<cl_event>(id), cl_.clGetEventInfo);
    case wire::What::event_profiling:
      return about(objects_.handle<cl_event>(id), cl_.clGetEventProfilingInfo);
    default:
      break;
  }
  const auto kernel = objects_.handle<cl_kernel>(id);
  if (query.what() == wire::What::kernel_sub_group) {
    return kernel != nullptr ? sub_group(cl_, kernel, device, query) : Told{CL_INVALID_KERNEL, {}};
  }
  if (query.what() == wire::What::suggested_local_size) {
    const auto queue = objects_.handle<cl_command_queue>(query.device());
    if (queue == nullptr) return {CL_INVALID_COMMAND_QUEUE, {}};
    return kernel != nullptr ? suggested(cl_, queue, kernel, query) : Told{CL_INVALID_KERNEL, {}};
  }
  if (query.what() == wire::What::image_formats) {
    const auto context = objects_.handle<cl_context>(id);
    return context != nullptr ? image_formats(cl_, context, query) : Told{CL_INVALID_CONTEXT, {}};
  }
  if (query.what() == wire::What::device_and_host_timer) {
    const auto asked = objects_.handle<cl_device_id>(id);
    if (asked == nullptr) return {CL_INVALID_DEVICE, {}};
    std::array<cl_ulong, 2> times{};
    return value_told(cl_.clGetDeviceAndHostTimer(asked, times.data(), times.data() + 1), times.data(),
                      sizeof times);
  }
  return {CL_INVALID_VALUE, {}};
}

// The driver writes through pointers that the caller gives, one for each device.
void Session::answer_binaries(const wire::Command& command, cl_program program) {
  if (program == nullptr) return tell(command, 0, CL_INVALID_PROGRAM);
  cl_uint count = 0;
  cl_int error = cl_.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<std::size_t> sizes(count);
  if (error == CL_SUCCESS) {
    error = cl_.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(std::size_t), sizes.data(),
                                 nullptr);
  }
  std::vector<std::vector<unsigned char>> binaries;
  std::vector<unsigned char*> pointers;
  std::vector<std::int64_t> values;
  for (const std::size_t size : sizes) {
    binaries.emplace_back(size);
    pointers.push_back(size > 0 ? binaries.back().data() : nullptr);
    values.push_back(static_cast<std::int64_t>(size));
  }
  if (error == CL_SUCCESS) {
    error = cl_.clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*),
                                 pointers.data(), nullptr);
  }
  if (error != CL_SUCCESS) return tell(command, 0, error);
  std::vector<std::byte> all;
  for (const auto& binary : binaries) {
    const auto bytes = std::as_bytes(std::span(binary));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  auto& builder = answers_.builder();
  const auto list = builder.CreateVector(values);
  answers_.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, 0, list), all);
  outbox_.send(answers_);
}

void Session::handle(const wire::Command& command, const wire::Query& message) {
  if (command.request() == 0) return violate("a question whose answer nobody wants");
  if (message.what() == wire::What::program && message.param() == CL_PROGRAM_BINARIES) {
    return answer_binaries(command, objects_.handle<cl_program>(message.object()));
  }
  const Told told = ask(message);
  auto& builder = answers_.builder();
  const auto bytes = builder.CreateVector(told.bytes);
  answers_.add(wire::CreateAnswer(builder, command.request(), told.error, 0, 0, bytes));
}

}  // namespace cleave::remote::server
