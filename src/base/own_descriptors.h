// Descriptors of ours in somebody else's process: the one way in which the libraries that programs load open anything.
//
// A program may have closed descriptors 0 to 2 and print all the same, or rely on getting the lowest number for what it opens
// next. So ours have high numbers, and are closed on exec. While one is being opened, which the system does at the lowest number,
// the free ones among 0 to 2 are held by descriptors that can be neither read nor written: who prints then gets the error that he
// gets without us. A test (tests/unit/own_descriptors.py) finds what opens descriptors in other ways.
//
// Two threads that open at the same time, or another one that gives itself the numbers meanwhile, can make a new descriptor pass
// through such a number; it never stays there.
//
// Thread-safe. errno is kept, or says why there is no descriptor. Only open_folder_list() allocates memory, and nothing throws.
#pragma once

#include <dirent.h>
#include <memory>

#include <sys/types.h>

namespace cleave::base {

// The lowest number of ours, where the process's limit allows it.
inline constexpr int kLowestDescriptor = 200;

// Moves a descriptor, which the caller owns, to a high number: below the limit on descriptors if that is lower, but never to 0, 1
// or 2. Closed on exec. -1 stays -1; it also is the answer, and `fd` is closed, if there is no other number than 0, 1 or 2.
int move_high(int fd) noexcept;

// Holds the free ones among the numbers 0 to 2 for its lifetime. By itself for what libraries open and we cannot move.
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
