#include "remote/client/link/map_regions.h"

#include <algorithm>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "remote/client/link/memory_file.h"

namespace cleave::remote::client {
namespace {

constexpr std::size_t kRegionPage = 4096;

}  // namespace

std::shared_ptr<MapRegions> MapRegions::map(File file, std::uint64_t begin, std::size_t size) {
  if (size == 0) return nullptr;
  void* const data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), static_cast<off_t>(begin));
  if (data == MAP_FAILED) return nullptr;
  auto* const made =
      new (std::nothrow) MapRegions(std::move(file), static_cast<std::byte*>(data), begin, size);
  if (made == nullptr) {
    ::munmap(data, size);
    return nullptr;
  }
  return std::shared_ptr<MapRegions>(made);
}

// A page that the parent changes later is still the parent's, if the child has not written to it.
void MapRegions::close_in_child() {
  in_child_ = true;
  if (!file_->is_valid()) return;  // the program has closed it
  static_cast<void>(::mmap(data_, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                           file_->get(), static_cast<off_t>(begin_)));
}

MapRegions::~MapRegions() { ::munmap(data_, size_); }

MapRegions::Entries::iterator MapRegions::find_unused(std::size_t size) {
  return std::find_if(entries_.begin(), entries_.end(), [size](const Entry& entry) {
    return entry.use == Use::unused && entry.region.size_ == size;
  });
}

// Where there is room for it first. The end: nowhere.
MapRegions::Entries::iterator MapRegions::insert(std::size_t size) {
  std::uint64_t offset = begin_;
  auto next = entries_.begin();
  while (next != entries_.end() && next->region.offset_ - offset < size) {
    offset = next->region.offset_ + next->region.size_;
    ++next;
  }
  if (begin_ + size_ - offset < size) return entries_.end();
  const auto made = entries_.emplace(next);
  made->region.data_ = data_ + (offset - begin_);
  made->region.size_ = size;
  made->region.offset_ = offset;
  return made;
}

// The region that has been unused for the longest. False: all are used.
bool MapRegions::evict(std::vector<Notice>& notices) {
  auto oldest = entries_.end();
  for (auto each = entries_.begin(); each != entries_.end(); ++each) {
    if (each->use != Use::unused) continue;
    if (oldest == entries_.end() || each->last_used < oldest->last_used) oldest = each;
  }
  if (oldest == entries_.end()) return false;
  notices.push_back({oldest->region.offset_, oldest->region.size_, false});
  discard(oldest->region);
  entries_.erase(oldest);
  return true;
}

std::shared_ptr<MapRegion> MapRegions::take(std::size_t size, std::vector<Notice>& notices) noexcept try {
  if (size > size_) return nullptr;
  const std::size_t whole = (size + kRegionPage - 1) / kRegionPage * kRegionPage;
  MapRegion* taken = nullptr;
  {
    const base::MutexLock lock(mutex_);
    if (has_ended_) return nullptr;
    notices.reserve(notices.size() + entries_.size() + 1);  // what is done has to be announced
    auto entry = find_unused(whole);
    if (entry == entries_.end()) {
      while ((entry = insert(whole)) == entries_.end()) {
        if (!evict(notices)) return nullptr;
      }
      notices.push_back({entry->region.offset_, whole, true});
    }
    entry->use = Use::used;
    taken = &entry->region;
  }
  // The list keeps the entry where it is for as long as it is used.
  return {taken, [self = shared_from_this()](MapRegion* region) { self->release(region); }};
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Allocated before it is touched: missing memory would otherwise be a fatal SIGBUS.
bool MapRegions::back(MapRegion& region) const {
  region.is_backed_ = region.is_backed_ || back_memory(*file_, region.offset_, region.size_);
  return region.is_backed_;
}

// In a forked child the descriptor's number may be another file's by now.
void MapRegions::release(MapRegion* region) noexcept {
  if (in_child_) return;
  const base::MutexLock lock(mutex_);
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [region](const Entry& each) { return &each.region == region; });
  if (entry == entries_.end()) return;
  entry->use = Use::unused;
  entry->last_used = std::chrono::steady_clock::now();
  if (has_ended_) discard_unused();
}

std::vector<MapRegions::Notice> MapRegions::expire(std::chrono::milliseconds unused) noexcept try {
  std::vector<Notice> notices;
  const base::MutexLock lock(mutex_);
  notices.reserve(entries_.size());
  const auto now = std::chrono::steady_clock::now();
  for (Entry& entry : entries_) {
    if (entry.use != Use::unused || now - entry.last_used < unused) continue;
    notices.push_back({entry.region.offset_, entry.region.size_, false});
    entry.use = Use::expired;
  }
  return notices;
} catch (const std::bad_alloc&) {  // they stay
  return {};
}

// What is expired included.
void MapRegions::discard_unused() {
  for (auto each = entries_.begin(); each != entries_.end();) {
    if (each->use != Use::used) discard(each->region);
    each = each->use != Use::used ? entries_.erase(each) : std::next(each);
  }
}

void MapRegions::end() noexcept {
  const base::MutexLock lock(mutex_);
  has_ended_ = true;
  discard_unused();
}

void MapRegions::give_back() noexcept {
  const base::MutexLock lock(mutex_);
  for (auto each = entries_.begin(); each != entries_.end();) {
    if (each->use == Use::expired) discard(each->region);
    each = each->use == Use::expired ? entries_.erase(each) : std::next(each);
  }
}

void MapRegions::discard(const MapRegion& region) const {
  give_back_memory(*file_, region.offset_, region.size_);
}

}  // namespace cleave::remote::client
