// The measured costs of all kernels, sizes and devices: advice for the next launch, times of measured ones, and
// descriptions for users.
//
// Not every launch can be measured. Advice that is a trial is repeated until a measured time arrives, but only a few
// times: then the answer is what is known without trials, or AdviceState::unmeasured if that is nothing, until a time
// arrives after all.
//
// Thread-safe: each call takes one of sixteen locks, for well under a microsecond. The first advice for a key
// allocates and may throw std::bad_alloc, as may everything that returns text. Bounded: beyond a limit an arbitrary
// key is forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/threads/fork_locks.h"
#include "base/threads/light_mutex.h"
#include "learn/cost_file.h"
#include "learn/cost_model.h"

namespace cleave::learn {

// Identifies one kernel in one size on one device: a hash. 0: none.
using Key = std::uint64_t;

// Mixes `part` into `key`.
inline Key mix_key(Key key, std::uint64_t part) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15U + part;  // splitmix64
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  return x != 0 ? x : 1;
}

enum class AdviceState : std::uint8_t {
  unmeasured,  // no launch has been measured: the caller chooses the number
  trial,       // an experiment
  settled,     // the best known number
};

// The answer for one launch.
struct SliceAdvice {
  AdviceState state = AdviceState::unmeasured;
  std::size_t slices = 1;         // 1: unsplit. Meaningless if unmeasured
  double loss = 0;                // expected, for the policy `budget`
  base::Nanoseconds duration{0};  // of a launch; 0: unknown
  std::uint64_t measured = 0;     // launches
};

// The state of one kernel in one size, for users: with the latest advice.
struct CostReport {
  std::string name;  // of the kernel, with the size
  SliceAdvice advice;
};

// "40 slices, 3.1 % lost (40.7 ms, 12 measured)", or why there is no such answer.
std::string describe(const SliceAdvice& advice);

class CostTable {
 public:
  CostTable() = default;
  explicit CostTable(base::ForkLocks& forks) { forks.add(base::ForkOrder::costs, *this); }

  // What to do with a launch of up to `limit` slices and a loss of at most `budget`. `name` is called if the key is
  // new; one without a name is for this process alone, and is neither reported nor saved.
  template <typename Name>
  SliceAdvice within_budget(Key key, double budget, std::size_t limit, Search search, Name name) {
    Shard& shard = of(key);
    const base::LightLock lock(shard.mutex);
    return advise(entry(shard, key, name), budget, limit, search);
  }

  // How long a launch takes: SliceAdvice::duration. The caller chooses the number of slices and reports it by
  // set_slices(). For an unmeasured key the duration is estimated from launches of other sizes with that
  // `size_family`, whose durations are proportional to their `items`.
  template <typename Name>
  SliceAdvice duration(Key key, Key size_family, double items, Name name) {
    Shard& shard = of(key);
    const base::LightLock lock(shard.mutex);
    return estimate(entry(shard, key, name), size_family, items);
  }

  // How long a launch takes (CostModel::duration), from an earlier run if this one has not requested advice yet; 0 if
  // that is not known.
  [[nodiscard]] base::Nanoseconds known_duration(Key key);

  // The launch of that key could not be cut into more than `slices`.
  void limit_slices(Key key, std::size_t slices);
  // The number that the caller has chosen after duration().
  void set_slices(Key key, std::size_t slices);

  // A launch in `slices` took `time`. Ignored if the key is unknown.
  void observe(Key key, std::size_t slices, base::Nanoseconds time);

  // One report per name, sorted: the `most` with most launches.
  [[nodiscard]] std::vector<CostReport> reports(std::size_t most) const;

  // Starts from the lines of an earlier run. They are trusted within the bounds of CostModel::from.
  void restore(const std::vector<CostLine>& lines);
  // Lines for all names of which this process has measured something.
  [[nodiscard]] std::vector<CostLine> measured_lines() const;

  // For fork(): all locks, which the analysis cannot follow.
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS;
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS;

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMaxEntries = 256;  // in a shard
  static constexpr std::size_t kMaxRates = 1024;

  struct Entry {
    std::string name;
    CostModel cost;
    std::size_t most = SIZE_MAX;  // slices that it can be cut into
    unsigned unanswered = 0;      // advice since the last measured time
    double items = 0;             // for duration() only
    Key size_family = 0;
    // The latest answer and its arguments.
    SliceAdvice advice;
    std::size_t limit = 0;  // 0: none yet
    double budget = 0;      // the same for all launches of a process
    Search search = Search::none;
  };
  struct alignas(64) Shard {
    mutable base::LightMutex mutex;
    std::unordered_map<Key, Entry> entries CLEAVE_GUARDED_BY(mutex);
  };

  Shard& of(Key key) { return shards_[key >> 60U]; }

  template <typename Name>
  Entry& entry(Shard& shard, Key key, Name name) CLEAVE_REQUIRES(shard.mutex) {
    const auto found = shard.entries.find(key);
    if (found != shard.entries.end()) return found->second;
    return make(shard, key, name());
  }

  Entry& make(Shard& shard, Key key, std::string name) CLEAVE_REQUIRES(shard.mutex);
  static void choose(Entry& entry);
  static SliceAdvice advise(Entry& entry, double budget, std::size_t limit, Search search);
  SliceAdvice estimate(Entry& entry, Key size_family, double items) const;
  [[nodiscard]] double rate(Key size_family) const;

  std::array<Shard, kShards> shards_;
  // Both are taken alone or while a shard's mutex is held.
  mutable base::LightMutex rates_mutex_;
  std::unordered_map<Key, double> rates_
      CLEAVE_GUARDED_BY(rates_mutex_);  // nanoseconds per item, by size family
  mutable base::LightMutex restored_mutex_;
  std::unordered_map<Key, CostLine> restored_ CLEAVE_GUARDED_BY(restored_mutex_);
};

}  // namespace cleave::learn
