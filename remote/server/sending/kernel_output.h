// What kernels print. Drivers write it to the process's standard output, which is a pipe that this process reads. It is
// sent before any later frame (outbox.h), so what a kernel printed arrives before the news that it ended.
//
// redirect_stdout() is called once, before a driver is loaded. take() is for one thread at a time, wait() for any.
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

  // Redirects standard output to the pipe. False: the system has none.
  bool redirect_stdout();

  // The output so far, without waiting; valid until the next call.
  std::span<const std::byte> take();

  // Waits until there is output to take.
  void wait() const;

 private:
  int pipe_ = -1;
  std::array<std::byte, 64U << 10U> buffer_;
};

}  // namespace cleave::remote::server
