// Memory shared with a server on this machine, for data in transit: commands name places in it instead of sending a
// payload (docs/remote-protocol.md). One area belongs to one connection.
//
// A place belongs to its holder until it is destroyed. The area is allocated from its beginning, so only as much of it
// is backed by memory as was in use at once; trim() gives back all but a modest share.
//
// Thread-safe. Nothing throws or blocks: if there is no space now, allocate() returns an empty place and the data goes
// over the socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/files/verified_descriptor.h"
#include "base/threads/mutex.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {

class SharedArea {
 public:
  static constexpr std::size_t kSize = std::size_t{64} << 20U;
  static constexpr std::size_t kKeptOnTrim = kKeptSharedMemory;

  // A run of whole pages, or empty.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      std::swap(area_, other.area_);
      std::swap(offset_, other.offset_);
      std::swap(size_, other.size_);
      std::swap(is_idle_, other.is_idle_);
      return *this;
    }
    ~Place() {
      if (area_ != nullptr) area_->release(*this);
    }

    [[nodiscard]] explicit operator bool() const { return area_ != nullptr; }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }
    [[nodiscard]] std::size_t size() const { return size_; }  // bytes, as requested
    [[nodiscard]] std::byte* data() const { return area_->data_ + offset_; }

    // After it is destroyed, its memory is not used again until this returns true for its data: the server may still
    // write there.
    using IsIdle = bool (*)(std::byte*);
    void keep_until_idle(IsIdle is_idle) { is_idle_ = is_idle; }

   private:
    friend class SharedArea;
    Place(SharedArea& area, std::size_t offset, std::size_t size)
        : area_(&area), offset_(offset), size_(size) {}

    SharedArea* area_ = nullptr;
    std::size_t offset_ = 0;
    std::size_t size_ = 0;
    IsIdle is_idle_ = nullptr;
  };

  // `behind`: bytes of the memory behind the area, which are others' (MapRegions). Null if the system refuses.
  static std::unique_ptr<SharedArea> make(std::size_t size = kSize, std::size_t behind = 0);
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;
  ~SharedArea();  // Requires: no place is left.

  // For the server. Sealed, so that neither side can shrink it while the other has it mapped.
  [[nodiscard]] int descriptor() const { return file_->get(); }
  // For owners of a part of the memory (MapRegions).
  [[nodiscard]] std::shared_ptr<const base::VerifiedDescriptor> file() const { return file_; }

  // Empty: there is no contiguous space of that size, or no memory.
  Place allocate(std::size_t size) noexcept;

  // Gives memory back to the system if no place is in use and none has been allocated for `unused`.
  void trim(std::chrono::milliseconds unused) noexcept;
  // Bytes that are backed by memory.
  [[nodiscard]] std::size_t backed() const;

  // The connection has ended: gives all memory back to the system, that of a place when it is destroyed, whatever the
  // server may still write there. Nothing is allocated any more. Requires: no thread uses a place that has been
  // destroyed.
  void end() noexcept;

  // In the child after fork(), which does not have the memory. The last call on this object.
  void close_in_child() const;

 private:
  using File = std::shared_ptr<base::VerifiedDescriptor>;
  SharedArea(File file, std::byte* data, std::size_t size)
      : file_(std::move(file)), data_(data), size_(size) {}
  void release(const Place& place) noexcept;
  void reclaim_idle() CLEAVE_REQUIRES(mutex_);
  void discard_unused() CLEAVE_REQUIRES(mutex_);

  const File file_;
  std::byte* const data_;
  const std::size_t size_;
  mutable base::Mutex mutex_;
  std::map<std::size_t, std::size_t> allocated_ CLEAVE_GUARDED_BY(mutex_);  // ends by offset
  std::map<std::size_t, Place::IsIdle> awaiting_idle_
      CLEAVE_GUARDED_BY(mutex_);                      // of those, destroyed places
  std::size_t backed_ CLEAVE_GUARDED_BY(mutex_) = 0;  // bytes from the beginning
  std::chrono::steady_clock::time_point last_allocated_ CLEAVE_GUARDED_BY(mutex_);
  bool has_ended_ CLEAVE_GUARDED_BY(mutex_) = false;
};

}  // namespace cleave::remote::client
