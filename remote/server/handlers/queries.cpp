// Queries that the client cannot answer itself.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "remote/server/handlers/build_info.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {
namespace {

// Parameters whose values are handles, which mean nothing to the client: it knows those objects itself.
constexpr std::array<cl_uint, 19> kHandleInfos{
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

InfoResult value_result(cl_int error, const void* value, std::size_t size) {
  const auto* const bytes = static_cast<const std::uint8_t*>(value);
  return {error,
          error == CL_SUCCESS ? std::vector<std::uint8_t>(bytes, bytes + size) : std::vector<std::uint8_t>()};
}

InfoResult image_formats(const Table& cl, cl_context context, const wire::Query& query) {
  cl_mem_flags flags = 0;
  if (!take(query.input(), flags)) return {CL_INVALID_VALUE, {}};
  cl_uint count = 0;
  cl_int error = cl.clGetSupportedImageFormats(context, flags, query.param(), 0, nullptr, &count);
  std::vector<cl_image_format> formats(std::min(count, cl_uint{65536}));
  if (error == CL_SUCCESS && !formats.empty()) {
    error = cl.clGetSupportedImageFormats(context, flags, query.param(), static_cast<cl_uint>(formats.size()),
                                          formats.data(), nullptr);
  }
  return value_result(error, formats.data(), formats.size() * sizeof(cl_image_format));
}

// A non-zero index queries the size alone: the answer is that many zero bytes.
InfoResult profiling(const Table& cl, cl_event event, const wire::Query& query) {
  return query_info([&](std::size_t size, void* value, std::size_t* size_ret) {
    if (value != nullptr && query.index() != 0) return CL_SUCCESS;
    return cl.clGetEventProfilingInfo(event, query.param(), size, value, size_ret);
  });
}

InfoResult sub_group(const Table& cl, cl_kernel kernel, cl_device_id device, const wire::Query& query) {
  constexpr std::size_t kMostInput = 4096;  // which sizes are wrong is for the driver to say
  const auto* const input = query.input();
  const std::size_t size = input != nullptr ? input->size() : 0;
  if (size > kMostInput) return {CL_INVALID_VALUE, {}};
  std::vector<std::size_t> values(size / sizeof(std::size_t) + 1);
  if (size > 0) std::memcpy(values.data(), input->data(), size);
  std::array<std::size_t, 64> answer{};
  // The size of the program's buffer, on which the result's length may depend; the most: it has none.
  const bool has_room = query.index() != UINT32_MAX;
  const std::size_t room = has_room ? std::min<std::size_t>(query.index(), sizeof answer) : 0;
  std::size_t length = 0;
  const cl_int error =
      cl.clGetKernelSubGroupInfo(kernel, device, query.param(), size, size > 0 ? values.data() : nullptr,
                                 room, has_room ? answer.data() : nullptr, &length);
  return value_result(error, answer.data(), std::min(length, sizeof answer));
}

using SuggestedLocalSize = cl_int(CL_API_CALL*)(cl_command_queue, cl_kernel, cl_uint, const std::size_t*,
                                                const std::size_t*, std::size_t*);

InfoResult suggested(const Table& cl, cl_command_queue queue, cl_kernel kernel, const wire::Query& query) {
  std::array<std::uint64_t, 7> in{};
  if (!take(query.input(), in) || in[0] < 1 || in[0] > 3) return {CL_INVALID_VALUE, {}};
  const auto device = opencl::info<cl_device_id>(cl.clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE);
  const auto platform = opencl::info<cl_platform_id>(cl.clGetDeviceInfo, device, CL_DEVICE_PLATFORM);
  const auto ask = reinterpret_cast<SuggestedLocalSize>(
      cl.clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSizeKHR"));
  if (ask == nullptr) return {CL_INVALID_OPERATION, {}};
  std::array<std::size_t, 3> out{};
  const cl_int error =
      ask(queue, kernel, static_cast<cl_uint>(in[0]), in.data() + 1, in.data() + 4, out.data());
  return value_result(error, out.data(), sizeof out);
}

// As ids; 0: a device that the client does not know.
InfoResult ids_result(const SessionContext& session, cl_int error, const std::vector<cl_device_id>& devices) {
  std::vector<std::uint64_t> ids;
  ids.reserve(devices.size());
  for (const cl_device_id each : devices) ids.push_back(session.objects.id_of(each));
  return value_result(error, ids.data(), ids.size() * sizeof ids[0]);
}

InfoResult program_devices(SessionContext& session, cl_program program) {
  if (program == nullptr) return {CL_INVALID_PROGRAM, {}};
  cl_int error = CL_SUCCESS;
  const auto devices =
      opencl::info_list<cl_device_id>(session.cl.clGetProgramInfo, program, CL_PROGRAM_DEVICES, error);
  return ids_result(session, error, devices);
}

InfoResult devices_of_type(SessionContext& session, cl_platform_id platform, const wire::Query& query) {
  cl_device_type type = 0;
  if (!take(query.input(), type)) return {CL_INVALID_VALUE, {}};
  constexpr cl_uint kMost = 256;
  std::vector<cl_device_id> devices(kMost);
  cl_uint count = 0;
  const cl_int error = session.cl.clGetDeviceIDs(platform, type, kMost, devices.data(), &count);
  devices.resize(std::min(count, kMost));
  std::erase_if(devices, [&](cl_device_id each) { return session.objects.id_of(each) == 0; });
  return ids_result(session, error == CL_SUCCESS && devices.empty() ? CL_DEVICE_NOT_FOUND : error, devices);
}

// How many there are, and what the driver says to room without a list.
InfoResult kernels_in_program(const Table& cl, cl_program program, const wire::Query& query) {
  cl_uint count = 0;
  const cl_int error =
      cl.clCreateKernelsInProgram(program, query.param(), nullptr, query.index() != 0 ? nullptr : &count);
  return value_result(error, &count, sizeof count);
}

// As an id.
InfoResult default_device_queue(SessionContext& session, cl_command_queue queue) {
  if (queue == nullptr) return {CL_INVALID_COMMAND_QUEUE, {}};
  cl_command_queue answer = nullptr;
  const cl_int error = session.cl.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE_DEFAULT, sizeof answer,
                                                        static_cast<void*>(&answer), nullptr);
  std::uint64_t id = 0;
  for (const auto& one : session.objects.queues()) {
    if (answer != nullptr && one->handle() == answer) id = one->info().id;
  }
  return value_result(error, &id, sizeof id);
}

// `ask` of the handle, which may be missing.
template <typename Handle, typename Ask>
InfoResult of(Handle handle, Ask ask) {
  return handle != nullptr ? ask(handle) : InfoResult{KindOf<Handle>::invalid, {}};
}

// Of subjects whose functions take no more than the object and the parameter. Empty: it is another one.
std::optional<InfoResult> query_plain(SessionContext& session, const wire::Query& query) {
  const auto about = [&]<typename Handle>(Handle handle, auto function) {
    return of(handle, [&](auto object) {
      return query_info([&](auto... rest) { return function(object, query.param(), rest...); });
    });
  };
  const ObjectTable& objects = session.objects;
  const std::uint64_t id = query.object();
  switch (query.what()) {
    case wire::InfoSubject::platform:
      return about(objects.handle<cl_platform_id>(id), session.cl.clGetPlatformInfo);
    case wire::InfoSubject::device:
      return about(objects.handle<cl_device_id>(id), session.cl.clGetDeviceInfo);
    case wire::InfoSubject::context:
      return about(objects.handle<cl_context>(id), session.cl.clGetContextInfo);
    case wire::InfoSubject::queue:
      return about(objects.handle<cl_command_queue>(id), session.cl.clGetCommandQueueInfo);
    case wire::InfoSubject::memory:
      return about(objects.handle<cl_mem>(id), session.cl.clGetMemObjectInfo);
    case wire::InfoSubject::image:
      return about(objects.handle<cl_mem>(id), session.cl.clGetImageInfo);
    case wire::InfoSubject::pipe:
      return about(objects.handle<cl_mem>(id), session.cl.clGetPipeInfo);
    case wire::InfoSubject::sampler:
      return about(objects.handle<cl_sampler>(id), session.cl.clGetSamplerInfo);
    case wire::InfoSubject::kernel:
      return about(objects.handle<cl_kernel>(id), session.cl.clGetKernelInfo);
    case wire::InfoSubject::event:
      return about(objects.handle<cl_event>(id), session.cl.clGetEventInfo);
    default:
      return std::nullopt;
  }
}

InfoResult query_object(SessionContext& session, const wire::Query& query) {
  const std::uint64_t id = query.object();
  const cl_uint param = query.param();
  const Table& cl = session.cl;
  const ObjectTable& objects = session.objects;
  if (query.what() == wire::InfoSubject::queue && param == CL_QUEUE_DEVICE_DEFAULT)
    return default_device_queue(session, objects.handle<cl_command_queue>(id));
  if (query.what() == wire::InfoSubject::program && param == CL_PROGRAM_DEVICES)
    return program_devices(session, objects.handle<cl_program>(id));
  if (query.what() != wire::InfoSubject::image_formats &&
      query.what() != wire::InfoSubject::kernels_in_program &&
      std::find(kHandleInfos.begin(), kHandleInfos.end(), param) != kHandleInfos.end()) {
    return {CL_INVALID_VALUE, {}};
  }
  if (auto plain = query_plain(session, query)) return std::move(*plain);
  const auto device = objects.handle<cl_device_id>(query.device());
  switch (query.what()) {
    case wire::InfoSubject::program:
      return program_info(cl, objects.handle<cl_program>(id), session.program_state(id).get(), param);
    case wire::InfoSubject::program_build:
      return build_info(cl, objects.handle<cl_program>(id), session.program_state(id).get(), device, param);
    case wire::InfoSubject::kernel_argument:
      return of(objects.handle<cl_kernel>(id), [&](cl_kernel kernel) {
        return query_info(
            [&](auto... rest) { return cl.clGetKernelArgInfo(kernel, query.index(), param, rest...); });
      });
    case wire::InfoSubject::kernel_work_group:
      return of(objects.handle<cl_kernel>(id), [&](cl_kernel kernel) {
        return query_info(
            [&](auto... rest) { return cl.clGetKernelWorkGroupInfo(kernel, device, param, rest...); });
      });
    case wire::InfoSubject::event_profiling:
      return of(objects.handle<cl_event>(id), [&](cl_event event) { return profiling(cl, event, query); });
    case wire::InfoSubject::kernel_sub_group:
      return of(objects.handle<cl_kernel>(id),
                [&](cl_kernel kernel) { return sub_group(cl, kernel, device, query); });
    case wire::InfoSubject::suggested_local_size:
      return of(objects.handle<cl_command_queue>(query.device()), [&](cl_command_queue queue) {
        return of(objects.handle<cl_kernel>(id),
                  [&](cl_kernel kernel) { return suggested(cl, queue, kernel, query); });
      });
    case wire::InfoSubject::image_formats:
      return of(objects.handle<cl_context>(id),
                [&](cl_context context) { return image_formats(cl, context, query); });
    case wire::InfoSubject::devices_of_type:
      return of(objects.handle<cl_platform_id>(id),
                [&](cl_platform_id platform) { return devices_of_type(session, platform, query); });
    case wire::InfoSubject::kernels_in_program:
      return of(objects.handle<cl_program>(id),
                [&](cl_program program) { return kernels_in_program(cl, program, query); });
    case wire::InfoSubject::device_and_host_timer:
      return of(objects.handle<cl_device_id>(id), [&](cl_device_id asked) {
        std::array<cl_ulong, 2> times{};
        return value_result(cl.clGetDeviceAndHostTimer(asked, times.data(), times.data() + 1), times.data(),
                            sizeof times);
      });
    default:
      return {CL_INVALID_VALUE, {}};
  }
}

void answer_binaries(SessionContext& session, const wire::Command& command, cl_program program) {
  if (program == nullptr) return session.reply(command, 0, CL_INVALID_PROGRAM);
  cl_int error = CL_SUCCESS;
  std::vector<std::int64_t> values;
  std::string all;
  for (const std::string& binary : binaries_of(session.cl, program, error)) {
    values.push_back(static_cast<std::int64_t>(binary.size()));
    all += binary;
  }
  if (error != CL_SUCCESS) return session.reply(command, 0, error);
  auto& builder = session.answers.builder();
  const auto list = builder.CreateVector(values);
  session.answers.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, 0, list),
                      std::as_bytes(std::span(all)));
  session.outbox.send(session.answers);
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::Query& message) {
  if (command.request() == 0) return session.report_violation("query without a request for an answer");
  if (message.what() == wire::InfoSubject::program && message.param() == CL_PROGRAM_BINARIES) {
    return answer_binaries(session, command, session.objects.handle<cl_program>(message.object()));
  }
  const InfoResult result = query_object(session, message);
  auto& builder = session.answers.builder();
  const auto bytes = builder.CreateVector(result.bytes);
  session.answers.add(wire::CreateAnswer(builder, command.request(), result.error, 0, 0, bytes));
}

}  // namespace cleave::remote::server
