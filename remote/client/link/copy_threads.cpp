#include "remote/client/link/copy_threads.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <pthread.h>
#include <sched.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/threads/scoped_thread_state.h"

namespace cleave::remote::client {
namespace {

constexpr std::size_t kTouchedPage = 4096;
// The other processors are the program's, and the driver's in the server.
constexpr unsigned kProcessorsForThread = 4;

unsigned usable_processors() {
  cpu_set_t ours;
  if (::sched_getaffinity(0, sizeof ours, &ours) != 0) return 1;  // more processors than the set has room for
  return static_cast<unsigned>(CPU_COUNT(&ours));
}

// Bypasses the caches for large data that is not read at once: no line is fetched only to be overwritten.
void copy_non_temporal(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t kLine = 64;
  const std::size_t ahead = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  std::memcpy(to, from, ahead);
  to += ahead;
  from += ahead;
  bytes -= ahead;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
    for (std::size_t i = 0; i < kLine; i += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
  _mm_sfence();
#endif
  std::memcpy(to, from, bytes);
}

// Calls touch() for one byte on each page of these.
template <typename Touch>
void for_each_page(std::byte* begin, std::size_t bytes, Touch touch) {
  for (std::size_t at = 0; at < bytes;) {
    touch(begin + at);
    at += kTouchedPage - (reinterpret_cast<std::uintptr_t>(begin) + at) % kTouchedPage;
  }
}

}  // namespace

CopyThreads::~CopyThreads() {
  std::array<std::thread, kMostThreads - 1> helpers;
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
    helpers.swap(helpers_);
  }
  added_.notify_all();
  for (std::thread& one : helpers) {
    if (one.joinable()) one.join();
  }
}

unsigned CopyThreads::threads_for(std::size_t bytes) const {
  if (bytes < kMinBytes) return 1;
  if (threads_ != 0) return threads_;
  return std::clamp(usable_processors() / kProcessorsForThread, 1U, kMostThreads);
}

bool CopyThreads::admit(SharedCopy& copy, unsigned threads) {
  const base::ScopedSignalBlock blocked;  // the helpers inherit it
  const base::MutexLock lock(mutex_);
  const auto place = std::find(copies_.begin(), copies_.end(), nullptr);
  if (place == copies_.end()) return false;
  try {
    for (unsigned i = 0; i + 1 < threads; ++i) {
      if (!helpers_[i].joinable()) helpers_[i] = std::thread([this] { help(); });
    }
  } catch (const std::exception&) {  // with those that have been started
  }
  if (!helpers_.front().joinable()) return false;
  *place = &copy;
  return true;
}

void CopyThreads::dismiss(SharedCopy& copy) { std::replace(copies_.begin(), copies_.end(), &copy, {}); }

SharedCopy* CopyThreads::next_with_blocks() {
  for (std::size_t i = 1; i <= copies_.size(); ++i) {
    const std::size_t place = (last_helped_ + i) % copies_.size();
    if (copies_[place] == nullptr || !copies_[place]->has_blocks()) continue;
    last_helped_ = place;
    return copies_[place];
  }
  return nullptr;
}

void CopyThreads::help() {
  base::MutexLock lock(mutex_);
  while (!ending_) {
    if (SharedCopy* const copy = next_with_blocks()) {
      copy->copy_taken(lock);
      continue;
    }
    ++idle_;
    added_.wait(lock);
    --idle_;
  }
}

// Its condition variable counts threads of the parent, and its threads are not here to be joined.
void CopyThreads::reset_in_child() {
  new (&added_) base::CondVar;
  new (&helpers_) std::array<std::thread, kMostThreads - 1>;
  copies_.fill(nullptr);
  idle_ = 0;
}

SharedCopy::SharedCopy(CopyThreads& threads, const Box& box, Direction direction)
    : threads_(threads), box_(box), direction_(direction) {
  const unsigned wanted = threads.threads_for(box.bytes());
  is_helped_ = wanted > 1 && threads.admit(*this, wanted);
}

SharedCopy::~SharedCopy() {
  const base::ScopedCancelDisable uncancelled;
  base::MutexLock lock(threads_.mutex_);
  threads_.dismiss(*this);
  is_awaited_ = true;
  while (copying_ != 0) copied_.wait(lock);
}

void SharedCopy::add(const Part& part) {
  assert(parts() < kMostParts);
  if (is_helped_) touch(part);
  bool wake = false;
  {
    const base::MutexLock lock(threads_.mutex_);
    progress_of(added_++) = {part};
    published_ = added_;
    wake = is_helped_ && threads_.idle_ != 0;
  }
  if (wake) threads_.added_.notify_all();
}

bool SharedCopy::is_first_copied() const {
  if (parts() == 0) return false;
  const base::MutexLock lock(threads_.mutex_);
  return is_copied(removed_);
}

bool SharedCopy::copy_block() {
  base::MutexLock lock(threads_.mutex_);
  if (!has_blocks()) return false;
  copy_taken(lock);
  return true;
}

void SharedCopy::await_first() {
  const base::ScopedCancelDisable uncancelled;
  base::MutexLock lock(threads_.mutex_);
  is_awaited_ = true;
  while (!is_copied(removed_)) copied_.wait(lock);
  is_awaited_ = false;
}

SharedCopy::Block SharedCopy::take_block() {
  Progress& of = progress_of(taking_);
  const Block block{&of, of.taken, std::min(kBlock, of.part.bytes - of.taken)};
  of.taken += block.bytes;
  if (of.taken == of.part.bytes) ++taking_;
  return block;
}

void SharedCopy::copy_taken(base::MutexLock& lock) {
  const Block block = take_block();
  ++copying_;
  lock.unlock();
  copy(block);
  lock.lock();
  --copying_;
  block.of->copied += block.bytes;
  // While the mutex is held: afterwards this may have been destroyed.
  if (is_awaited_) copied_.notify_one();
}

// As the copy will: reads, or writes what is there.
void SharedCopy::touch(const Part& part) const {
  constexpr std::size_t kAhead = 16 * kTouchedPage;
  std::size_t left = part.bytes;
  box_.for_each_run(part.at, [&](std::byte* place, std::size_t run) {
    const std::size_t now = std::min(run, left);
    if (direction_ == Direction::to_shared) {
      for_each_page(place, now,
                    [](std::byte* one) { static_cast<void>(*const_cast<volatile std::byte*>(one)); });
    } else {
      for_each_page(place, now, [end = place + now](std::byte* one) {
        if (kAhead < static_cast<std::size_t>(end - one)) __builtin_prefetch(one + kAhead, 1);
        std::atomic_ref(*reinterpret_cast<unsigned char*>(one)).fetch_or(0, std::memory_order_relaxed);
      });
    }
    left -= now;
    return left != 0;
  });
}

void SharedCopy::copy(const Block& block) const {
  const Part& part = block.of->part;
  if (direction_ == Direction::to_shared) {
    box_.copy_to(part.shared + block.begin, part.at + block.begin, block.bytes);
  } else {
    box_.copy_from(part.shared + block.begin, part.at + block.begin, block.bytes, copy_non_temporal);
  }
}

}  // namespace cleave::remote::client
