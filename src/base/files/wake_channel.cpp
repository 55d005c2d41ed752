#include "base/files/wake_channel.h"

#include <cerrno>
#include <unistd.h>

#include <sys/socket.h>

#include "base/files/own_descriptors.h"

namespace cleave::base {

bool WakeChannel::open() {
  close();
  const HeldStandardNumbers held;
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return false;
  receiver_.open(ends[0]);
  sender_.open(ends[1]);
  if (descriptor() >= 0 && sender_.get() >= 0) return true;
  close();
  errno = EMFILE;
  return false;
}

void WakeChannel::close() {
  receiver_.close();
  sender_.close();
}

void WakeChannel::wake() const {
  const char byte = 0;
  if (sender_.is_valid() && ::write(sender_.get(), &byte, sizeof byte) < 0) {  // it is awake already
  }
}

void WakeChannel::drain() const {
  char byte = 0;
  while (receiver_.is_valid()) {
    const ssize_t got = ::read(receiver_.get(), &byte, sizeof byte);
    if (got <= 0 && !(got < 0 && errno == EINTR)) return;
  }
}

}  // namespace cleave::base
