#include "objects/arena.h"

#include <algorithm>
#include <cassert>
#include <new>

#include <sys/mman.h>

// In a program with LeakSanitizer, which does not look for pointers in mapped memory by itself; else null.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void __lsan_register_root_region(const void* begin,
                                                                           std::size_t size);
[[gnu::weak, gnu::visibility("default")]] void __lsan_unregister_root_region(const void* begin,
                                                                             std::size_t size);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace cleave::objects {
namespace {

// Address space, not memory. Less is reserved if the process's limit requires it.
constexpr std::size_t kMaxReserved = std::size_t{16} << 30U;
constexpr std::size_t kMinReserved = std::size_t{4} << 20U;
constexpr std::size_t kCommitStep = std::size_t{256} << 10U;

// Far from where programs and the kernel put memory: the remote client needs shared virtual memory at addresses that the
// server's process has found free, and those are in the kernel's usual range. Randomised like the library's own address.
void* preferred_address() {
  constexpr std::uint64_t kBeginning = std::uint64_t{1} << 44U;
  constexpr std::uint64_t kPlaces = 1024;
  static const char anything = 0;
  const std::uint64_t place = (reinterpret_cast<std::uintptr_t>(&anything) >> 12U) % kPlaces;
  const std::uint64_t address = kBeginning + 4 * kMaxReserved * place;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a hint for mmap
  return sizeof(void*) == sizeof address ? reinterpret_cast<void*>(address) : nullptr;
}

}  // namespace

Arena::~Arena() {
  const base::MutexLock lock(mutex_);
  if (reserved_ == 0) return;
  if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(at(0), reserved_);
  munmap(at(0), reserved_);
}

bool Arena::begin(const Table& dispatch) {
  const base::MutexLock lock(mutex_);
  if (reserved_ != 0) return true;
  dispatch_ = &dispatch;
  for (std::size_t size = kMaxReserved; size >= kMinReserved; size /= 4) {
    void* const range =
        mmap(preferred_address(), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    reserved_ = size;
    base_.store(reinterpret_cast<std::uintptr_t>(range), std::memory_order_relaxed);
    if (__lsan_register_root_region != nullptr) __lsan_register_root_region(range, size);
    return commit_more();
  }
  return false;
}

bool Arena::commit_more() {
  const std::size_t committed = committed_.load(std::memory_order_relaxed);
  const std::size_t more = std::min(kCommitStep, reserved_ - committed);
  if (more == 0) return false;
  std::byte* const begin = at(committed);
  if (mprotect(begin, more, PROT_READ | PROT_WRITE) != 0) return false;
  for (std::size_t offset = 0; offset < more; offset += kObjectSize) {
    auto* const object = new (begin + offset) Object;
    object->dispatch = dispatch_;
  }
  committed_.store(committed + more, std::memory_order_release);
  return true;
}

Object* Arena::allocate() {
  const base::MutexLock lock(mutex_);
  if (quarantined_ > kQuarantine) return take_quarantined();
  Object* const fresh = take_unused();
  return fresh != nullptr || quarantined_ == 0 ? fresh : take_quarantined();
}

Object* Arena::take_quarantined() {
  Object* const object = oldest_;
  oldest_ = object->parents[0];
  if (oldest_ == nullptr) newest_ = nullptr;
  --quarantined_;
  return object;
}

Object* Arena::take_unused() {
  if (used_ == committed_.load(std::memory_order_relaxed) && !commit_more()) return nullptr;
  auto* const object = reinterpret_cast<Object*>(at(used_));
  used_ += kObjectSize;
  return object;
}

void Arena::disown_all() {
  for (std::size_t offset = 0; offset < used_; offset += kObjectSize) {
    auto* const object = reinterpret_cast<Object*>(at(offset));
    if (!object->root && object->tag.load(std::memory_order_relaxed) == live(object->kind))
      object->tag.store(disowned(object->kind), std::memory_order_relaxed);
  }
}

void Arena::recycle(Object& object) {
  assert(object.tag.load(std::memory_order_relaxed) != live(object.kind));
  const base::MutexLock lock(mutex_);
  object.parents[0] = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->parents[0]) = &object;
  newest_ = &object;
  ++quarantined_;
}

}  // namespace cleave::objects
