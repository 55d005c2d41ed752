#include "interpose/launch/repeated_launches.h"

namespace cleave::interpose {

namespace {

// The driver may choose another local size next time, with other arguments.
bool depends_on_groups(plan::UnsplitReason why) {
  return why == plan::UnsplitReason::one_group || why == plan::UnsplitReason::resident;
}

}  // namespace

void RepeatedLaunches::add(const Call& call, unsigned vms, std::uint64_t changes,
                           const Known& known) noexcept {
  if (call.offset != nullptr || !plan::is_lasting(known.why)) return;
  if (call.local == nullptr && depends_on_groups(known.why)) return;
  constexpr auto kRelease = std::memory_order_release;
  Entry& entry = entries_[index_of(call)];
  std::uint64_t version = entry.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 || !entry.version.compare_exchange_strong(
                              version, version + 1, std::memory_order_acquire, std::memory_order_relaxed))
    return;
  // A thread that reads one of these sees that the version is odd, or a later one.
  entry.kernel.store(call.kernel, kRelease);
  entry.queue.store(call.queue, kRelease);
  entry.changes.store(changes, kRelease);
  entry.shape.store(shape_of(call, vms) | static_cast<std::uint64_t>(known.why), kRelease);
  entry.counters.store(known.counters, kRelease);
  for (std::size_t d = 0; d < call.dims; ++d) {
    entry.sizes[2 * d].store(call.global[d], kRelease);
    if (call.local != nullptr) entry.sizes[2 * d + 1].store(call.local[d], kRelease);
  }
  entry.version.store(version + 2, kRelease);
}

void RepeatedLaunches::reset() noexcept {
  for (Entry& entry : entries_) {
    entry.kernel.store(nullptr, std::memory_order_relaxed);
    entry.version.store(0, std::memory_order_relaxed);
  }
}

}  // namespace cleave::interpose
