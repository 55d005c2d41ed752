// The sole owner of a file descriptor, which it closes, and writing to one.
//
// An object is not thread-safe.
#pragma once

#include <string_view>
#include <unistd.h>
#include <utility>

namespace cleave::base {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}  // -1: none
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_ = -1;
};

// Writes all of `text`, in several calls if the system takes only parts. On failure some of it may have been written, and
// errno says why. Thread-safe.
bool write_all(int fd, std::string_view text) noexcept;

}  // namespace cleave::base
