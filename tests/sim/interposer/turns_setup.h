// For tests in which another process shares the device: it is a second participant here, in the same folder.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "interpose/drivers/device_facts.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/interposer_fixture.h"
#include "turns/turns.h"

namespace cleave {

inline base::Settings in_turns(const std::string& folder, base::TurnMode mode = base::TurnMode::on,
                               base::Settings settings = default_settings()) {
  settings.registry = folder;
  settings.turns.mode = mode;
  return settings;
}

// Nobody loses a turn for being slow: tests may be stopped for long.
inline turns::Options beside(const std::string& folder, const sim::Driver& driver) {
  return {.folder = folder,
          .identity = std::to_string(interpose::identity_of(sim::Driver::table(), driver.device())),
          .timing = {.check = 5'000'000, .lease = 600'000'000'000}};
}

// For fixtures that need it before their other bases.
struct TurnsFolder {
  kit::TemporaryFolder folder;
};

// Whether the device is in the end nobody's: no participant has anything left on it, nor holds an event of it.
inline bool is_given_back(sim::Driver& driver, turns::Turns& participant) {
  return kit::eventually([&] {
    driver.clock().sleep_for(std::chrono::seconds(1));
    const auto all = participant.snapshot();
    return std::none_of(all.begin(), all.end(), [](const auto& each) { return each.holds; });
  });
}

}  // namespace cleave
