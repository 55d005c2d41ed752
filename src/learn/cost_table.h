// What is known of all kernels, sizes and devices that were launched: the advice for the next launch, the
// times of those that were measured, and the words to explain it all.
//
// Not every launch can be measured. An advice that is a trial is given again until a measured time has come
// back, but not for long: then what is known without trials counts, and if that is nothing, so does the
// advice (AdviceState::unmeasured), until there is a time after all.
//
// Thread-safe: each call takes one of sixteen locks, for well under a microsecond. The first advice for a key
// allocates and may throw std::bad_alloc; so may all that returns text. Bounded: where there are too many
// keys, an arbitrary one is forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "learn/cost_file.h"
#include "learn/cost_model.h"

namespace cleave::learn {

// Stands for one kernel in one size on one device: a hash. 0: none.
using Key = std::uint64_t;

// Mixes `part` into `key`.
Key mix_key(Key key, std::uint64_t part);

enum class AdviceState : std::uint8_t {
  unmeasured,  // no launch has been measured: the number is not ours to choose
  trial,       // chosen to find something out
  settled,     // the best that is known
};

// The answer for one launch.
struct SliceAdvice {
  AdviceState state = AdviceState::unmeasured;
  std::size_t slices = 1;         // 1: whole. Meaningless if unmeasured
  double loss = 0;                // that is expected, for the policy `budget`
  base::Nanoseconds duration{0};  // of a launch; 0: not known
  std::uint64_t measured = 0;     // launches
};

// One kernel in one size, for people: with the advice that was given last.
struct CostReport {
  std::string name;  // of kernel and size
  SliceAdvice advice;
};

// "40 slices, 3.1 % lost (40.7 ms, 12 measured)", or why there is nothing of the kind.
std::string describe(const SliceAdvice& advice);

class CostTable {
 public:
  // What to do with a launch that may have up to `limit` slices, at a loss of `budget` at the most. `name` is
  // called if the key is new.
  template <typename Name>
  SliceAdvice within_budget(Key key, double budget, std::size_t limit, Name name) {
    Shard& shard = of(key);
    const std::scoped_lock lock(shard.mutex);
    return advise(entry(shard, key, name), budget, limit);
  }

  // How long a launch takes, as SliceAdvice::duration; `slices` is left to whoever asks, who reports it by set_slices().
  // For a key of which nothing is known, an estimate from launches of other sizes with that `size_family`, whose
  // durations are in proportion to their `items`.
  template <typename Name>
  SliceAdvice duration(Key key, Key size_family, double items, Name name) {
    Shard& shard = of(key);
    const double rate = this->rate(size_family);
    const std::scoped_lock lock(shard.mutex);
    return estimate(entry(shard, key, name), size_family, rate, items);
  }

  // The launch of that key could not be cut into more than `slices`.
  void limit_slices(Key key, std::size_t slices);
  // So many are wanted for the launch of which duration() was asked.
  void set_slices(Key key, std::size_t slices);

  // A launch in `slices` took `time`. Nothing happens if the key was never asked for.
  void observe(Key key, std::size_t slices, base::Nanoseconds time);

  // What was learnt, sorted by name; at most `most` of those with most launches.
  [[nodiscard]] std::vector<CostReport> reports(std::size_t most) const;

  // To begin with, and to keep. Lines are taken on trust within the bounds of CostModel::from.
  void restore(const std::vector<CostLine>& lines);
  // Those of which this process has measured something.
  [[nodiscard]] std::vector<CostLine> measured_lines() const;

  // For fork(): no other thread is inside between these two.
  void lock_all();
  void unlock_all();

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMostEntries = 256;  // in a shard
  static constexpr std::size_t kMostRates = 1024;

  struct Entry {
    std::string name;
    CostModel cost;
    std::size_t most = SIZE_MAX;  // slices that it can be cut into
    unsigned unanswered = 0;      // advice since the last measured time
    double items = 0;             // where they are of interest
    Key size_family = 0;
    // The last answer and what it was an answer to.
    SliceAdvice advice;
    std::size_t limit = 0;  // 0: there is none
    double budget = 0;      // the same for all launches of a process
    bool may_try = true;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, Entry> entries;
  };

  Shard& of(Key key) { return shards_[key >> 60U]; }

  template <typename Name>
  Entry& entry(Shard& shard, Key key, Name name) {
    const auto found = shard.entries.find(key);
    if (found != shard.entries.end()) return found->second;
    return make(shard, key, name());
  }

  Entry& make(Shard& shard, Key key, std::string name);
  static void choose(Entry& entry);
  static SliceAdvice advise(Entry& entry, double budget, std::size_t limit);
  static SliceAdvice estimate(Entry& entry, Key size_family, double rate, double items);
  [[nodiscard]] double rate(Key size_family) const;

  std::array<Shard, kShards> shards_;
  mutable std::mutex rates_mutex_;         // taken inside a shard's or alone
  std::unordered_map<Key, double> rates_;  // nanoseconds for an item, by relative
  mutable std::mutex restored_mutex_;      // taken inside a shard's
  std::unordered_map<Key, CostLine> restored_;
};

}  // namespace cleave::learn
