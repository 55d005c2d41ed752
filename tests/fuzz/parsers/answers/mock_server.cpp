#include "mock_server.h"

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/opencl.h"

namespace cleave::fuzz::answers {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using Item = flatbuffers::Offset<wire::Item>;
using wire::InfoSubject;

// Builds lists of infos.
class InfoList {
 public:
  explicit InfoList(Builder& builder) : builder_(builder) {}

  void about(InfoSubject what, std::uint32_t index = 0, std::uint64_t device = 0) {
    what_ = what;
    index_ = index;
    device_ = device;
  }
  void bytes(cl_uint param, const void* data, std::size_t size) {
    const auto content = builder_.CreateVector(static_cast<const std::uint8_t*>(data), size);
    list_.push_back(wire::CreateInfo(builder_, what_, param, index_, device_, CL_SUCCESS, content));
  }
  template <typename T>
  void value(cl_uint param, const T& given) {
    bytes(param, &given, sizeof given);
  }
  void text(cl_uint param, std::string_view given) {
    bytes(param, std::string(given).c_str(), given.size() + 1);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Info>>> finish() {
    const auto all = builder_.CreateVector(list_);
    list_.clear();
    return all;
  }

 private:
  Builder& builder_;
  std::vector<flatbuffers::Offset<wire::Info>> list_;
  InfoSubject what_{};
  std::uint32_t index_ = 0;
  std::uint64_t device_ = 0;
};

constexpr cl_name_version kExtension{CL_MAKE_VERSION(1, 0, 0), "cl_khr_fp64"};
constexpr std::size_t kBinary = 16;

void add_platform_infos(InfoList& infos) {
  infos.about(InfoSubject::platform);
  infos.text(CL_PLATFORM_NAME, "Good Faith");
  infos.text(CL_PLATFORM_VENDOR, "nobody");
  infos.text(CL_PLATFORM_VERSION, "OpenCL 3.0 faith");
  infos.text(CL_PLATFORM_PROFILE, "FULL_PROFILE");
  infos.text(CL_PLATFORM_EXTENSIONS, "cl_khr_fp64 cl_khr_icd");
  infos.value(CL_PLATFORM_EXTENSIONS_WITH_VERSION, kExtension);
  infos.value(CL_PLATFORM_NUMERIC_VERSION, cl_version{CL_MAKE_VERSION(3, 0, 0)});
  infos.value(CL_PLATFORM_HOST_TIMER_RESOLUTION, cl_ulong{1});
}

void add_device_infos(InfoList& infos) {
  infos.about(InfoSubject::device);
  infos.value(CL_DEVICE_TYPE, cl_device_type{CL_DEVICE_TYPE_GPU});
  infos.text(CL_DEVICE_NAME, "good device");
  infos.text(CL_DEVICE_VENDOR, "nobody");
  infos.text(CL_DEVICE_VERSION, "OpenCL 3.0 faith");
  infos.text(CL_DRIVER_VERSION, "1");
  infos.text(CL_DEVICE_EXTENSIONS, "cl_khr_fp64 cl_khr_gl_sharing");
  infos.value(CL_DEVICE_EXTENSIONS_WITH_VERSION, kExtension);
  infos.value(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint{4});
  infos.value(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint{3});
  infos.value(CL_DEVICE_MAX_WORK_GROUP_SIZE, std::size_t{1024});
  infos.value(CL_DEVICE_MAX_WORK_ITEM_SIZES, std::array<std::size_t, 3>{1024, 1024, 64});
  infos.value(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong{1} << 30U);
  infos.value(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong{4} << 30U);
  infos.value(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities{CL_EXEC_KERNEL});
  infos.value(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities{CL_DEVICE_SVM_COARSE_GRAIN_BUFFER});
  infos.value(CL_DEVICE_PIPE_SUPPORT, cl_bool{CL_TRUE});
  infos.value(CL_DEVICE_IMAGE_SUPPORT, cl_bool{CL_TRUE});
  infos.value(CL_DEVICE_AVAILABLE, cl_bool{CL_TRUE});
}

void add_program_infos(InfoList& infos) {
  infos.about(InfoSubject::program_build, 0, kDevice);
  infos.value(CL_PROGRAM_BUILD_STATUS, cl_build_status{CL_BUILD_SUCCESS});
  infos.text(CL_PROGRAM_BUILD_OPTIONS, "-w");
  infos.text(CL_PROGRAM_BUILD_LOG, "warning: none");
  infos.about(InfoSubject::program);
  infos.value(CL_PROGRAM_NUM_KERNELS, std::size_t{1});
  infos.text(CL_PROGRAM_KERNEL_NAMES, "add");
  infos.value(CL_PROGRAM_BINARY_SIZES, kBinary);
}

void add_kernel_infos(InfoList& infos) {
  infos.about(InfoSubject::kernel);
  infos.text(CL_KERNEL_FUNCTION_NAME, "add");
  infos.value(CL_KERNEL_NUM_ARGS, cl_uint{3});
  constexpr std::array<cl_uint, 3> kSpaces{CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_PRIVATE,
                                           CL_KERNEL_ARG_ADDRESS_LOCAL};
  constexpr std::array<const char*, 3> kTypes{"uint*", "uint", "uint*"};
  for (cl_uint i = 0; i < kSpaces.size(); ++i) {
    infos.about(InfoSubject::kernel_argument, i);
    infos.value(CL_KERNEL_ARG_ADDRESS_QUALIFIER, kSpaces[i]);
    infos.text(CL_KERNEL_ARG_TYPE_NAME, kTypes[i]);
  }
  infos.about(InfoSubject::kernel_work_group, 0, kDevice);
  infos.value(CL_KERNEL_WORK_GROUP_SIZE, std::size_t{256});
}

std::vector<std::uint8_t> queried(const wire::Query& query) {
  const auto give = [](const auto& value) {
    std::vector<std::uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  switch (query.what()) {
    case InfoSubject::event:
      return give(cl_int{CL_COMPLETE});
    case InfoSubject::device_and_host_timer:
      return give(std::array<cl_ulong, 2>{1, 2});
    case InfoSubject::suggested_local_size:
      return give(std::array<cl_ulong, 3>{64, 1, 1});
    case InfoSubject::devices_of_type:
      return give(kDevice);
    case InfoSubject::image_formats:
      return give(cl_image_format{CL_RGBA, CL_UNORM_INT8});
    case InfoSubject::kernel_argument:
      return give(std::array<char, 4>{"out"});
    case InfoSubject::kernel_work_group:
      if (query.param() == CL_KERNEL_COMPILE_WORK_GROUP_SIZE) return give(std::array<std::size_t, 3>{});
      return give(cl_ulong{32});
    case InfoSubject::program:
      if (query.param() == CL_PROGRAM_BINARY_SIZES) return give(kBinary);
      if (query.param() == CL_PROGRAM_KERNEL_NAMES) return give(std::array<char, 4>{"add"});
      return give(cl_ulong{1});
    case InfoSubject::program_build:
      if (query.param() == CL_PROGRAM_BUILD_STATUS) return give(cl_int{CL_BUILD_NONE});
      return give('\0');
    case InfoSubject::queue:
      return give(cl_ulong{0});  // no queue is its device's default
    case InfoSubject::memory:
    case InfoSubject::image:
    case InfoSubject::pipe:
      return give(cl_uint{8});
    default:
      return give(cl_ulong{0});
  }
}

// The infos of two sub-devices.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Device>>> sub_devices(Builder& b,
                                                                                        std::uint64_t first) {
  std::vector<flatbuffers::Offset<wire::Device>> list;
  for (std::uint64_t i = 0; i < 2; ++i) {
    InfoList infos(b);
    add_device_infos(infos);
    list.push_back(wire::CreateDevice(b, first + i, infos.finish()));
  }
  return b.CreateVector(list);
}

struct AnswerContents {
  std::uint64_t value = 0;
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> bytes;
  void (*infos)(InfoList&) = nullptr;
  std::uint64_t first_sub_device = 0;
};

Item answer_item(Builder& b, std::uint32_t request, std::uint64_t payload, const AnswerContents& with) {
  flatbuffers::Offset<flatbuffers::Vector<std::int64_t>> values;
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> bytes;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Info>>> infos;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Device>>> devices;
  if (!with.values.empty()) values = b.CreateVector(with.values);
  if (!with.bytes.empty()) bytes = b.CreateVector(with.bytes);
  if (with.infos != nullptr) {
    InfoList list(b);
    with.infos(list);
    infos = list.finish();
  }
  if (with.first_sub_device != 0) devices = sub_devices(b, with.first_sub_device);
  const auto answer =
      wire::CreateAnswer(b, request, CL_SUCCESS, with.value, values, bytes, infos, devices, false);
  return wire::CreateItem(b, payload, wire::Event::Answer, answer.Union());
}

MockFrame finish(Builder& b, const std::vector<Item>& items, std::uint64_t payload, Totals totals) {
  b.Finish(wire::CreateEvents(b, b.CreateVector(items), totals.commands, totals.bytes));
  return {{b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()}, payload};
}

std::uint64_t volume(const wire::Size3* region) {
  return region == nullptr ? 0 : region->x() * region->y() * region->z();
}

}  // namespace

MockFrame welcome(std::uint64_t features) {
  Builder b;
  InfoList infos(b);
  add_device_infos(infos);
  const auto device = wire::CreateDevice(b, kDevice, infos.finish());
  const auto devices = b.CreateVector(std::vector{device});
  add_platform_infos(infos);
  const auto platform = wire::CreatePlatform(b, kPlatform, infos.finish(), devices);
  const auto platforms = b.CreateVector(std::vector{platform});
  const auto load = wire::CreateLoad(b, 1, 8);
  const auto name = b.CreateString("good server");
  b.Finish(wire::CreateWelcome(b, wire::Refusal::none, 0, 1, features, platforms, 1024, 64U << 20U, 0, 1000,
                               load, name, 1));
  return {{b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()}, 0};
}

std::uint64_t bytes_of_read(const wire::Command& command) {
  switch (command.body_type()) {
    case wire::Body::ReadBuffer:
      return command.body_as_ReadBuffer()->size();
    case wire::Body::ReadBufferRect:
      return volume(command.body_as_ReadBufferRect()->region());
    case wire::Body::ReadImage:
      return volume(command.body_as_ReadImage()->region()) * 4;
    case wire::Body::SvmRead:
      return command.body_as_SvmRead()->size();
    default:
      return 0;
  }
}

MockFrame MockServer::reply(const wire::Command& command, bool answers, bool completes, Totals totals) {
  Builder b;
  std::vector<Item> items;
  AnswerContents with;
  std::uint64_t payload = command.shared() != nullptr ? 0 : bytes_of_read(command);
  switch (command.body_type()) {
    case wire::Body::CreateSubDevices:
      with.first_sub_device = command.body_as_CreateSubDevices()->first();
      break;
    case wire::Body::CreateProgramWithBinary:
      with.values = {CL_SUCCESS};
      break;
    case wire::Body::BuildProgram:
    case wire::Body::CompileProgram:
    case wire::Body::LinkProgram:
      with.infos = add_program_infos;
      break;
    case wire::Body::CreateKernel:
      with.infos = add_kernel_infos;
      break;
    case wire::Body::SvmAlloc:
      with.value = next_address_;
      next_address_ += command.body_as_SvmAlloc()->size() / 4096 * 4096 + 2 * std::uint64_t{4096};
      break;
    case wire::Body::Query: {
      const wire::Query& query = *command.body_as_Query();
      if (query.what() == InfoSubject::program && query.param() == CL_PROGRAM_BINARIES) {
        payload = kBinary;
        with.values = {static_cast<std::int64_t>(kBinary)};
      } else {
        with.bytes = queried(query);
      }
      break;
    }
    default:
      break;
  }
  if (answers) items.push_back(answer_item(b, command.request(), payload, with));
  if (completes) {
    const wire::Times times(1, 2, 3, 4, 5);
    const auto completion = wire::CreateCompletion(b, command.event(), CL_COMPLETE, &times);
    items.push_back(wire::CreateItem(b, 0, wire::Event::Completion, completion.Union()));
  }
  return finish(b, items, answers ? payload : 0, totals);
}

MockFrame MockServer::gone(const wire::Release& release, Totals totals) const {
  Builder b;
  std::vector<Item> items;
  for (const std::uint64_t id : *release.ids()) {
    if (watched_.count(id) == 0) continue;
    items.push_back(
        wire::CreateItem(b, 0, wire::Event::MemoryReleased, wire::CreateMemoryReleased(b, id).Union()));
  }
  return finish(b, items, 0, totals);
}

MockFrame empty_events(Totals totals) {
  Builder b;
  return finish(b, {}, 0, totals);
}

MockFrame pong(std::uint64_t number, Totals totals) {
  Builder b;
  const auto item = wire::CreateItem(b, 0, wire::Event::Pong, wire::CreatePong(b, number).Union());
  return finish(b, {item}, 0, totals);
}

MockFrame part(std::uint32_t request, std::uint64_t at, std::uint64_t bytes, Totals totals) {
  Builder b;
  wire::AnswerBuilder answer(b);
  answer.add_request(request);
  answer.add_value(at);
  answer.add_more(true);
  const auto made = answer.Finish();
  return finish(b, {wire::CreateItem(b, bytes, wire::Event::Answer, made.Union())}, bytes, totals);
}

}  // namespace cleave::fuzz::answers
