#include "remote/client/link/shared_area.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <new>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/files/own_descriptors.h"
#include "remote/client/link/memory_file.h"

namespace cleave::remote::client {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGrowthStep = std::size_t{1} << 20U;

// Growing a file beyond the process's limit would raise SIGXFSZ.
bool fits_file_size_limit(std::size_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

std::unique_ptr<SharedArea> SharedArea::make(std::size_t size, std::size_t behind) {
  if (!fits_file_size_limit(size + behind)) return nullptr;
  File file = std::make_shared<base::VerifiedDescriptor>();
  file->open(
      base::open_high([] { return ::memfd_create("cleave-remote", MFD_CLOEXEC | MFD_ALLOW_SEALING); }));
  const int descriptor = file->get();
  if (descriptor < 0) return nullptr;
  const bool good = ::ftruncate(descriptor, static_cast<off_t>(size + behind)) == 0 &&
                    ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  void* const data =
      good ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  if (data == MAP_FAILED) return nullptr;
  ::madvise(data, size, MADV_DONTFORK);
  return std::unique_ptr<SharedArea>(new SharedArea(std::move(file), static_cast<std::byte*>(data), size));
}

SharedArea::~SharedArea() { ::munmap(data_, size_); }

SharedArea::Place SharedArea::allocate(std::size_t size) noexcept try {
  if (size == 0 || size > size_) return {};
  const base::MutexLock lock(mutex_);
  if (has_ended_) return {};
  reclaim_idle();
  std::size_t offset = 0;
  for (const auto& [begin, end] : allocated_) {
    if (begin - offset >= size) break;
    offset = end;
  }
  if (size > size_ - offset) return {};
  const std::size_t end = rounded(offset + size, kPage);
  if (end > backed_) {
    // Allocated before it is touched: missing memory would otherwise be a fatal SIGBUS.
    const std::size_t more = std::min(rounded(end, kGrowthStep), size_);
    if (!back_memory(*file_, backed_, more - backed_)) return {};
    backed_ = more;
  }
  allocated_.emplace(offset, end);
  last_allocated_ = std::chrono::steady_clock::now();
  return {*this, offset, size};
} catch (const std::bad_alloc&) {
  return {};
}

void SharedArea::release(const Place& place) noexcept try {
  const base::MutexLock lock(mutex_);
  if (!has_ended_ && place.is_idle_ != nullptr && !place.is_idle_(place.data())) {
    awaiting_idle_.emplace(place.offset_, place.is_idle_);
  } else {
    allocated_.erase(place.offset_);
    if (has_ended_) discard_unused();
  }
} catch (const std::bad_alloc&) {  // it stays allocated
}

void SharedArea::reclaim_idle() {
  for (auto one = awaiting_idle_.begin(); one != awaiting_idle_.end();) {
    const std::size_t offset = one->first;
    const bool rests = one->second(data_ + offset);
    one = rests ? awaiting_idle_.erase(one) : std::next(one);
    if (rests) allocated_.erase(offset);
  }
}

void SharedArea::trim(std::chrono::milliseconds unused) noexcept {
  const base::MutexLock lock(mutex_);
  reclaim_idle();
  if (!allocated_.empty() || backed_ <= kKeptOnTrim) return;
  if (std::chrono::steady_clock::now() - last_allocated_ < unused) return;
  if (give_back_memory(*file_, kKeptOnTrim, backed_ - kKeptOnTrim)) backed_ = kKeptOnTrim;
}

// What lies between the places.
void SharedArea::discard_unused() {
  std::size_t from = 0;
  const auto discard_until = [&](std::size_t to) {
    if (from < to) give_back_memory(*file_, from, to - from);
  };
  for (const auto& [begin, end] : allocated_) {
    discard_until(begin);
    from = end;
  }
  discard_until(size_);
  backed_ = from;
}

void SharedArea::end() noexcept {
  const base::MutexLock lock(mutex_);
  has_ended_ = true;
  for (const auto& [offset, is_idle] : awaiting_idle_) allocated_.erase(offset);
  awaiting_idle_.clear();
  discard_unused();
}

std::size_t SharedArea::backed() const {
  const base::MutexLock lock(mutex_);
  return backed_;
}

void SharedArea::close_in_child() const { file_->close(); }

}  // namespace cleave::remote::client
