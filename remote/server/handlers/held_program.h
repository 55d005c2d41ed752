// A program that a build uses, also after the client has released it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "opencl/held.h"
#include "remote/server/session/session_context.h"

namespace cleave::remote::server {

class HeldProgram {
 public:
  HeldProgram(const Table& cl, cl_program program, std::shared_ptr<ProgramState> state)
      : program_(opencl::hold(cl.clRetainProgram, cl.clReleaseProgram, program)), state_(std::move(state)) {}
  [[nodiscard]] cl_program get() const { return program_.get(); }
  [[nodiscard]] ProgramState& state() const { return *state_; }

 private:
  opencl::Held<cl_program> program_;
  std::shared_ptr<ProgramState> state_;
};

// Empty: there is none of this id that the driver knows.
inline std::optional<HeldProgram> held_program(const SessionContext& session, std::uint64_t id) {
  auto object = session.objects.find(id);
  if (!object || object->kind != Kind::program || object->handle == nullptr) return std::nullopt;
  return HeldProgram(session.cl, static_cast<cl_program>(object->handle), std::move(object->program));
}

}  // namespace cleave::remote::server
