// Programs and kernels. What compiles runs on the builder's threads; their answers come when they are done.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/session.h"

namespace cleave::remote::server {
namespace {

const char* text_of(const flatbuffers::String* text) { return text != nullptr ? text->c_str() : ""; }

// A program that a build uses after the client may have released it.
class ProgramReference {
 public:
  ProgramReference(const Table& cl, cl_program program) : cl_(&cl), program_(program) {
    cl.clRetainProgram(program);
  }
  ProgramReference(ProgramReference&& other) noexcept
      : cl_(other.cl_), program_(std::exchange(other.program_, nullptr)) {}
  ProgramReference(const ProgramReference& other) : ProgramReference(*other.cl_, other.program_) {}
  ProgramReference& operator=(const ProgramReference&) = delete;
  ~ProgramReference() {
    if (program_ != nullptr) cl_->clReleaseProgram(program_);
  }
  [[nodiscard]] cl_program get() const { return program_; }

 private:
  const Table* cl_;
  cl_program program_;
};

template <typename Handle>
const Handle* list_of(const std::vector<Handle>& handles) {
  return handles.empty() ? nullptr : handles.data();
}

template <typename Handle>
cl_uint count_of(const std::vector<Handle>& handles) {
  return static_cast<cl_uint>(handles.size());
}

std::vector<cl_program> handles_of(const std::vector<ProgramReference>& held) {
  std::vector<cl_program> programs;
  programs.reserve(held.size());
  for (const ProgramReference& one : held) programs.push_back(one.get());
  return programs;
}

void append(InfoResult& log, const std::string& problem) {
  if (log.error != CL_SUCCESS || log.bytes.empty() || problem.empty()) return;
  const std::string line = "cleave: " + problem + "\n";
  log.bytes.insert(log.bytes.end() - 1, line.begin(), line.end());
}

}  // namespace

std::optional<std::string> ClientSession::text_payload(const wire::Command& command) {
  if (command.payload() > limits_.program) {
    report_violation("a program that is too large");
    return std::nullopt;
  }
  std::string text(command.payload(), '\0');
  if (!read_payload(std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return text;
}

void ClientSession::handle(const wire::Command& command, const wire::CreateProgramWithSource& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  const auto text = text_payload(command);
  if (!text) return;
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  const char* const source = text->c_str();
  const std::size_t size = text->size();
  cl_int error = CL_SUCCESS;
  const cl_program program =
      cl_.clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), &size, &error);
  register_created(command, message.id(), {Kind::program, program, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreateProgramWithIL& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  const auto il = text_payload(command);
  if (!il) return;
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  const cl_program program = cl_.clCreateProgramWithIL(context, il->data(), il->size(), &error);
  register_created(command, message.id(), {Kind::program, program, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreateProgramWithBinary& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  const auto all = text_payload(command);
  if (!all) return;
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.id(), CL_INVALID_DEVICE);
  const auto* const sizes = message.sizes();
  if (devices->empty() || sizes == nullptr || sizes->size() != devices->size()) {
    return reply(command, message.id(), CL_INVALID_VALUE);
  }
  std::vector<std::size_t> lengths;
  std::vector<const unsigned char*> binaries;
  std::size_t at = 0;
  for (const std::uint64_t size : numbers(sizes)) {
    if (size > all->size() - at) return report_violation("binaries beyond their payload");
    lengths.push_back(size);
    binaries.push_back(reinterpret_cast<const unsigned char*>(all->data()) + at);
    at += size;
  }
  std::vector<cl_int> statuses(devices->size(), CL_SUCCESS);
  cl_int error = CL_SUCCESS;
  const cl_program program = cl_.clCreateProgramWithBinary(
      context, count_of(*devices), devices->data(), lengths.data(), binaries.data(), statuses.data(), &error);
  if (error == CL_SUCCESS && !objects_.add(message.id(), {Kind::program, program, CL_SUCCESS, 0, {}, {}})) {
    return report_violation("an id that it may not choose");
  }
  if (command.request() == 0) return reply(command, message.id(), error);
  const std::vector<std::int64_t> values(statuses.begin(), statuses.end());
  auto& builder = answers_.builder();
  const auto list = builder.CreateVector(values);
  answers_.add(wire::CreateAnswer(builder, command.request(), error, 0, list));
}

void ClientSession::handle(const wire::Command& command,
                           const wire::CreateProgramWithBuiltInKernels& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.id(), CL_INVALID_DEVICE);
  cl_int error = CL_SUCCESS;
  const cl_program program = cl_.clCreateProgramWithBuiltInKernels(
      context, count_of(*devices), list_of(*devices), text_of(message.names()), &error);
  register_created(command, message.id(), {Kind::program, program, CL_SUCCESS, 0, {}, {}}, error);
}

// What programs usually ask next.
void ClientSession::describe_program(flatbuffers::FlatBufferBuilder& builder, Infos& infos,
                                     cl_program program, const std::string& problem) const {
  for (const cl_program_info param : {CL_PROGRAM_NUM_KERNELS, CL_PROGRAM_KERNEL_NAMES}) {
    add_info(builder, infos, wire::InfoSubject::program, param,
             query_info([&](auto... rest) { return cl_.clGetProgramInfo(program, param, rest...); }));
  }
  cl_uint count = 0;
  cl_.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  if (count > 0) {
    cl_.clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(), nullptr);
  }
  constexpr std::size_t kMostLog = std::size_t{64} * 1024;
  for (const cl_device_id device : devices) {
    for (const cl_program_build_info param :
         {CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BINARY_TYPE, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
          CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG}) {
      InfoResult result = build_info(program, device, param);
      if (param == CL_PROGRAM_BUILD_LOG) append(result, problem);
      if (result.bytes.size() > kMostLog) continue;
      add_info(builder, infos, wire::InfoSubject::program_build, param, result, 0, objects_.id_of(device));
    }
  }
}

std::optional<IncludedFiles> ClientSession::included_files(const wire::Command& command,
                                                           const wire::Included* included) {
  IncludedFiles files;
  if (included == nullptr || included->names() == nullptr) return files;
  if (command.payload() > limits_.program) {
    files.problem = "the server does not take so much of what programs include";
    return files;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t size : numbers(included->sizes())) {
    files.sizes.push_back(size);
    if (__builtin_add_overflow(all, size, &all)) report_violation("included files beyond their payload");
  }
  for (const flatbuffers::String* const name : *included->names()) {
    files.names.push_back(name->str());
    if (!is_include_path(files.names.back())) report_violation("an included file that lies nowhere");
  }
  if (included->options() != nullptr) {
    for (const flatbuffers::String* const piece : *included->options()) files.options.push_back(piece->str());
  }
  const bool fits = files.names.size() == files.sizes.size() && files.names.size() <= kMaxIncludes;
  if (!fits || all != command.payload()) report_violation("included files beyond their payload");
  if (!violation_.empty()) return std::nullopt;
  files.texts.resize(all);
  if (!read_payload(std::as_writable_bytes(std::span(files.texts)))) return std::nullopt;
  return files;
}

// `work` runs elsewhere, and answers the request.
void ClientSession::build(const wire::Command& command, std::uint64_t program, Build work) {
  const std::uint32_t request = command.request();
  const bool taken = builder_.run([this, request, program, work = std::move(work)] {
    std::string problem;
    const cl_int error = work(problem);
    EventsFrame frame;
    auto& builder = frame.builder();
    if (request != 0) {
      Infos infos;
      const auto handle = objects_.handle<cl_program>(program);
      if (handle != nullptr) {
        const ProgramReference held(cl_, handle);
        describe_program(builder, infos, handle, error == CL_SUCCESS ? std::string() : problem);
      }
      const auto list = builder.CreateVector(infos);
      frame.add(wire::CreateAnswer(builder, request, error, 0, 0, 0, list));
    } else if (error != CL_SUCCESS) {
      frame.failure(program, 0, error);
    }
    if (!frame.empty()) outbox_.send(frame);
  });
  if (!taken) reply(command, program, CL_OUT_OF_RESOURCES);
}

void ClientSession::handle(const wire::Command& command, const wire::BuildProgram& message) {
  const auto program = objects_.handle<cl_program>(message.program());
  if (program == nullptr) return reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.program(), CL_INVALID_DEVICE);
  auto files = included_files(command, message.included());
  if (!files) return;
  build(command, message.program(),
        [this, held = ProgramReference(cl_, program), devices = *devices,
         options = std::string(text_of(message.options())), files = std::move(*files)](std::string& problem) {
          const SourceFolder folder(files);
          problem = folder.problem();
          const std::string all = folder.path().empty() ? options : folder.options(files);
          return cl_.clBuildProgram(held.get(), count_of(devices), list_of(devices), all.c_str(), nullptr,
                                    nullptr);
        });
}

void ClientSession::handle(const wire::Command& command, const wire::CompileProgram& message) {
  const auto program = objects_.handle<cl_program>(message.program());
  if (program == nullptr) return reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.program(), CL_INVALID_DEVICE);
  std::vector<ProgramReference> headers;
  std::vector<std::string> names;
  if (message.headers() != nullptr && message.names() != nullptr) {
    for (const std::uint64_t id : numbers(message.headers())) {
      const auto header = objects_.handle<cl_program>(id);
      if (header == nullptr) return reply(command, message.program(), CL_INVALID_PROGRAM);
      headers.emplace_back(cl_, header);
    }
    for (const flatbuffers::String* name : *message.names()) names.emplace_back(name->c_str());
  }
  if (headers.size() != names.size()) return reply(command, message.program(), CL_INVALID_VALUE);
  auto files = included_files(command, message.included());
  if (!files) return;
  build(command, message.program(),
        [this, held = ProgramReference(cl_, program), devices = *devices,
         options = std::string(text_of(message.options())), headers = std::move(headers),
         names = std::move(names), files = std::move(*files)](std::string& problem) {
          const std::vector<cl_program> programs = handles_of(headers);
          std::vector<const char*> texts;
          for (const std::string& name : names) texts.push_back(name.c_str());
          const SourceFolder folder(files);
          problem = folder.problem();
          const std::string all = folder.path().empty() ? options : folder.options(files);
          return cl_.clCompileProgram(held.get(), count_of(devices), list_of(devices), all.c_str(),
                                      count_of(programs), list_of(programs),
                                      texts.empty() ? nullptr : texts.data(), nullptr, nullptr);
        });
}

