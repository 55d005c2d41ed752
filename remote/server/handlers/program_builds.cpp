// Building, compiling and linking programs, on the build threads. Answers are sent when builds have ended.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/builds/source_folder.h"
#include "remote/server/handlers/build_info.h"
#include "remote/server/handlers/build_trial.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/held_program.h"
#include "remote/server/handlers/lists.h"

namespace cleave::remote::server {
namespace {

std::vector<cl_program> handles_of(const std::vector<HeldProgram>& held) {
  std::vector<cl_program> programs;
  programs.reserve(held.size());
  for (const HeldProgram& one : held) programs.push_back(one.get());
  return programs;
}

void append(InfoResult& log, const std::string& problem) {
  if (log.error != CL_SUCCESS || log.bytes.empty() || problem.empty()) return;
  const std::string line = "cleave: " + problem + "\n";
  log.bytes.insert(log.bytes.end() - 1, line.begin(), line.end());
}

// What programs usually query next.
void describe_program(SessionContext& session, flatbuffers::FlatBufferBuilder& builder, Infos& infos,
                      const HeldProgram& program, const std::string& problem) {
  for (const cl_program_info param : {CL_PROGRAM_NUM_KERNELS, CL_PROGRAM_KERNEL_NAMES}) {
    add_info(builder, infos, wire::InfoSubject::program, param,
             program_info(session.cl, program.get(), &program.state(), param));
  }
  constexpr std::size_t kMaxLog = std::size_t{64} * 1024;
  for (const cl_device_id device : devices_of_program(session.cl, program.get())) {
    for (const cl_program_build_info param :
         {CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BINARY_TYPE, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
          CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG}) {
      InfoResult result = build_info(session.cl, program.get(), &program.state(), device, param);
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

// What a build is given, and what that counts for: the files until the build has ended, the rest until the next one.
struct BuildInput {
  std::string options;
  bool has_options = false;        // else null, which some drivers distinguish from an empty text
  std::vector<std::string> names;  // of headers
  IncludedFiles files;
  std::shared_ptr<MemoryHold> files_memory;
  std::shared_ptr<MemoryHold> options_memory;
};

// Empty: it has been answered, or the connection is gone.
std::optional<BuildInput> build_input(SessionContext& session, const wire::Command& command,
                                      std::uint64_t program, const flatbuffers::String* options,
                                      std::vector<std::string> names, const wire::Included* included) {
  BuildInput input{text_of(options), options != nullptr, std::move(names), {}, nullptr, nullptr};
  std::size_t kept = input.options.size();
  for (const std::string& name : input.names) kept += name.size();
  input.options_memory = session.memory.hold(kept);
  const bool is_accepted = command.payload() <= session.limits.program;
  input.files_memory = session.memory.hold(is_accepted ? command.payload() : 0);
  if (input.options_memory == nullptr || input.files_memory == nullptr) {
    session.reply(command, program, CL_OUT_OF_HOST_MEMORY);
    return std::nullopt;
  }
  auto files = included_files(session, command, included);
  if (!files) return std::nullopt;
  input.files = std::move(*files);
  return input;
}

using Build = std::function<cl_int(std::string& problem)>;

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
      if (const auto held = held_program(session, program))
        describe_program(session, builder, infos, *held, error == CL_SUCCESS ? std::string() : problem);
      const auto list = builder.CreateVector(infos);
      frame.add(wire::CreateAnswer(builder, request, error, 0, 0, 0, list));
    } else if (error != CL_SUCCESS) {
      frame.failure(program, 0, error);
    }
    if (!frame.empty()) session.outbox.send(frame);
  });
  if (!taken) session.reply(command, program, CL_OUT_OF_RESOURCES);
}

// Builds or compiles the first of `programs` with `call(options)`, if the server does not refuse it.
template <typename Call>
cl_int build_within_limits(SessionContext& session, ipc::TrialWork work,
                           const std::vector<HeldProgram>& programs, std::vector<cl_device_id> devices,
                           const BuildInput& input, std::string& problem, Call call) {
  const HeldProgram& program = programs.front();
  const SourceFolder folder(input.files);
  problem = folder.problem();
  const std::string all = folder.path().empty() ? input.options : folder.options(input.files);
  const char* const options = input.has_options || !all.empty() ? all.c_str() : nullptr;
  if (devices.empty()) devices = devices_of_program(session.cl, program.get());
  program.state().hold_options(input.options_memory);
  if (const auto refusal =
          refusal_of(session, {work, devices, folder.path(), options, programs, input.names})) {
    if (!refusal->log.empty()) program.state().refuse(devices, {all, refusal->log});
    return refusal->error;
  }
  program.state().accept(devices);
  return call(options);
}

// The error for a program that is not there.
cl_int missing_program(const SessionContext& session, std::uint64_t id) {
  const auto state = session.program_state(id);
  const bool is_too_large = state && state->origin() == ProgramState::Origin::unaffordable;
  return is_too_large ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_PROGRAM;
}

// Adds the programs of these ids. An error: one is missing.
cl_int add_programs(const SessionContext& session, const flatbuffers::Vector<std::uint64_t>* ids,
                    std::vector<HeldProgram>& programs) {
  for (const std::uint64_t id : numbers(ids)) {
    auto program = held_program(session, id);
    if (!program) return missing_program(session, id);
    programs.push_back(std::move(*program));
  }
  return CL_SUCCESS;
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::BuildProgram& message) {
  auto program = held_program(session, message.program());
  if (!program) return session.reply(command, message.program(), missing_program(session, message.program()));
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.program(), CL_INVALID_DEVICE);
  auto input = build_input(session, command, message.program(), message.options(), {}, message.included());
  if (!input) return;
  build(session, command, message.program(),
        [&session, programs = std::vector{std::move(*program)}, devices = *devices,
         input = std::move(*input)](std::string& problem) {
          return build_within_limits(
              session, ipc::TrialWork::build, programs, devices, input, problem, [&](const char* options) {
                return session.cl.clBuildProgram(programs[0].get(), count_of(devices), list_of(devices),
                                                 options, nullptr, nullptr);
              });
        });
}

