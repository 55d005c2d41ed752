// A program that a build uses, also after the client has released it.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "remote/server/session/session_context.h"

namespace cleave::remote::server {

class HeldProgram {
 public:
  HeldProgram(const Table& cl, cl_program program, std::shared_ptr<ProgramState> state)
      : cl_(&cl), program_(program), state_(std::move(state)) {
    cl.clRetainProgram(program);
  }
  HeldProgram(HeldProgram&& other) noexcept
      : cl_(other.cl_), program_(std::exchange(other.program_, nullptr)), state_(std::move(other.state_)) {}
  HeldProgram(const HeldProgram& other) : HeldProgram(*other.cl_, other.program_, other.state_) {}
  HeldProgram& operator=(const HeldProgram&) = delete;
  ~HeldProgram() {
    if (program_ != nullptr) cl_->clReleaseProgram(program_);
  }
  [[nodiscard]] cl_program get() const { return program_; }
  [[nodiscard]] ProgramState& state() const { return *state_; }

 private:
  const Table* cl_;
  cl_program program_;
  std::shared_ptr<ProgramState> state_;
};

// Empty: there is none of this id that the driver knows.
inline std::optional<HeldProgram> held_program(const SessionContext& session, std::uint64_t id) {
  auto object = session.objects.find(id);
  if (!object || object->kind != Kind::program || object->handle == nullptr) return std::nullopt;
  return HeldProgram(session.cl, static_cast<cl_program>(object->handle), std::move(object->program));
}

}  // namespace cleave::remote::server
