// Cleave's descriptors in another program's process: the libraries that programs load open everything through this.
//
// A program may have closed descriptors 0 to 2 and still print, or rely on getting the lowest number for the next file that it
// opens. So Cleave's have high numbers, and are closed on exec. While one is being opened, which the system does at the lowest number,
// the free ones among 0 to 2 are held by descriptors that can be neither read nor written: a program that prints then gets the same
// error as without Cleave. A test (tests/unit/own_descriptors.py) finds what opens descriptors in other ways.
//
// If two threads open files at the same time, or another thread takes these numbers meanwhile, a new descriptor may have such a
// number for a moment; it never keeps it.
//
// Thread-safe. errno is kept, or says why there is no descriptor. Only open_folder_list() allocates memory, and nothing throws.
#pragma once

#include <dirent.h>
#include <memory>

#include <sys/types.h>

namespace cleave::base {

// The lowest number that Cleave uses, if the process's limit allows it.
inline constexpr int kLowestDescriptor = 200;

// Moves a descriptor, which the caller owns, to a high number: below the limit on descriptors if that is lower, but never to 0, 1
// or 2. Closed on exec. -1 stays -1. If no other number than 0, 1 or 2 is free, `fd` is closed and the result is -1.
int move_high(int fd) noexcept;

// Holds the free ones among the numbers 0 to 2 for its lifetime. Used alone for files that libraries open and we cannot move.
class HeldStandardNumbers {
 public:
  HeldStandardNumbers() noexcept;
  HeldStandardNumbers(const HeldStandardNumbers&) = delete;
  HeldStandardNumbers& operator=(const HeldStandardNumbers&) = delete;
  ~HeldStandardNumbers();

 private:
  bool held_[3] = {};
};

// A high number for the descriptor that `open` returns, a function without parameters; -1 if that is -1.
template <typename Open>
int open_high(Open open) noexcept {
  const HeldStandardNumbers held;
  return move_high(open());
}

// open(2), openat(2) and dup(2), with O_CLOEXEC.
int open_own(const char* path, int flags, mode_t mode = 0) noexcept;
int open_own_at(int folder, const char* name, int flags, mode_t mode = 0) noexcept;
int duplicate_own(int fd) noexcept;

// The files of a folder, by a descriptor of their own. Null: it cannot be read, or there is no memory.
struct CloseFolderList {
  void operator()(DIR* list) const { closedir(list); }
};
using FolderList = std::unique_ptr<DIR, CloseFolderList>;
FolderList open_folder_list(int folder, const char* path = ".") noexcept;

}  // namespace cleave::base
