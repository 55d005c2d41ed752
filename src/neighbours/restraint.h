// How much a job is restrained so that the pressure on its host's processors (docs/monitor.md) stays below a target at
// the least cost to the job: the control loop behind the policy `pressure`.
//
// Restraint is a level. 0: the driver's own waits, launches unsplit. 1: sleeping waits, which free a processor and cost the
// job next to nothing. From 2 on: also slices, 2 of them and then twice as many with each level; with kMaxRestraint as many as
// the budget pays for and the launch is long enough for (slices_at). So the job's cost grows with the level, and a level's number
// of slices does not depend on what is known of their cost. The loop assumes that pressure does not grow with the level, and that a
// level's effect shows within kSettle of its use.
//
// The rules, for a pressure p and a target T:
//
//     raise   if p > T, also if it stays the same, and kSettle has passed since the last raise came into force: by 1 level,
//             and one more for each doubling from T to p, up to kMaxStep. A probe that fails (below) returns
//             at once to the level that it came from.
//     lower   by 1, as a probe, if p < kRelease × T for the whole pause of the level below.
//     hold    otherwise.
//     rest    if p > T and a climb has gained nothing: p is not lower by kGain for each level than at the first level of this climb.
//             That is judged at kMaxRestraint, and in the first climb as soon as such a difference would show in what is sent.
//             If the climb began with slices, level 1 is tried first for kSettle; if p is then not higher by kGain, the rest is
//             there, else at the climb's first level. The next raise comes after the rest, or when p exceeds kOtherLoad times its
//             value at that level. If the level from which kMaxRestraint was reached is unknown, or p exceeds kOtherLoad times its
//             value when kMaxRestraint had gained something, kMaxRestraint is compared with level 1 in the same way, and again after
//             each rest, which then lasts at least kRecheckRest times as long as the comparison.
//
// A probe fails if p exceeds T within kProbation of its use; then the pause of its level doubles, up to kMaxPause. It is
// kFirstPause again when a probe of the level succeeds, or when p has fallen to less than half of what it was before the probe:
// the load has changed. A rest lasts kFirstRest, and then twice as long each time, up to kMaxPause, until p has been
// within the target or the load has changed.
//
// A level is in force once a launch or a wait has used it (used()); the launch that runs until then was decided earlier. So
// kSettle, kProbation and the pauses count from then on, and until then there is neither another raise nor another probe: the
// pressure does not belong to the level yet. The first raise is immediate.
//
// Why it is stable. Pressure is published smoothed, and 95 % of a step has arrived after three seconds (kSettle). A level is
// changed no sooner than that after it came into force, so each decision sees the pressure that belongs to it, however long
// launches take, and the loop is a search along a curve that does not rise, whatever its slope; there is no loop gain that could
// be too high. Under a constant load:
//   - The target is met after at most kMaxRestraint × (kSettle + a launch), if a level meets it at all, and at most
//     kMaxStep − 1 levels too high.
//   - If one does, the loop then goes down to the first level whose pressure is kRelease × T or more and stays there; or to the lowest
//     level that meets the target, and now and then tries the one below, where the pressure exceeds T. So it moves within a band
//     of one level.
//   - If no level meets it, and raising gains nothing, the loop stays at level 1, or at the first level of its climb
//     (kMaxStep at most if it began without restraint, one more if with 1) if that level's slices gain something. It
//     climbs to kMaxRestraint and back after each rest: in the end for kMaxRestraint × (kSettle + a launch) in
//     kMaxPause, and for less where p is far above T. The two pressures are compared within kFresh, during which the
//     load is assumed to be constant; if launches take so long that a climb takes longer, the loop stays at
//     kMaxRestraint.
//   - Of the probes there are at most log2(kMaxPause / kFirstPause) + 1 at shorter intervals. From then on the pressure
//     exceeds the target for less than kProbation and a launch in kMaxPause: 3 % of the time where launches are short. It is
//     less than kSettle if the excess is large enough to be sent.
// Several jobs on one host see the same pressure and raise together; their pauses differ by up to a half, so that they do not
// lower together. The target is met as exactly as the pressure is published: in steps of a twentieth, and of five thousandths
// at least. Noise of less than (1 − kRelease) / (1 + kRelease), 18 %, moves no level whose pressure is clear of the two bounds.
// Where a program enqueues several launches before it waits, they take effect later than they are decided: with more than
// kSettle of work ahead the band is wider than one level.
//
// While the pressure is unknown, the neighbours may need the restraint, so it is kMaxRestraint. If the pressure was known before,
// the level is held for kHold first, so that gaps change nothing. If it was not, it may become known soon: until kHold has
// passed the restraint is kFirstSlicing, which gives the neighbours most of the possible gain at little cost. Then the loop begins
// without restraint, or with 1 if the pressure is within the target but not below kRelease × T: waits that spin would exceed it.
// When it is known again, the loop continues at the earlier level. A probe during which it is unknown neither fails nor
// succeeds.
//
// Not thread-safe. Nothing here reads a clock: times are arguments and do not decrease.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace cleave::neighbours {

