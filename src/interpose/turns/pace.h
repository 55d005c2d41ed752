// How launches are held back while other processes share the device: how much of one is a command, and how much may be in flight.
//
// Thread-safe: pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "turns/turns.h"

namespace cleave::interpose {

// While other processes share the device, launches are cut into slices of about so long at least.
inline constexpr base::Nanoseconds kTurnSlice{62'500};

// What is enqueued in so many commands or more is measured by these.
inline constexpr std::size_t kMeasuredByCommands = 4;

// What is to be enqueued: some slices of a launch, which may run alongside those before them or have to follow them, or a whole launch.
enum class Room : std::uint8_t { for_slices, for_ordered_slices, for_launch };

// A command is as many slices as take about `command`, and `in_flight` of them are on the device, or as many as take `window`
// together; of slices longer than `longest_ahead`, a second one only when the one before is about to end. Of whole launches, those that
// take `launches` together: the end of each is noticed some hundredths or tenths of a millisecond late, and the device must have
// something to do until then.
struct Pace {
  base::Nanoseconds command;
  std::size_t in_flight;
  base::Nanoseconds window;
  base::Nanoseconds launches;
  base::Nanoseconds longest_ahead = base::Nanoseconds::max();
};

// Two in flight: others wait for these when their requests begin, and with fewer the device would be idle between two.
// Longer ones cost less processor time and less device time.
inline constexpr Pace kAmongJobs{16 * kTurnSlice, 2, 4 * kTurnSlice, 16 * kTurnSlice};
inline constexpr Pace kBesideBrief{2 * kTurnSlice, 2, 4 * kTurnSlice, 4 * kTurnSlice, 4 * kTurnSlice};
inline constexpr Pace kBesideHigher{kTurnSlice, 2, 2 * kTurnSlice, 2 * kTurnSlice, 4 * kTurnSlice};

constexpr Pace pace_for(turns::Haste others) noexcept {
  switch (others) {
    case turns::Haste::higher_class:
      return kBesideHigher;
    case turns::Haste::brief:
      return kBesideBrief;
    case turns::Haste::none:
      break;
  }
  return kAmongJobs;
}

}  // namespace cleave::interpose
