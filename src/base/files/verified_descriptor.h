// A descriptor of Cleave's in another program's process. Programs close descriptors that they do not know (daemons do so when
// they start) and may get the same number for a file of their own. So the file's identity is remembered, and checked
// before the descriptor is used or closed.
//
// Files without identity are refused: all eventfds, timerfds, epolls, signalfds and inotify instances are one file to fstat(2), so the
// program's could not be distinguished from ours. A WakeChannel and poll()'s timeout replace them.
//
// For one thread at a time. A forked child may close its copy whatever the thread was doing.
#pragma once

#include <atomic>

#include <sys/types.h>

namespace cleave::base {

class VerifiedDescriptor {
 public:
  VerifiedDescriptor() = default;
  VerifiedDescriptor(const VerifiedDescriptor&) = delete;
  VerifiedDescriptor& operator=(const VerifiedDescriptor&) = delete;
  ~VerifiedDescriptor() { close(); }

  // Takes ownership of `fd`, and moves it to a high number (own_descriptors.h). -1 stays closed; a file without identity is
  // closed.
  void open(int fd);

  // The same, without moving it.
  void adopt(int fd);

  void close();

  // Whether the descriptor still refers to the file that was opened. If a filter of system calls forbids the check, it counts as valid.
  [[nodiscard]] bool is_valid() const { return look() != Seen::another; }

  // -1 if closed.
  [[nodiscard]] int get() const { return fd_.load(std::memory_order_relaxed); }

 private:
  enum class Seen { ours, another, nothing };
  [[nodiscard]] Seen look() const;

  std::atomic<int> fd_{-1};
  std::atomic<dev_t> device_{0};
  std::atomic<ino_t> inode_{0};
};

}  // namespace cleave::base