void handle(SessionContext& session, const wire::Command& command, const wire::CompileProgram& message) {
  auto program = held_program(session, message.program());
  if (!program) return session.reply(command, message.program(), missing_program(session, message.program()));
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.program(), CL_INVALID_DEVICE);
  std::vector<HeldProgram> programs{std::move(*program)};
  std::vector<std::string> names;
  if (message.headers() != nullptr && message.names() != nullptr) {
    const cl_int error = add_programs(session, message.headers(), programs);
    if (error != CL_SUCCESS) return session.reply(command, message.program(), error);
    for (const flatbuffers::String* name : *message.names()) names.emplace_back(name->c_str());
  }
  if (programs.size() != names.size() + 1) return session.reply(command, message.program(), CL_INVALID_VALUE);
  auto input = build_input(session, command, message.program(), message.options(), std::move(names),
                           message.included());
  if (!input) return;
  build(session, command, message.program(),
        [&session, programs = std::move(programs), devices = *devices,
         input = std::move(*input)](std::string& problem) {
          std::vector<cl_program> headers = handles_of(programs);
          headers.erase(headers.begin());
          std::vector<const char*> texts;
          for (const std::string& name : input.names) texts.push_back(name.c_str());
          return build_within_limits(
              session, ipc::TrialWork::compile, programs, devices, input, problem, [&](const char* options) {
                return session.cl.clCompileProgram(programs[0].get(), count_of(devices), list_of(devices),
                                                   options, count_of(headers), list_of(headers),
                                                   texts.empty() ? nullptr : texts.data(), nullptr, nullptr);
              });
        });
}

namespace {

struct Link {
  std::uint64_t id = 0;
  std::shared_ptr<ProgramState> state;
  opencl::Held<cl_context> context;  // also after the client has released it
  std::vector<cl_device_id> devices;
  std::string options;
  bool has_options = false;
  std::vector<HeldProgram> inputs;
};

// Null: there is none.
cl_program make_linked(SessionContext& session, const Link& link, cl_int& error) {
  const char* const options = link.has_options ? link.options.c_str() : nullptr;
  const auto devices =
      link.devices.empty() ? devices_of_context(session.cl, link.context.get()) : link.devices;
  const auto refusal = refusal_of(session, {ipc::TrialWork::link, devices, {}, options, link.inputs, {}});
  if (!refusal) {
    const std::vector<cl_program> programs = handles_of(link.inputs);
    return session.cl.clLinkProgram(link.context.get(), count_of(link.devices), list_of(link.devices),
                                    options, count_of(programs), list_of(programs), nullptr, nullptr, &error);
  }
  error = refusal->error;
  if (refusal->log.empty()) return nullptr;
  // A program without a text, as linked ones are, whose log can be queried.
  link.state->refuse(devices_of_context(session.cl, link.context.get()), {link.options, refusal->log});
  const char* nothing = "";
  return session.cl.clCreateProgramWithSource(link.context.get(), 1, &nothing, nullptr, nullptr);
}

cl_int run_link(SessionContext& session, const Link& link) {
  cl_int error = CL_SUCCESS;
  const cl_program program = make_linked(session, link, error);
  // A failed link may create a program too, whose log can be queried.
  if (program == nullptr) {
    session.objects.remove(link.id);
  } else if (!session.objects.complete(link.id, program)) {
    session.cl.clReleaseProgram(program);
  }
  return error;
}

}  // namespace

// What is linked counts as much as what it is made of.
void handle(SessionContext& session, const wire::Command& command, const wire::LinkProgram& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  Link link{
      message.id(), nullptr, nullptr, *devices, text_of(message.options()), message.options() != nullptr, {}};
  const cl_int missing = add_programs(session, message.programs(), link.inputs);
  if (missing != CL_SUCCESS) return session.reply(command, message.id(), missing);
  std::uint64_t size = link.options.size();
  for (const HeldProgram& input : link.inputs) size += input.state().counted_bytes();
  auto memory = session.memory.hold(size);
  if (memory == nullptr) return session.reply(command, message.id(), CL_OUT_OF_HOST_MEMORY);
  link.state = std::make_shared<ProgramState>(ProgramState::Origin::linked, std::move(memory));
  link.context = opencl::hold(session.cl.clRetainContext, session.cl.clReleaseContext, context);
  Object object{Kind::program, nullptr};
  object.program = link.state;
  if (!session.register_object(message.id(), std::move(object))) return;
  build(session, command, message.id(),
        [&session, link = std::move(link)](std::string&) { return run_link(session, link); });
}

}  // namespace cleave::remote::server
