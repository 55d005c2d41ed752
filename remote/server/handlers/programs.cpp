// Making programs. program_builds.cpp builds them.
#include <memory>
#include <string>
#include <utility>

#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/lists.h"

namespace cleave::remote::server {
namespace {

// What the trials of builds need is kept in addition to what the driver keeps.
unsigned copies_of_parts(const SessionContext& session) { return session.trials != nullptr ? 2 : 1; }

struct ProgramText {
  std::string text;
  std::shared_ptr<MemoryHold> memory;  // what it counts for
};

// Empty: it is too large, which has been answered, or the connection is gone. Nothing of it has been stored then.
// `copies`: how often it is kept.
std::optional<ProgramText> text_payload(SessionContext& session, const wire::Command& command,
                                        std::uint64_t id, unsigned copies = 1) {
  if (command.payload() > session.limits.program) {
    session.report_violation("program too large");
    return std::nullopt;
  }
  auto memory = session.is_full() ? nullptr : session.memory.hold(copies * command.payload());
  if (memory == nullptr) {
    // A client that requests no answer learns it from the first build.
    Object nothing{Kind::program, nullptr};
    nothing.overhead = kOverheadOfFailed;
    nothing.program = std::make_shared<ProgramState>(ProgramState::Origin::unaffordable);
    if (command.request() == 0 && !session.register_object(id, std::move(nothing))) return std::nullopt;
    session.reply(command, id, CL_OUT_OF_HOST_MEMORY);
    return std::nullopt;
  }
  std::string text(command.payload(), '\0');
  if (!session.read_payload(std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return ProgramText{std::move(text), std::move(memory)};
}

Object new_program(cl_program program, ProgramState::Origin origin, std::shared_ptr<MemoryHold> memory,
                   std::vector<std::string> parts = {}) {
  Object object{Kind::program, program};
  object.program = std::make_shared<ProgramState>(origin, std::move(memory), std::move(parts));
  return object;
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithSource& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto text = text_payload(session, command, message.id());
  if (!text) return;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const char* const source = text->text.c_str();
  const std::size_t size = text->text.size();
  cl_int error = CL_SUCCESS;
  const cl_program program =
      session.cl.clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), &size, &error);
  session.register_created(command, message.id(),
                           new_program(program, ProgramState::Origin::source, text->memory), error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateProgramWithIL& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto il = text_payload(session, command, message.id(), copies_of_parts(session));
  if (!il) return;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  const cl_program program =
      session.cl.clCreateProgramWithIL(context, il->text.data(), il->text.size(), &error);
  std::vector<std::string> kept;
  if (session.trials != nullptr) kept.push_back(il->text);
  session.register_created(command, message.id(),
                           new_program(program, ProgramState::Origin::il, il->memory, std::move(kept)),
                           error);
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithBinary& message) {
  if (!session.check_new_id(message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto payload = text_payload(session, command, message.id(), copies_of_parts(session));
  if (!payload) return;
  const std::string* const all = &payload->text;
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  const auto* const sizes = message.sizes();
  if (devices->empty() || sizes == nullptr || sizes->size() != devices->size()) {
    return session.reply(command, message.id(), CL_INVALID_VALUE);
  }
  std::vector<std::size_t> lengths;
  std::vector<const unsigned char*> binaries;
  std::vector<std::string> kept;
  std::size_t at = 0;
  for (const std::uint64_t size : numbers(sizes)) {
    if (size > all->size() - at) return session.report_violation("binaries exceed their payload");
    lengths.push_back(size);
    binaries.push_back(reinterpret_cast<const unsigned char*>(all->data()) + at);
    if (session.trials != nullptr) kept.push_back(all->substr(at, size));
    at += size;
  }
  std::vector<cl_int> statuses(devices->size(), CL_SUCCESS);
  cl_int error = CL_SUCCESS;
  const cl_program program = session.cl.clCreateProgramWithBinary(
      context, count_of(*devices), devices->data(), lengths.data(), binaries.data(), statuses.data(), &error);
  Object object = new_program(program, ProgramState::Origin::binaries, payload->memory, std::move(kept));
  if (error == CL_SUCCESS && !session.register_object(message.id(), std::move(object))) return;
  if (command.request() == 0) return session.reply(command, message.id(), error);
  const std::vector<std::int64_t> values(statuses.begin(), statuses.end());
  auto& builder = session.answers.builder();
  const auto list = builder.CreateVector(values);
  session.answers.add(wire::CreateAnswer(builder, command.request(), error, 0, list));
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::CreateProgramWithBuiltInKernels& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  const std::string names(text_of(message.names()));
  auto memory = session.memory.hold(names.size());
  if (memory == nullptr) return session.reply(command, message.id(), CL_OUT_OF_HOST_MEMORY);
  cl_int error = CL_SUCCESS;
  const cl_program program = session.cl.clCreateProgramWithBuiltInKernels(
      context, count_of(*devices), list_of(*devices), names.c_str(), &error);
  session.register_created(command, message.id(),
                           new_program(program, ProgramState::Origin::built_in, std::move(memory)), error);
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::SetSpecializationConstant& message) {
  const auto program = session.objects.handle<cl_program>(message.program());
  if (program == nullptr) return session.reply(command, message.program(), CL_INVALID_PROGRAM);
  const auto* const value = message.value();
  if (value == nullptr || value->size() == 0)
    return session.reply(command, message.program(), CL_INVALID_VALUE);
  const auto state = session.program_state(message.program());
  auto memory = session.memory.hold(value->size());
  if (memory == nullptr) return session.reply(command, message.program(), CL_OUT_OF_HOST_MEMORY);
  const cl_int error = session.cl.clSetProgramSpecializationConstant(program, message.constant(),
                                                                     value->size(), value->data());
  if (error == CL_SUCCESS) {
    state->set_constant(message.constant(), {reinterpret_cast<const char*>(value->data()), value->size()},
                        std::move(memory));
  }
  session.reply(command, message.program(), error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::UnloadCompiler& message) {
  const auto platform = session.objects.handle<cl_platform_id>(message.platform());
  session.reply(command, message.platform(),
                platform != nullptr ? session.cl.clUnloadPlatformCompiler(platform) : CL_INVALID_PLATFORM);
}

}  // namespace cleave::remote::server
