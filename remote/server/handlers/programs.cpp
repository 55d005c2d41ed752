// Programs. Builds run on the build threads; their answers are sent when they have ended.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/builds/source_folder.h"
#include "remote/server/handlers/build_info.h"
#include "remote/server/handlers/handlers.h"

namespace cleave::remote::server {
namespace {

const char* text_of(const flatbuffers::String* text) { return text != nullptr ? text->c_str() : ""; }

// A reference to a program, which a build may use after the client has released it.
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

std::optional<std::string> text_payload(SessionContext& session, const wire::Command& command) {
  if (command.payload() > session.limits.program) {
    session.report_violation("program too large");
    return std::nullopt;
  }
  std::string text(command.payload(), '\0');
  if (!session.read_payload(std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return text;
}

using Build = std::function<cl_int(std::string& problem)>;

// What programs usually query next.
void describe_program(SessionContext& session, flatbuffers::FlatBufferBuilder& builder, Infos& infos,
                      cl_program program, const std::string& problem) {
  for (const cl_program_info param : {CL_PROGRAM_NUM_KERNELS, CL_PROGRAM_KERNEL_NAMES}) {
    add_info(builder, infos, wire::InfoSubject::program, param,
             query_info([&](auto... rest) { return session.cl.clGetProgramInfo(program, param, rest...); }));
  }
  cl_uint count = 0;
  session.cl.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  if (count > 0) {
    session.cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(),
                                nullptr);
  }
  constexpr std::size_t kMaxLog = std::size_t{64} * 1024;
  for (const cl_device_id device : devices) {
    for (const cl_program_build_info param :
         {CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BINARY_TYPE, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
          CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG}) {
      InfoResult result = build_info(session.cl, program, device, param);
      if (param == CL_PROGRAM_BUILD_LOG) append(result, problem);
      if (result.bytes.size() > kMaxLog) continue;
      add_info(builder, infos, wire::InfoSubject::program_build, param, result, 0,
               session.objects.id_of(device));
    }
  }
}

std::optional<IncludedFiles> included_files(SessionContext& session, const wire::Command& command,
                                            const wire::Included* included) {
  IncludedFiles files;
  if (included == nullptr || included->names() == nullptr) return files;
  if (command.payload() > session.limits.program) {
    files.problem = "the included files are larger than the server accepts";
    return files;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t size : numbers(included->sizes())) {
    files.sizes.push_back(size);
    if (__builtin_add_overflow(all, size, &all))
      session.report_violation("included files exceed their payload");
  }
  for (const flatbuffers::String* const name : *included->names()) {
    files.names.push_back(name->str());
    if (!is_include_path(files.names.back())) session.report_violation("invalid path of an included file");
  }
  if (included->options() != nullptr) {
    for (const flatbuffers::String* const piece : *included->options()) files.options.push_back(piece->str());
  }
  const bool fits = files.names.size() == files.sizes.size() && files.names.size() <= kMaxIncludes;
  if (!fits || all != command.payload()) session.report_violation("included files exceed their payload");
  if (!session.violation.empty()) return std::nullopt;
  files.texts.resize(all);
  if (!session.read_payload(std::as_writable_bytes(std::span(files.texts)))) return std::nullopt;
  return files;
}

// Runs `work` on a build thread and answers the request with its result.
void build(SessionContext& session, const wire::Command& command, std::uint64_t program, Build work) {
  const std::uint32_t request = command.request();
  const bool taken = session.builds.run([&session, request, program, work = std::move(work)] {
    std::string problem;
    const cl_int error = work(problem);
    EventsFrame frame;
    auto& builder = frame.builder();
    if (request != 0) {
      Infos infos;
      const auto handle = session.objects.handle<cl_program>(program);
      if (handle != nullptr) {
        const ProgramReference held(session.cl, handle);
        describe_program(session, builder, infos, handle, error == CL_SUCCESS ? std::string() : problem);
      }
      const auto list = builder.CreateVector(infos);
      frame.add(wire::CreateAnswer(builder, request, error, 0, 0, 0, list));
    } else if (error != CL_SUCCESS) {
      frame.failure(program, 0, error);
    }
    if (!frame.empty()) session.outbox.send(frame);
  });
  if (!taken) session.reply(command, program, CL_OUT_OF_RESOURCES);
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithSource& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto text = text_payload(session, command);
  if (!text) return;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const char* const source = text->c_str();
  const std::size_t size = text->size();
  cl_int error = CL_SUCCESS;
  const cl_program program =
      session.cl.clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), &size, &error);
  session.register_created(command, message.id(), {Kind::program, program}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateProgramWithIL& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto il = text_payload(session, command);
  if (!il) return;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  const cl_program program = session.cl.clCreateProgramWithIL(context, il->data(), il->size(), &error);
  session.register_created(command, message.id(), {Kind::program, program}, error);
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithBinary& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto all = text_payload(session, command);
  if (!all) return;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  const auto* const sizes = message.sizes();
  if (devices->empty() || sizes == nullptr || sizes->size() != devices->size()) {
    return session.reply(command, message.id(), CL_INVALID_VALUE);
  }
  std::vector<std::size_t> lengths;
  std::vector<const unsigned char*> binaries;
  std::size_t at = 0;
  for (const std::uint64_t size : numbers(sizes)) {
    if (size > all->size() - at) return session.report_violation("binaries exceed their payload");
    lengths.push_back(size);
    binaries.push_back(reinterpret_cast<const unsigned char*>(all->data()) + at);
    at += size;
  }
  std::vector<cl_int> statuses(devices->size(), CL_SUCCESS);
  cl_int error = CL_SUCCESS;
  const cl_program program = session.cl.clCreateProgramWithBinary(
      context, count_of(*devices), devices->data(), lengths.data(), binaries.data(), statuses.data(), &error);
  if (error == CL_SUCCESS && !session.register_object(message.id(), {Kind::program, program})) return;
  if (command.request() == 0) return session.reply(command, message.id(), error);
  const std::vector<std::int64_t> values(statuses.begin(), statuses.end());
  auto& builder = session.answers.builder();
  const auto list = builder.CreateVector(values);
  session.answers.add(wire::CreateAnswer(builder, command.request(), error, 0, list));
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithBuiltInKernels& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  cl_int error = CL_SUCCESS;
  const cl_program program = session.cl.clCreateProgramWithBuiltInKernels(
      context, count_of(*devices), list_of(*devices), text_of(message.names()), &error);
  session.register_created(command, message.id(), {Kind::program, program}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::BuildProgram& message) {
  const auto program = session.objects.handle<cl_program>(message.program());
  if (program == nullptr) return session.reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.program(), CL_INVALID_DEVICE);
  auto files = included_files(session, command, message.included());
  if (!files) return;
  build(session, command, message.program(),
        [&session, held = ProgramReference(session.cl, program), devices = *devices,
         options = std::string(text_of(message.options())), files = std::move(*files)](std::string& problem) {
          const SourceFolder folder(files);
          problem = folder.problem();
          const std::string all = folder.path().empty() ? options : folder.options(files);
          return session.cl.clBuildProgram(held.get(), count_of(devices), list_of(devices), all.c_str(),
                                           nullptr, nullptr);
        });
}

void handle(SessionContext& session, const wire::Command& command, const wire::CompileProgram& message) {
  const auto program = session.objects.handle<cl_program>(message.program());
  if (program == nullptr) return session.reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.program(), CL_INVALID_DEVICE);
  std::vector<ProgramReference> headers;
  std::vector<std::string> names;
  if (message.headers() != nullptr && message.names() != nullptr) {
    for (const std::uint64_t id : numbers(message.headers())) {
      const auto header = session.objects.handle<cl_program>(id);
      if (header == nullptr) return session.reply(command, message.program(), CL_INVALID_PROGRAM);
      headers.emplace_back(session.cl, header);
    }
    for (const flatbuffers::String* name : *message.names()) names.emplace_back(name->c_str());
  }
  if (headers.size() != names.size()) return session.reply(command, message.program(), CL_INVALID_VALUE);
  auto files = included_files(session, command, message.included());
  if (!files) return;
  build(session, command, message.program(),
        [&session, held = ProgramReference(session.cl, program), devices = *devices,
         options = std::string(text_of(message.options())), headers = std::move(headers),
         names = std::move(names), files = std::move(*files)](std::string& problem) {
          const std::vector<cl_program> programs = handles_of(headers);
          std::vector<const char*> texts;
          for (const std::string& name : names) texts.push_back(name.c_str());
          const SourceFolder folder(files);
          problem = folder.problem();
          const std::string all = folder.path().empty() ? options : folder.options(files);
          return session.cl.clCompileProgram(held.get(), count_of(devices), list_of(devices), all.c_str(),
                                             count_of(programs), list_of(programs),
                                             texts.empty() ? nullptr : texts.data(), nullptr, nullptr);
        });
}

void handle(SessionContext& session, const wire::Command& command, const wire::LinkProgram& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  std::vector<ProgramReference> inputs;
  for (const std::uint64_t id : numbers(message.programs())) {
    const auto program = session.objects.handle<cl_program>(id);
    if (program == nullptr) return session.reply(command, message.id(), CL_INVALID_PROGRAM);
    inputs.emplace_back(session.cl, program);
  }
  if (!session.register_object(message.id(), {Kind::program, nullptr})) return;
  session.cl.clRetainContext(context);
  const auto release_context = [&session](cl_context released) { session.cl.clReleaseContext(released); };
  build(session, command, message.id(),
        [&session, id = message.id(), context = std::shared_ptr<_cl_context>(context, release_context),
         devices = *devices, options = std::string(text_of(message.options())),
         inputs = std::move(inputs)](std::string&) {
          const std::vector<cl_program> programs = handles_of(inputs);
          cl_int error = CL_SUCCESS;
          const cl_program program =
              session.cl.clLinkProgram(context.get(), count_of(devices), list_of(devices), options.c_str(),
                                       count_of(programs), list_of(programs), nullptr, nullptr, &error);
          // A failed link may create a program too, whose log can be queried.
          if (program == nullptr) {
            session.objects.remove(id);
          } else if (!session.objects.complete(id, program)) {
            session.cl.clReleaseProgram(program);
          }
          return error;
        });
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::SetSpecializationConstant& message) {
  const auto program = session.objects.handle<cl_program>(message.program());
  if (program == nullptr) return session.reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto* const value = message.value();
  if (value == nullptr || value->size() == 0)
    return session.reply(command, message.program(), CL_INVALID_VALUE);
  session.reply(command, message.program(),
                session.cl.clSetProgramSpecializationConstant(program, message.constant(), value->size(),
                                                              value->data()));
}

void handle(SessionContext& session, const wire::Command& command, const wire::UnloadCompiler& message) {
  const auto platform = session.objects.handle<cl_platform_id>(message.platform());
  session.reply(command, message.platform(),
                platform != nullptr ? session.cl.clUnloadPlatformCompiler(platform) : CL_INVALID_PLATFORM);
}

}  // namespace cleave::remote::server
