#include "learn/cost_table.h"

#include <algorithm>

#include "base/text/format.h"

namespace cleave::learn {
namespace {

// How often a trial is repeated without a measured time.
constexpr unsigned kMaxUnanswered = 3;

}  // namespace

std::string describe(const SliceAdvice& advice) {
  if (advice.state == AdviceState::unmeasured) return "could not be measured, so alpha decides";
  std::string text = advice.slices > 1 ? std::to_string(advice.slices) + " slices" : "unsplit";
  if (advice.state == AdviceState::trial) text += " as a trial";
  if (advice.loss > 0) text += base::formatted(", %.1f %% lost", advice.loss * 100);
  return text + " (" + base::as_text(advice.duration) + ", " + std::to_string(advice.measured) + " measured)";
}

CostTable::Entry& CostTable::make(Shard& shard, Key key, std::string name) {
  if (shard.entries.size() >= kMaxEntries) shard.entries.erase(shard.entries.begin());
  Entry entry;
  entry.name = std::move(name);
  {
    const base::LightLock lock(restored_mutex_);
    const auto known = restored_.find(key);
    if (known != restored_.end()) entry.cost = CostModel::from(known->second.losses, known->second.duration);
  }
  return shard.entries.emplace(key, std::move(entry)).first->second;
}

// Called when a time arrives, so that a launch finds the answer ready.
void CostTable::choose(Entry& entry) {
  const auto choice = entry.cost.within_budget(entry.budget, entry.limit, entry.search);
  entry.advice = {};
  if (!choice) return;
  entry.advice = {choice->trial ? AdviceState::trial : AdviceState::settled, choice->slices, choice->loss,
                  entry.cost.duration(), entry.cost.launches()};
}

SliceAdvice CostTable::advise(Entry& entry, double budget, std::size_t limit, Search search) {
  limit = std::max<std::size_t>(1, std::min(limit, entry.most));
  const bool answered = entry.unanswered < kMaxUnanswered;
  if (!answered) search = Search::none;
  if (entry.limit != limit || entry.search != search) {
    entry.limit = limit;
    entry.budget = budget;
    entry.search = search;
    choose(entry);
  }
  if (answered) ++entry.unanswered;
  return entry.advice;
}

SliceAdvice CostTable::estimate(Entry& entry, Key size_family, double items) const {
  entry.size_family = size_family;
  entry.items = items;
  const base::Nanoseconds known = entry.cost.duration();
  entry.advice.measured = entry.cost.launches();
  entry.advice.duration =
      known.count() > 0 ? known : base::Nanoseconds(static_cast<std::int64_t>(rate(size_family) * items));
  entry.advice.state = entry.advice.duration.count() <= 0 ? AdviceState::unmeasured
                       : entry.cost.launches() == 0       ? AdviceState::trial
                                                          : AdviceState::settled;
  return entry.advice;
}

double CostTable::rate(Key size_family) const {
  const base::LightLock lock(rates_mutex_);
  const auto found = rates_.find(size_family);
  return found != rates_.end() ? found->second : 0;
}

base::Nanoseconds CostTable::known_duration(Key key) {
  Shard& shard = of(key);
  const base::LightLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found != shard.entries.end()) return found->second.cost.duration();
  const base::LightLock restored_lock(restored_mutex_);
  const auto known = restored_.find(key);
  return known != restored_.end() ? known->second.duration : base::Nanoseconds(0);
}

void CostTable::limit_slices(Key key, std::size_t slices) {
  Shard& shard = of(key);
  const base::LightLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found != shard.entries.end()) found->second.most = std::min(found->second.most, slices);
}

void CostTable::set_slices(Key key, std::size_t slices) {
  Shard& shard = of(key);
  const base::LightLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found != shard.entries.end()) found->second.advice.slices = slices;
}

void CostTable::observe(Key key, std::size_t slices, base::Nanoseconds time) {
  Shard& shard = of(key);
  const base::LightLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return;
  Entry& entry = found->second;
  entry.cost.observe(slices, time);
  entry.unanswered = 0;
  if (entry.limit != 0) choose(entry);
  if (entry.size_family == 0 || entry.items <= 0) return;
  const base::LightLock rates_lock(rates_mutex_);
  if (rates_.size() < kMaxRates || rates_.count(entry.size_family) != 0)
    rates_[entry.size_family] = static_cast<double>(entry.cost.duration().count()) / entry.items;
}

std::vector<CostReport> CostTable::reports(std::size_t most) const {
  std::vector<CostReport> reports;
  for (const Shard& shard : shards_) {
    const base::LightLock lock(shard.mutex);
    for (const auto& [key, entry] : shard.entries) {
      if (entry.name.empty()) continue;
      reports.push_back({entry.name, entry.advice});
      reports.back().advice.measured = entry.cost.launches();
      if (entry.cost.launches() != 0) reports.back().advice.duration = entry.cost.duration();
    }
  }
  const auto more = [](const CostReport& a, const CostReport& b) {
    return a.advice.measured > b.advice.measured;
  };
  const auto end = reports.begin() + static_cast<std::ptrdiff_t>(std::min(most, reports.size()));
  std::partial_sort(reports.begin(), end, reports.end(), more);
  reports.erase(end, reports.end());
  std::sort(reports.begin(), reports.end(),
            [](const CostReport& a, const CostReport& b) { return a.name < b.name; });
  return reports;
}

void CostTable::restore(const std::vector<CostLine>& lines) {
  const base::LightLock lock(restored_mutex_);
  for (const CostLine& line : lines) restored_.insert_or_assign(line.key, line);
}

std::vector<CostLine> CostTable::measured_lines() const {
  std::vector<CostLine> lines;
  for (const Shard& shard : shards_) {
    const base::LightLock lock(shard.mutex);
    for (const auto& [key, entry] : shard.entries) {
      if (entry.cost.launches() > 0 && !entry.name.empty())
        lines.push_back({key, entry.cost.duration(), entry.cost.losses()});
    }
  }
  return lines;
}

void CostTable::lock() {
  for (Shard& shard : shards_) shard.mutex.lock();
  rates_mutex_.lock();
  restored_mutex_.lock();
}

void CostTable::unlock() {
  restored_mutex_.unlock();
  rates_mutex_.unlock();
  for (Shard& shard : shards_) shard.mutex.unlock();
}

}  // namespace cleave::learn
