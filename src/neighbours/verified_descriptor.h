// A file descriptor in a process that is not ours. Programs close descriptors that they do not know of
// (daemons do, when they start), and the number may then be a file of the program's own. So it is remembered
// what it was opened for, and nothing is read from it or closed that is no longer that.
//
// One thread at a time. A forked child may close its copy whatever the thread that used it was doing.
#pragma once

#include <atomic>

#include <sys/types.h>

namespace cleave::neighbours {

class VerifiedDescriptor {
 public:
  VerifiedDescriptor() = default;
  VerifiedDescriptor(const VerifiedDescriptor&) = delete;
  VerifiedDescriptor& operator=(const VerifiedDescriptor&) = delete;
  ~VerifiedDescriptor() { close(); }

  // Takes `fd`, moved out of the way of programs that count on getting low numbers. -1: stays closed.
  void open(int fd);

  void close();

  // Whether it is still what was opened.
  [[nodiscard]] bool is_valid() const;

  // -1 while closed.
  [[nodiscard]] int get() const { return fd_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> fd_{-1};
  std::atomic<dev_t> device_{0};
  std::atomic<ino_t> inode_{0};
};

}  // namespace cleave::neighbours