void ClientSession::handle(const wire::Command& command, const wire::LinkProgram& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.id(), CL_INVALID_DEVICE);
  std::vector<ProgramReference> inputs;
  if (message.programs() != nullptr) {
    for (const std::uint64_t id : numbers(message.programs())) {
      const auto program = objects_.handle<cl_program>(id);
      if (program == nullptr) return reply(command, message.id(), CL_INVALID_PROGRAM);
      inputs.emplace_back(cl_, program);
    }
  }
  if (!objects_.add(message.id(), {Kind::program, nullptr, CL_SUCCESS, 0, {}, {}})) {
    return report_violation("an id that it may not choose");
  }
  cl_.clRetainContext(context);
  const auto release_context = [this](cl_context released) { cl_.clReleaseContext(released); };
  build(command, message.id(),
        [this, id = message.id(), context = std::shared_ptr<_cl_context>(context, release_context),
         devices = *devices, options = std::string(text_of(message.options())),
         inputs = std::move(inputs)](std::string&) {
          const std::vector<cl_program> programs = handles_of(inputs);
          cl_int error = CL_SUCCESS;
          const cl_program program =
              cl_.clLinkProgram(context.get(), count_of(devices), list_of(devices), options.c_str(),
                                count_of(programs), list_of(programs), nullptr, nullptr, &error);
          // A program may be there though linking has failed, with a log to be asked for.
          if (program == nullptr) {
            objects_.remove(id);
          } else if (!objects_.complete(id, program)) {
            cl_.clReleaseProgram(program);
          }
          return error;
        });
}

void ClientSession::handle(const wire::Command& command, const wire::SetSpecializationConstant& message) {
  const auto program = objects_.handle<cl_program>(message.program());
  if (program == nullptr) return reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto* const value = message.value();
  if (value == nullptr || value->size() == 0) return reply(command, message.program(), CL_INVALID_VALUE);
  reply(command, message.program(),
        cl_.clSetProgramSpecializationConstant(program, message.constant(), value->size(), value->data()));
}

void ClientSession::handle(const wire::Command& command, const wire::UnloadCompiler& message) {
  const auto platform = objects_.handle<cl_platform_id>(message.platform());
  reply(command, message.platform(),
        platform != nullptr ? cl_.clUnloadPlatformCompiler(platform) : CL_INVALID_PLATFORM);
}

}  // namespace cleave::remote::server
