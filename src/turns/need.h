// Whether the participants of a device need turns now. A driver that shares a device out in time slices of its own serves programs
// that enqueue much and wait seldom as well as turns do, and without what turns cost; it does not serve those that wait for each
// of their short kernels (a time slice of everybody else before each of them), several that launch long kernels, and whoever
// should have more or less than the others. So where the driver does that, turns are taken only while somebody needs them:
//
//   - always, for its settings: a weight, a class, a cap or a tenant of its own, or because turns were asked for;
//   - for a time, for what it does: it waits for short kernels (WorkNeed), or launches what has not been measured yet;
//   - for a time, if another participant does the same: it makes long launches that can be cut finely.
//
// A need for a time lapses by itself, so that a process that is stopped or rests keeps nobody in turns.
//
// A turn begins when what others have on the device has ended. Where that takes long, since it cannot be cut, each participant shows
// how long, and a program that waits for short kernels does without turns if they cannot help it.
//
// Not thread-safe. No clock, no allocation.
#pragma once

#include <array>
#include <optional>

#include "turns/state.h"

namespace cleave::turns {

enum class Need : std::uint8_t { none, unknown, waits, long_launches };

// How long a need lasts that has just shown: what has not been measured is soon known, and a program that waits for its kernels
// may rest between its requests.
[[nodiscard]] constexpr Ns duration_of(Need need) {
  switch (need) {
    case Need::unknown:
      return 50'000'000;
    case Need::waits:
      return 5'000'000'000;
    case Need::long_launches:
      return 2'000'000'000;
    case Need::none:
      break;
  }
  return 0;
}

// Requires: need is not none, `slot` is within the array. Returns whether others have to be told, since the need had lapsed, or will
// have when they read this.
bool renew(View state, std::uint32_t slot, Need need, Ns now);

// The need of a participant that waits, and of what is unknown, lapses now. The same requirement; others have to be told.
void withdraw(View state, std::uint32_t slot, Ns now);

// For kPieceLasts, others wait for `wait`, on average, until what the participant has on the device has ended: a launch that
// cannot be cut, or slices that cannot be shorter. The same requirement of the slot.
constexpr Ns kPieceLasts = 2'000'000'000;
void show_piece(View state, std::uint32_t slot, Ns wait, Ns now);
// The longest one that others than `slot` have shown.
[[nodiscard]] Ns longest_piece_of_others(const View& state, std::uint32_t slot, Ns now);

// For kBusyLasts, the participant is one that launches. The same requirement.
constexpr Ns kBusyLasts = 300'000'000;
void show_busy(View state, std::uint32_t slot, Ns now);
// Which others than `slot` do, or wait for their turn to: a number that is different for other sets of them; 0: nobody.
[[nodiscard]] std::uint64_t busy_others(const View& state, std::uint32_t slot, Ns now);

// What a participant shows of its own: the longest one of the last kPieceLasts.
class ShownPiece {
 public:
  // Others wait for `wait`. What show_piece() is to be called with, if the others do not know.
  std::optional<Ns> note(Ns wait, Ns now);

 private:
  Ns longest_ = 0;
  Ns longest_at_ = 0;  // when there was one as long
  Ns told_at_ = -kPieceLasts;
};

// Until when turns are needed as things stand: `now` or earlier, not at all; without a time, until somebody leaves.
struct NeededUntil {
  bool always = false;
  Ns until = 0;

  [[nodiscard]] bool includes(Ns now) const { return always || until > now; }
};
[[nodiscard]] NeededUntil needed_until(const View& state);

// Not everything that is launched can be measured. So what is not known counts for a while only, and again after a time without
// anything unknown.
class UnknownNeed {
 public:
  static constexpr Ns kLongest = 5'000'000'000;
  static constexpr Ns kForgotten = 30'000'000'000;

  // Something unknown is launched. Whether that is a need.
  bool counts(Ns now);

 private:
  Ns began_ = 0;
  Ns latest_ = -kForgotten;
};

// Finds out, from a process's launches and waits, whether it needs turns because it waits for short kernels one by one. It does if
// there is little but a wait between two launches, that often, if each wait costs about as much as a time slice of the driver's, and
// if turns make it shorter. They do not where the launches of others cannot be split: a turn begins when these have ended, whereas the
// driver's time slices interrupt them. So the time from a launch to the end of its wait is measured without turns first and
// then in turns.
class WorkNeed {
 public:
  // Waits for so few launches count.
  static constexpr unsigned kMostLaunches = 2;
  // If these take less than this together.
  static constexpr Ns kPerhapsShort = 4'000'000;
  // What was measured as more than this may have been somebody's time slices, 2 ms each.
  static constexpr Ns kShortWork = 1'500'000;
  // A wait with so little between it and the next launch is a link of a chain.
  static constexpr Ns kSoon = 500'000;
  // So many links within `kPeriod` may be a need. Where turns have helped, the first launch after a rest is, and then `kLinksAgain`
  // are, if the waits without turns among these take about as long as then: the others may have changed.
  static constexpr unsigned kLinks = 16;
  static constexpr unsigned kLinksAgain = 1;
  static constexpr Ns kPeriod = 1'000'000'000;
  // If half of so many waits without turns take so much longer than their launches.
  static constexpr Ns kCostly = 1'000'000;

