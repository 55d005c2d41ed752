#include "remote/server/sending/kernel_output.h"

#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace cleave::remote::server {
namespace {

// Bytes. A kernel that prints more at once waits until some have been sent.
constexpr int kPipeSize = 1 << 20;

}  // namespace

bool KernelOutput::redirect_stdout() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  ::fcntl(ends[0], F_SETPIPE_SZ, kPipeSize);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const bool moved = ::dup2(ends[1], STDOUT_FILENO) >= 0;
  ::close(ends[1]);
  pipe_ = ends[0];
  return moved;
}

std::span<const std::byte> KernelOutput::take() {
  std::fflush(stdout);  // for drivers that print with the C library
  const ssize_t got = ::read(pipe_, buffer_.data(), buffer_.size());
  return got > 0 ? std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(got))
                 : std::span<const std::byte>();
}

void KernelOutput::wait() const {
  pollfd waited{pipe_, POLLIN, 0};
  ::poll(&waited, 1, -1);
}

}  // namespace cleave::remote::server
