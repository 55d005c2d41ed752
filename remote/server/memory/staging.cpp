#include "remote/server/memory/staging.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace cleave::remote::server {
namespace {

std::size_t class_of(std::size_t capacity, std::size_t least) {
  return static_cast<std::size_t>(std::countr_zero(capacity / least));
}

}  // namespace

Block::~Block() {
  if (staging_ != nullptr) staging_->put_back(data_, capacity_);
}

Staging::~Staging() {
  for (const auto& blocks : cached_) {
    for (std::byte* const block : blocks) std::free(block);
  }
}

Block Staging::take(std::size_t size) {
  if (size > limit_) return {};
  const std::size_t capacity = std::bit_ceil(std::max(size, kMinBlock));
  const std::size_t size_class = class_of(capacity, kMinBlock);
  const std::size_t needed = size_class < kClasses ? capacity : size;
  if (in_use_.fetch_add(needed) + needed > limit_ + kMinBlock) {
    in_use_.fetch_sub(needed);
    return {};
  }
  if (size_class < kClasses) {
    if (std::byte* const data = take_cached(size_class, needed)) return {*this, data, size, needed};
  }
  // Aligned as drivers prefer for the source and target of copies.
  const std::size_t whole = (needed + kMinBlock - 1) / kMinBlock * kMinBlock;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(kMinBlock, whole));
  if (data == nullptr) {
    in_use_.fetch_sub(needed);
    return {};
  }
  return {*this, data, size, needed};
}

// Null: there is none.
std::byte* Staging::take_cached(std::size_t size_class, std::size_t capacity) {
  const base::MutexLock lock(mutex_);
  last_taken_ = std::chrono::steady_clock::now();
  if (cached_[size_class].empty()) return nullptr;
  std::byte* const data = cached_[size_class].back();
  cached_[size_class].pop_back();
  cached_bytes_ -= capacity;
  return data;
}

void Staging::trim(std::chrono::steady_clock::duration unused) {
  const base::MutexLock lock(mutex_);
  if (cached_bytes_ <= kMaxCachedUnused || std::chrono::steady_clock::now() - last_taken_ < unused) return;
  for (std::size_t size_class = kClasses; size_class-- > 0;) {
    auto& blocks = cached_[size_class];
    for (; !blocks.empty() && cached_bytes_ > kMaxCachedUnused; blocks.pop_back()) {
      std::free(blocks.back());
      cached_bytes_ -= kMinBlock << size_class;
    }
  }
}

std::size_t Staging::cached_bytes() const {
  const base::MutexLock lock(mutex_);
  return cached_bytes_;
}

void Staging::put_back(std::byte* data, std::size_t capacity) {
  in_use_.fetch_sub(capacity);
  const std::size_t size_class =
      std::has_single_bit(capacity) && capacity >= kMinBlock ? class_of(capacity, kMinBlock) : kClasses;
  if (size_class < kClasses) {
    const base::MutexLock lock(mutex_);
    if (cached_bytes_ + capacity <= kMaxCached) {
      cached_[size_class].push_back(data);
      cached_bytes_ += capacity;
      return;
    }
  }
  std::free(data);
}

}  // namespace cleave::remote::server
