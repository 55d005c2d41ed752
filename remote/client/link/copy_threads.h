// Threads of the library's that help a thread of the program's to copy large data between the program's memory and memory that
// is shared with a server: one thread copies less than a device's own copy engine does.
//
// They start with the first large copy by a thread that may use enough processors, sleep while there is nothing to copy, and
// belong to this object. In the library that is never destroyed, so they end with the process. After fork() the child begins
// without them.
//
// The program's memory may be such that touching it raises a signal, which its handler may expect on the program's own thread. So
// that thread touches each page before a helper copies there (SharedCopy::add). Should the protection change between the two, the
// signal comes on a helper, which blocks all others.
//
// Thread-safe. The mutex is a leaf: nothing else is locked while it is held, and nothing is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>

#include "base/threads/mutex.h"
#include "remote/client/link/box.h"

namespace cleave::remote::client {

class SharedCopy;

class CopyThreads {
 public:
  // Smaller copies are the caller's alone: they take about as long as it takes to wake a thread.
  static constexpr std::size_t kMinBytes = std::size_t{4} << 20U;
  // How many copy at once, the caller included.
  static constexpr unsigned kMostThreads = 4;

  // By a quarter of the processors that the calling thread may run on.
  CopyThreads() = default;
  // With that many threads, the calling one included, kMostThreads at most.
  explicit CopyThreads(unsigned threads) : threads_(std::min(threads, kMostThreads)) {}
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;
  ~CopyThreads();

  // How many threads, the calling one included, are to copy that much.
  [[nodiscard]] unsigned threads_for(std::size_t bytes) const;

  // Around fork() (base/threads/fork_locks.h).
  void lock() CLEAVE_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK(mutex_) { mutex_.unlock(); }
  void reset_in_child() CLEAVE_REQUIRES(mutex_);

 private:
  friend class SharedCopy;
  static constexpr std::size_t kHelpedCopies = 4;

  // Has helpers look at this copy from now on. False: none can be started, or there are too many copies.
  bool admit(SharedCopy& copy, unsigned threads) CLEAVE_EXCLUDES(mutex_);
  void dismiss(SharedCopy& copy) CLEAVE_REQUIRES(mutex_);
  SharedCopy* next_with_blocks() CLEAVE_REQUIRES(mutex_);
  void help();

  const unsigned threads_ = 0;  // 0: by the processors
  base::Mutex mutex_;
  base::CondVar added_;  // blocks to a copy, or the end
  std::array<SharedCopy*, kHelpedCopies> copies_ CLEAVE_GUARDED_BY(mutex_){};
  std::array<std::thread, kMostThreads - 1> helpers_ CLEAVE_GUARDED_BY(mutex_);
  std::size_t last_helped_ CLEAVE_GUARDED_BY(mutex_) = 0;  // of copies_, which take turns
  unsigned idle_ CLEAVE_GUARDED_BY(mutex_) = 0;            // helpers that wait for added_
  bool ending_ CLEAVE_GUARDED_BY(mutex_) = false;
};

// The copying of one transfer: parts, which end in their order, and their blocks, which the caller and the helpers take one by one.
//
// For one thread, besides the helpers. Its end waits for blocks that a helper is copying.
class SharedCopy {
 public:
  enum class Direction { to_shared, from_shared };
  struct Part {
    std::byte* shared = nullptr;
    std::size_t at = 0;  // of the box, in wire order
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kMostParts = 8;
  // Copied at a time: small enough for a core's cache, and for the C library not to choose non-temporal stores.
  static constexpr std::size_t kBlock = std::size_t{128} << 10U;

  SharedCopy(CopyThreads& threads, const Box& box, Direction direction);
  SharedCopy(const SharedCopy&) = delete;
  SharedCopy& operator=(const SharedCopy&) = delete;
  ~SharedCopy();

  // Parts that have been added and not removed.
  [[nodiscard]] std::size_t parts() const { return added_ - removed_; }
  // Adds a part. Requires: parts() < kMostParts.
  void add(const Part& part);
  // Whether the first part has been copied; removed by remove_first().
  [[nodiscard]] bool is_first_copied() const;
  void remove_first() { ++removed_; }

  // Copies one block. False: all blocks have been taken.
  bool copy_block();
  // Returns when the first part has been copied. Requires: there is one, and all its blocks have been taken.
  void await_first();

 private:
  friend class CopyThreads;
  struct Progress {
    Part part;
    std::size_t taken = 0;   // bytes
    std::size_t copied = 0;  // bytes
  };
  struct Block {
    Progress* of;
    std::size_t begin;
    std::size_t bytes;
  };

  // These require the mutex of `threads_`, which the analysis does not recognise where that is the caller.
  [[nodiscard]] bool has_blocks() const CLEAVE_NO_THREAD_SAFETY_ANALYSIS { return taking_ != published_; }
  Block take_block() CLEAVE_NO_THREAD_SAFETY_ANALYSIS;
  // Takes a block, copies it with the mutex released, and notes that. Requires: has_blocks().
  void copy_taken(base::MutexLock& lock) CLEAVE_NO_THREAD_SAFETY_ANALYSIS;
  void touch(const Part& part) const;
  void copy(const Block& block) const;
  [[nodiscard]] Progress& progress_of(std::size_t number) CLEAVE_REQUIRES(threads_.mutex_) {
    return progress_[number % kMostParts];
  }
  [[nodiscard]] bool is_copied(std::size_t number) const CLEAVE_REQUIRES(threads_.mutex_) {
    const Progress& progress = progress_[number % kMostParts];
    return progress.copied == progress.part.bytes;
  }

  CopyThreads& threads_;
  const Box box_;
  const Direction direction_;
  bool is_helped_ = false;
  std::size_t added_ = 0;    // parts; the caller's
  std::size_t removed_ = 0;  // parts; the caller's
  std::array<Progress, kMostParts> progress_ CLEAVE_GUARDED_BY(threads_.mutex_);
  std::size_t published_ CLEAVE_GUARDED_BY(threads_.mutex_) = 0;  // parts whose blocks may be taken
  std::size_t taking_ CLEAVE_GUARDED_BY(threads_.mutex_) = 0;     // the part of which the next block is
  unsigned copying_ CLEAVE_GUARDED_BY(threads_.mutex_) = 0;       // blocks
  bool is_awaited_ CLEAVE_GUARDED_BY(threads_.mutex_) = false;
  base::CondVar copied_;
};

}  // namespace cleave::remote::client
