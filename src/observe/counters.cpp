#include "observe/counters.h"

namespace cleave::observe {
namespace {

constexpr std::size_t kMaxNames = 4096;
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

KernelStatistics& KernelStatistics::operator+=(const KernelStatistics& other) {
  launches += other.launches;
  split += other.split;
  slices += other.slices;
  for (std::size_t i = 0; i < kUnsplitReasonCount; ++i) unsplit[i] += other.unsplit[i];
  pipelined += other.pipelined;
  for (std::size_t i = 0; i < kSingleQueueReasonCount; ++i) queued[i] += other.queued[i];
  added += other.added;
  return *this;
}

void KernelCounters::count_split(std::size_t slices, base::Nanoseconds added) noexcept {
  split_.fetch_add(1, kRelaxed);
  slices_.fetch_add(slices, kRelaxed);
  added_.fetch_add(static_cast<std::uint64_t>(added.count()), kRelaxed);
}

void KernelCounters::count_pipelined() noexcept { pipelined_.fetch_add(1, kRelaxed); }

void KernelCounters::count_queued(std::size_t reason) noexcept { queued_[reason].fetch_add(1, kRelaxed); }

KernelStatistics KernelCounters::statistics() const {
  KernelStatistics statistics;
  statistics.split = split_.load(kRelaxed);
  statistics.slices = slices_.load(kRelaxed);
  statistics.added = base::Nanoseconds(added_.load(kRelaxed));
  statistics.launches = statistics.split;
  for (std::size_t i = 0; i < kUnsplitReasonCount; ++i) {
    statistics.unsplit[i] = unsplit_by_first_[i].load(kRelaxed) + unsplit_[i].load(kRelaxed);
    statistics.launches += statistics.unsplit[i];
  }
  statistics.pipelined = pipelined_.load(kRelaxed);
  for (std::size_t i = 0; i < kSingleQueueReasonCount; ++i) statistics.queued[i] = queued_[i].load(kRelaxed);
  return statistics;
}

void KernelCounters::reset() noexcept {
  first_.reset();
  for (auto& count : unsplit_by_first_) count.store(0, kRelaxed);
  split_.store(0, kRelaxed);
  slices_.store(0, kRelaxed);
  added_.store(0, kRelaxed);
  for (auto& count : unsplit_) count.store(0, kRelaxed);
  pipelined_.store(0, kRelaxed);
  for (auto& count : queued_) count.store(0, kRelaxed);
}

KernelCounters& Counters::of(const std::string& name) {
  const base::MutexLock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  const std::string& own = by_name_.size() < kMaxNames ? name : "(others)";
  return by_name_.try_emplace(own, own).first->second;
}

std::vector<Counters::Named> Counters::all() const {
  const base::MutexLock lock(mutex_);
  std::vector<Named> named;
  for (const auto& [name, counters] : by_name_) {
    const KernelStatistics statistics = counters.statistics();
    if (statistics.launches != 0) named.push_back({name, statistics});
  }
  return named;
}

void Counters::reset_in_child() noexcept {
  for (auto& [name, counters] : by_name_) counters.reset();
}

}  // namespace cleave::observe
