// Wakes a thread of Cleave's that sleeps in poll(), in another program's process.
//
// Two datagram sockets rather than an eventfd: every socket has an identity (verified_descriptor.h), and writing to one whose peer
// the program has closed raises no SIGPIPE. Only read(2) and write(2) are used after open(), which every process has made.
//
// wake() may be called by any thread, the others by the one that sleeps. A forked child may close its copy at any time.
#pragma once

#include "base/files/verified_descriptor.h"

namespace cleave::base {

class WakeChannel {
 public:
  // Opens both ends, or reopens them. False, with errno: it has none now.
  bool open();
  void close();

  // Whether both ends are still ours.
  [[nodiscard]] bool is_valid() const { return receiver_.is_valid() && sender_.is_valid(); }

  // For poll(), readable after wake(). -1 if it is closed.
  [[nodiscard]] int descriptor() const { return receiver_.get(); }

  void wake() const;

  // Takes what wake() has sent so far.
  void drain() const;

 private:
  VerifiedDescriptor receiver_;
  VerifiedDescriptor sender_;
};

}  // namespace cleave::base
