// Memory for data in transfer between the socket and the driver. Blocks of common sizes are cached, so that their pages need
// not be faulted in again: up to a flow control window of them while they are in use, fewer after trim().
//
// Thread-safe. Nothing throws.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"

namespace cleave::remote::server {

class Staging;

// Returns its memory to the staging, or to another owner, at the end of its life. May be empty.
class Block {
 public:
  Block() = default;
  Block(Staging& staging, std::byte* data, std::size_t size, std::size_t capacity)
      : staging_(&staging), data_(data), size_(size), capacity_(capacity) {}
  // Memory that lives as long as `owner` does.
  Block(std::shared_ptr<const void> owner, std::byte* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(staging_, other.staging_);
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Block();

  [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  Staging* staging_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class Staging {
 public:
  explicit Staging(std::uint64_t limit) : limit_(limit) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Empty: more than `limit` bytes would be in use, or the system has no memory.
  Block take(std::size_t size);

  // Returns cached memory to the system if no block has been taken for that long.
  void trim(std::chrono::steady_clock::duration unused);
  [[nodiscard]] std::size_t cached_bytes() const;

 private:
  friend class Block;
  static constexpr std::size_t kClasses = 11;  // 4 KiB, 8 KiB, ... 4 MiB
  static constexpr std::size_t kMinBlock = 4096;
  static constexpr std::size_t kMaxCached = 128U << 20U;       // bytes
  static constexpr std::size_t kMaxCachedUnused = 32U << 20U;  // and after trim()

  void put_back(std::byte* data, std::size_t capacity);
  std::byte* take_cached(std::size_t size_class, std::size_t capacity);

  const std::uint64_t limit_;
  std::atomic<std::uint64_t> in_use_{0};
  mutable base::Mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> cached_ CLEAVE_GUARDED_BY(mutex_);
  std::size_t cached_bytes_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point last_taken_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
