// Memory for data on its way between the socket and the driver. Blocks of usual sizes are kept for the next
// one, so that their pages need not be made anew: as many as a window holds while they are in use, a modest
// share later (trim).
//
// Thread-safe. Nothing throws.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace cleave::remote::server {

class Staging;

// Goes back where it came from. An empty one has no memory.
class Block {
 public:
  Block() = default;
  Block(Staging& staging, std::byte* data, std::size_t size, std::size_t capacity)
      : staging_(&staging), data_(data), size_(size), capacity_(capacity) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(staging_, other.staging_);
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

  // Empty: more than `limit` would be out, or the system has no memory.
  Block take(std::size_t size);

  // Gives memory back to the system if nothing has been taken for so long.
  void trim(std::chrono::steady_clock::duration unused);
  // Bytes that are there for the next ones.
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
  mutable std::mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> cached_;
  std::size_t cached_bytes_ = 0;
  std::chrono::steady_clock::time_point last_taken_;
};

}  // namespace cleave::remote::server