  // Turns help if so many waits take this share, in hundredths, of what they take without. They cannot if what others have on the
  // device takes longer than that: by the first of the waits that follow each other, which is all that waits for it.
  static constexpr unsigned kTrial = 16;
  static constexpr Ns kHelpful = 75;
  // A single wait counts as no more than so many.
  static constexpr Ns kMostOfOne = 4;
  // How long it may take until they do: at first the others still execute what they launched without turns. In waits that go on, and
  // in waits that come now and then.
  static constexpr Ns kUndecided = 3'000'000'000;
  static constexpr Ns kLongestTrial = 30'000'000'000;
  // Turns that did not help are tried again after a pause, which doubles.
  static constexpr Ns kFirstPause = 10'000'000'000;
  static constexpr Ns kMostPause = 160'000'000'000;
  // Where they help, what waits take without is measured anew after so long: the others may have changed. Of a time without launches
  // only so much counts.
  static constexpr Ns kValid = 60'000'000'000;
  static constexpr Ns kRest = 100'000'000;

  enum class Verdict : std::uint8_t {
    unchanged,
    needs_turns,    // for the usual time
    does_not_help,  // turns do not help, or cannot, so the need is to be withdrawn
  };

  // When the first wait for the launch before ended, and when the latest one did.
  struct Waits {
    Ns first = 0;
    Ns latest = 0;
  };
  // A launch that is about to be made.
  struct Launch {
    Ns expected = 0;             // how long it takes; 0: unknown
    std::optional<Waits> waits;  // empty: none since the launch before
    bool in_turns = false;       // turns are taken now
    Ns turn_waits = 0;           // for how long the process has waited for turns, ever
    Ns piece = 0;                // longest_piece_of_others()
  };
  Verdict launched(const Launch& launch, Ns now);

  // Whether the program is known to need turns, or they are being tried.
  [[nodiscard]] bool has_need() const { return has_need_; }
  // There have been launches meanwhile that it was not told of.
  void resume(Ns now);

 private:
  // From the first launch to the end of the wait.
  struct Wait {
    Ns took = 0;
    bool is_costly = false;
  };
  // Waits in turns.
  struct Trial {
    unsigned waits = 0;
    Ns took = 0;
    Ns turns = 0;  // waited for
  };
  [[nodiscard]] bool can_help(Ns piece) const;
  void try_turns(Ns now);
  void give_up(Ns now);
  Verdict unless_hopeless(Ns piece, Verdict otherwise, Ns now);
  Verdict note(const Launch& next, Ns work, Ns now);
  void note_without(Wait wait, Ns now);
  Verdict judge(Ns now);
  [[nodiscard]] bool is_costly_without() const;
  [[nodiscard]] bool shows_again() const;
  [[nodiscard]] Ns mean_of_latest() const;

  // What is waited for next.
  unsigned launches_ = 0;
  Ns first_ = 0;           // when the first of them was made
  Ns work_ = 0;            // of these
  Ns turn_waits_ = 0;      // before these
  bool in_turns_ = false;  // turns were taken then
  bool is_known_ = true;   // how long each of them takes

  // In the present period.
  Ns period_ = 0;  // when it began
  unsigned links_ = 0;
  std::array<Wait, kLinks> without_;  // turns; the latest ones
  unsigned waits_without_ = 0;

  double rests_ = 0;  // after which share of the latest waits no launch came soon

  bool has_need_ = false;
  bool has_helped_ = false;
  Ns needed_since_ = 0;
  Ns used_ = 0;  // for how long the program has launched since then
  bool resumes_ = false;
  Ns launched_at_ = 0;
  Ns undecided_since_ = 0;
  // When the need showed: the median, and the mean of waits that each count as no more than kMostOfOne medians.
  Ns wait_without_ = 0;
  Ns mean_without_ = 0;
  Trial trial_;
  Ns pauses_until_ = 0;
  Ns pause_ = kFirstPause;
  bool cannot_help_ = false;  // for the time being
};

}  // namespace cleave::turns
