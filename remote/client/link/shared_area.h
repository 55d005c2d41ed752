// Memory that this process shares with its server, for data on its way: places in it stand for payloads
// (docs/remote-protocol.md). One area belongs to one connection.
//
// A place is its holder's until it is destroyed. The area is filled from its beginning, so that only as much
// of it is ever real memory as has been in use at once; trim() gives back what is beyond a modest share.
//
// Thread-safe. Nothing throws or waits: where there is no room now, the data goes another way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace cleave::remote::client {

class SharedArea {
 public:
  static constexpr std::size_t kSize = std::size_t{64} << 20U;
  static constexpr std::size_t kKeptOnTrim = std::size_t{16} << 20U;  // what trim() leaves

  // A stretch of whole pages. An empty one has no memory.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      std::swap(area_, other.area_);
      std::swap(offset_, other.offset_);
      std::swap(is_idle_, other.is_idle_);
      return *this;
    }
    ~Place() {
      if (area_ != nullptr) area_->release(*this);
    }

    [[nodiscard]] explicit operator bool() const { return area_ != nullptr; }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }
    [[nodiscard]] std::byte* data() const { return area_->data_ + offset_; }

    // Once given back it is nobody's as long as this says no of its data: the server may still write there.
    using IsIdle = bool (*)(std::byte*);
    void keep_until_idle(IsIdle is_idle) { is_idle_ = is_idle; }

   private:
    friend class SharedArea;
    Place(SharedArea& area, std::size_t offset) : area_(&area), offset_(offset) {}

    SharedArea* area_ = nullptr;
    std::size_t offset_ = 0;
    IsIdle is_idle_ = nullptr;
  };

  // Null: the system has none.
  static std::unique_ptr<SharedArea> make(std::size_t size = kSize);
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;
  ~SharedArea();  // when all places are gone

  // What is to be passed to the server: sealed, so that it cannot shrink under who has mapped it.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Empty: there is no room in one stretch, or no memory behind it.
  Place allocate(std::size_t size) noexcept;

  // Gives memory back to the system, if nothing is in use and nothing has been taken for so long.
  void trim(std::chrono::milliseconds unused) noexcept;
  // How much of it is real memory.
  [[nodiscard]] std::size_t backed() const;

  // The child of a process has the object and none of the memory, and does no more with it.
  void close_in_child() const;

 private:
  SharedArea(int descriptor, std::byte* data, std::size_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}
  void release(const Place& place) noexcept;
  void reclaim_idle();

  int descriptor_;
  std::byte* const data_;
  const std::size_t size_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> allocated_;        // ends by offset
  std::map<std::size_t, Place::IsIdle> awaiting_idle_;  // of those, what nobody holds any more
  std::size_t backed_ = 0;                              // bytes from the beginning
  std::chrono::steady_clock::time_point last_taken_;
};

}  // namespace cleave::remote::client
