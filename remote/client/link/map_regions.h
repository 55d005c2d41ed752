// Memory for maps of large buffers. The server has mapped it as well, behind the SharedArea, so that its driver copies
// between a region and the device, and nothing is copied here. The client tells the server which regions stay the same
// pages, so that the driver may pin them (messages.fbs: KeepShared); a region that is no longer used is kept for the
// next map of that size, since allocating and pinning one costs more than the map, and given back to the system when it
// has not been used for a while.
//
// Thread-safe. Nothing throws. One object belongs to one connection, and lives as long as one of its regions. Its
// functions other than the end of a region are for the thread that holds Connection::out_mutex_: messages to the server
// come in their order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/files/verified_descriptor.h"
#include "base/threads/mutex.h"

namespace cleave::remote::client {

// In use by its holder.
class MapRegion {
 public:
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }  // bytes, whole pages
  // In the memory that is shared with the server.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // The same of an address within the region.
  [[nodiscard]] std::uint64_t offset_of(const std::byte* address) const {
    return offset_ + static_cast<std::uint64_t>(address - data_);
  }

 private:
  friend class MapRegions;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t offset_ = 0;
  bool is_backed_ = false;
};

class MapRegions : public std::enable_shared_from_this<MapRegions> {
 public:
  // Nothing where addresses are scarce.
  static constexpr std::size_t kSize = sizeof(void*) == 8 ? std::size_t{256} << 20U : 0;
  // For smaller objects it does not pay.
  static constexpr std::size_t kMinSize = (std::size_t{1} << 20U) + 1;

  // Notices for the server, in this order.
  struct Notice {
    std::uint64_t offset;
    std::uint64_t size;
    bool is_kept;  // the region begins or ends to be the same pages
  };

  using File = std::shared_ptr<const base::VerifiedDescriptor>;
  // Of the memory behind this descriptor, `size` bytes from `begin` on. Null: the system refuses.
  static std::shared_ptr<MapRegions> map(File file, std::uint64_t begin, std::size_t size = kSize);
  MapRegions(const MapRegions&) = delete;
  MapRegions& operator=(const MapRegions&) = delete;
  ~MapRegions();

  // In a forked child, before the descriptor is closed: what it writes to maps that it inherited is its own from now on.
  // Nothing is given back any more: it is the parent's.
  void close_in_child();

  // A region of at least that size. Null: there is no room. Notices are to be sent before it is used, also if there is none.
  std::shared_ptr<MapRegion> take(std::size_t size, std::vector<Notice>& notices) noexcept;

  // Allocates its memory, if need be. False: the system has none. For the thread that has just taken it.
  bool back(MapRegion& region) const;

  // Regions that have not been used for that long; notices as above. They are not used again until give_back().
  std::vector<Notice> expire(std::chrono::milliseconds unused) noexcept;
  // Gives the memory of expired regions back to the system. May be called without out_mutex_.
  void give_back() noexcept;

  // The connection has ended: gives the memory of all regions back to the system, of those in use at the end of their use. None can
  // be taken any more.
  void end() noexcept;

 private:
  enum class Use : std::uint8_t { used, unused, expired };
  struct Entry {
    MapRegion region;
    Use use = Use::used;
    std::chrono::steady_clock::time_point last_used;
  };
  using Entries = std::list<Entry>;  // by offset

  MapRegions(File file, std::byte* data, std::uint64_t begin, std::size_t size)
      : file_(std::move(file)), data_(data), begin_(begin), size_(size) {}
  Entries::iterator find_unused(std::size_t size) CLEAVE_REQUIRES(mutex_);
  Entries::iterator insert(std::size_t size) CLEAVE_REQUIRES(mutex_);
  bool evict(std::vector<Notice>& notices) CLEAVE_REQUIRES(mutex_);
  void discard(const MapRegion& region) const;
  void discard_unused() CLEAVE_REQUIRES(mutex_);
  void release(MapRegion* region) noexcept;

  const File file_;
  std::byte* const data_;
  const std::uint64_t begin_;
  const std::size_t size_;
  // Set while the child has one thread. There the mutex may be held by a thread that only the parent has.
  bool in_child_ = false;
  base::Mutex mutex_;  // a leaf
  Entries entries_ CLEAVE_GUARDED_BY(mutex_);
  bool has_ended_ CLEAVE_GUARDED_BY(mutex_) = false;
};

}  // namespace cleave::remote::client
