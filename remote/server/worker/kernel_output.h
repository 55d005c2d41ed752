// What kernels print: drivers write it to the process's standard output, which is a pipe back to this
// process.
//
// redirect_stdout() is called once, before any driver is loaded. take() is for one thread at a time; wait() for
// any one.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace cleave::remote::server {

class KernelOutput {
 public:
  KernelOutput() = default;
  KernelOutput(const KernelOutput&) = delete;
  KernelOutput& operator=(const KernelOutput&) = delete;

  // From now on standard output leads here. False: the system has no pipe for us.
  bool redirect_stdout();

  // What has come, without waiting; empty: nothing. Valid until the next call.
  std::span<const std::byte> take();

  // Waits until something has come that nobody has taken.
  void wait() const;

 private:
  int pipe_ = -1;
  std::array<std::byte, 64U << 10U> buffer_;
};

}  // namespace cleave::remote::server
