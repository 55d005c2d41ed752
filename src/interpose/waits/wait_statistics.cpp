#include "interpose/waits/wait_statistics.h"

#include <algorithm>

namespace cleave::interpose {
namespace {

// After this many brief waits in a row the next is expected to be brief.
constexpr unsigned kEnoughBrief = 4;

constexpr auto kRelaxed = std::memory_order_relaxed;

void note(const DeviceFacts& facts, DriverWaits& driver) noexcept {
  driver.processor.store(facts.is_processor(), kRelaxed);
  driver.watchable.store(!facts.lacks_markers && !facts.quirks.remote, kRelaxed);
  driver.ready.store(true, std::memory_order_release);
}

}  // namespace

// Another thread than the first one, or the first one.
void WaitHistory::note_user() noexcept {
  const pthread_t self = pthread_self();
  pthread_t user = user_.load(kRelaxed);
  if (user == pthread_t{} && user_.compare_exchange_strong(user, self, kRelaxed)) return;
  if (!shared_.load(kRelaxed)) shared_.store(true, kRelaxed);
}

void WaitHistory::forget() noexcept {
  for (Kind& kind : kinds_) {
    kind.last.store(0, kRelaxed);
    kind.brief.store(0, kRelaxed);
  }
  work_.store(false, kRelaxed);
  shared_.store(false, kRelaxed);
  user_.store(pthread_t{}, kRelaxed);
}

void WaitHistory::add_wait(WaitKind kind, base::Nanoseconds duration, bool brief) noexcept {
  Kind& known = kinds_[static_cast<std::size_t>(kind)];
  if (brief) {
    known.brief.store(std::min(known.brief.load(kRelaxed) + 1, kEnoughBrief), kRelaxed);
  } else {
    known.brief.store(0, kRelaxed);
    known.last.store(duration.count(), kRelaxed);
  }
}

bool WaitHistory::expects_brief(WaitKind kind) const noexcept {
  return kinds_[static_cast<std::size_t>(kind)].brief.load(kRelaxed) >= kEnoughBrief;
}

base::Nanoseconds WaitHistory::predicted(WaitKind kind) const noexcept {
  return base::Nanoseconds(kinds_[static_cast<std::size_t>(kind)].last.load(kRelaxed));
}

DriverWaits* WaitStatistics::driver(Devices& devices, cl_device_id of) noexcept {
  const Devices::Facts facts = devices.of(of);
  cl_device_id const device = facts->root;
  for (DriverWaits& driver : drivers_) {
    cl_device_id known = driver.device.load(kRelaxed);
    if (known == nullptr && driver.device.compare_exchange_strong(known, device, kRelaxed)) known = device;
    if (known != device) continue;
    // Concurrent threads all note the same.
    if (!driver.ready.load(std::memory_order_acquire)) note(*facts, driver);
    return &driver;
  }
  return nullptr;
}

void WaitStatistics::count(base::Nanoseconds slept) noexcept {
  sleeping_.fetch_add(1, kRelaxed);
  slept_.fetch_add(slept.count(), kRelaxed);
}

base::Nanoseconds WaitStatistics::slept() const noexcept { return base::Nanoseconds(slept_.load(kRelaxed)); }

void WaitStatistics::reset() noexcept {
  sleeping_.store(0, kRelaxed);
  slept_.store(0, kRelaxed);
}

}  // namespace cleave::interpose