inline constexpr unsigned kFirstSlicing = 2;  // the lowest level with slices
inline constexpr unsigned kMaxRestraint = 7;

// The number of slices at that restraint if the budget pays for `most` >= 1: 1 up to restraint 1, `most` at kMaxRestraint,
// between them 2, 4, 8 and so on, up to `most`.
std::size_t slices_at(unsigned restraint, std::size_t most);

class RestraintControl {
 public:
  static constexpr base::Nanoseconds kSettle = std::chrono::seconds(3);
  static constexpr base::Nanoseconds kProbation = 2 * kSettle;
  static constexpr base::Nanoseconds kFirstPause = std::chrono::seconds(6);
  static constexpr base::Nanoseconds kMaxPause = 32 * kFirstPause;
  static constexpr double kRelease = 0.6;
  static constexpr unsigned kMaxStep = 3;
  static constexpr base::Nanoseconds kHold = 2 * kSettle;
  static constexpr base::Nanoseconds kFirstRest = 4 * kFirstPause;
  static constexpr int kRecheckRest = 32;     // as a multiple of the time at level 1
  static constexpr double kGain = 0.03;       // as a share of the pressure
  static constexpr double kOtherLoad = 1.25;  // as a multiple of it
  static constexpr base::Nanoseconds kFresh = 40 * kSettle;

  // `target` > 0, from 0 to 1 like the pressure. `seed` differs between processes.
  RestraintControl(double target, std::uint64_t seed);

  // The pressure that holds at `now`; empty if it is not known. To be called when it changes, and at next_update().
  void update(std::optional<double> pressure, base::Nanoseconds now);

  // A launch or a wait was decided by restraint() at that time, for the first time since it changed. Later ones change
  // nothing.
  void used(base::Nanoseconds at);

  // What holds for the next launch.
  [[nodiscard]] unsigned restraint() const {
    return known_ ? level_ : awaited_ ? kFirstSlicing : kMaxRestraint;
  }

  // When a rule may apply without a change of the pressure or a use of the restraint.
  [[nodiscard]] base::Nanoseconds next_update() const { return next_; }

 private:
  void decide(std::optional<double> pressure, base::Nanoseconds now);
  void hold(base::Nanoseconds now);
  void raise(double pressure, base::Nanoseconds now);
  void step_up(unsigned levels, base::Nanoseconds now);
  void lower(double pressure, base::Nanoseconds now);
  void judge_probe(base::Nanoseconds now);
  [[nodiscard]] bool is_in_vain(double pressure, base::Nanoseconds now) const;
  void recheck_top(double pressure, base::Nanoseconds now);
  void give_up(base::Nanoseconds now);
  void judge_without_slices(double pressure, base::Nanoseconds now);
  void rest_at(unsigned level, double pressure, base::Nanoseconds now,
               base::Nanoseconds least = base::Nanoseconds(0));
  [[nodiscard]] bool is_resting(double pressure, base::Nanoseconds now);
  void forget_climb();
  void forget_bottom();
  [[nodiscard]] base::Nanoseconds pause_of(unsigned level) const;

  const double target_;
  const double spread_;   // of the pauses: from 1 to 1.5
  bool begun_ = false;    // it was known once
  bool known_ = false;    // or was so kHold ago at most
  bool awaited_ = false;  // it was never known, and has been requested for less than kHold
  std::optional<base::Nanoseconds> unknown_since_;  // if it is not known
  unsigned level_ = 0;
  bool raised_ = false;                         // the last change, other than into silence and out of it
  bool probed_ = false;                         // the level is a probe
  std::optional<base::Nanoseconds> used_;       // since when the restraint is in force
  std::optional<base::Nanoseconds> low_since_;  // since when p < kRelease × T at this level
  double before_probe_ = 0;                     // the pressure before the last probe
  std::array<base::Nanoseconds, kMaxRestraint> pauses_;  // before each level is entered from above
  bool new_load_ = true;                                 // so that the pressure may not have settled yet
  // Where this climb was first raised from a level in force, with a pressure that had settled: its level (0: nowhere), the pressure
  // then, and when that was.
  struct Bottom {
    unsigned level = 0;
    double pressure = 0;
    base::Nanoseconds at{0};
  };
  Bottom bottom_;
  double top_pressure_ = 0;   // with which kMaxRestraint was reached, if that gained something; 0: not known
  bool compared_ = false;     // the level is 1 only to see whether the slices of the bottom gain anything
  double rest_pressure_ = 0;  // of the level to which a failed climb returned; 0: there was none
  base::Nanoseconds rest_end_{0};
  base::Nanoseconds rest_ = kFirstRest;  // the next
  base::Nanoseconds next_ = base::Nanoseconds::max();
};

}  // namespace cleave::neighbours
