#include "observe/counters.h"

namespace cleave::observe {
namespace {

constexpr std::size_t kMostNames = 4096;
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  launches += other.launches;
  split += other.split;
  slices += other.slices;
  for (std::size_t i = 0; i < kReasons; ++i) whole[i] += other.whole[i];
  pipelined += other.pipelined;
  for (std::size_t i = 0; i < kQueuedReasons; ++i) queued[i] += other.queued[i];
  added += other.added;
  return *this;
}

void KernelCounters::count_whole(std::size_t reason) noexcept { whole_[reason].fetch_add(1, kRelaxed); }

void KernelCounters::count_split(std::size_t slices, base::Nanoseconds added) noexcept {
  split_.fetch_add(1, kRelaxed);
  slices_.fetch_add(slices, kRelaxed);
  added_.fetch_add(static_cast<std::uint64_t>(added.count()), kRelaxed);
}

void KernelCounters::count_pipelined() noexcept { pipelined_.fetch_add(1, kRelaxed); }

void KernelCounters::count_queued(std::size_t reason) noexcept { queued_[reason].fetch_add(1, kRelaxed); }

Tally KernelCounters::tally() const {
  Tally tally;
  tally.split = split_.load(kRelaxed);
  tally.slices = slices_.load(kRelaxed);
  tally.added = base::Nanoseconds(added_.load(kRelaxed));
  tally.launches = tally.split;
  for (std::size_t i = 0; i < kReasons; ++i) {
    tally.whole[i] = whole_[i].load(kRelaxed);
    tally.launches += tally.whole[i];
  }
  tally.pipelined = pipelined_.load(kRelaxed);
  for (std::size_t i = 0; i < kQueuedReasons; ++i) tally.queued[i] = queued_[i].load(kRelaxed);
  return tally;
}

void KernelCounters::reset() noexcept {
  split_.store(0, kRelaxed);
  slices_.store(0, kRelaxed);
  added_.store(0, kRelaxed);
  for (auto& count : whole_) count.store(0, kRelaxed);
  pipelined_.store(0, kRelaxed);
  for (auto& count : queued_) count.store(0, kRelaxed);
}

KernelCounters& Counters::of(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  return by_name_[by_name_.size() < kMostNames ? name : "(others)"];
}

std::vector<Counters::Named> Counters::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Named> named;
  for (const auto& [name, counters] : by_name_) {
    const Tally tally = counters.tally();
    if (tally.launches != 0) named.push_back({name, tally});
  }
  return named;
}

void Counters::reset() noexcept {
  for (auto& [name, counters] : by_name_) counters.reset();
}

}  // namespace cleave::observe
