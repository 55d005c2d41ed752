// For tests in which another process shares the device: it is a second participant here, in the same folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <utility>

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

// The other one is `other`.
class TurnTest : public testing::Test, public TurnsFolder, public InterposerFixture {
 protected:
  explicit TurnTest(base::TurnMode mode = base::TurnMode::on, sim::Options options = {},
                    base::Settings settings = default_settings())
      : InterposerFixture(in_turns(folder.path(), mode, std::move(settings)), std::move(options)),
        other(forks, beside(folder.path(), driver)) {
    // Long, so that it is worth being cut.
    driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(1'000) * static_cast<int>(launch.global[0]);
    });
  }

  void share() {
    std::string problem;
    ASSERT_TRUE(other.enter(problem)) << problem;
  }

  void expect_somebody_waits() {
    EXPECT_TRUE(kit::eventually([&] {
      static_cast<void>(other.should_yield());  // a heartbeat, if it holds the device
      const auto all = other.snapshot();
      return std::any_of(all.begin(), all.end(), [](const auto& each) { return each.waits; });
    }));
  }

  // Lets the grace of this process end, in which it keeps the device; it begins when somebody has noticed that nothing is
  // left to do.
  void expect_device_is_given_back() { EXPECT_TRUE(is_given_back(driver, other)); }

  // After five slices of "add" the other process begins to wait for the device, does that when it has it, and gives it back.
  void interrupt(const std::function<void()>& action) {
    driver.kernel("add", [this, action](sim::Execution& e) {
      sim::add_to_elements(e);
      if (++slices_run != 5) return;
      neighbour = std::jthread([this, action] {
        EXPECT_TRUE(other.begin());
        action();
        other.end();
      });
      expect_somebody_waits();
    });
  }

  base::ForkLocks forks;
  turns::Turns other;
  std::atomic<std::size_t> slices_run{0};  // of a kernel that is interrupted
  std::jthread neighbour;                  // which does it
  const cl_kernel kernel = make_kernel();
};

inline observe::TurnFigures turn_figures() {
  const observe::TurnsSummary report = interpose::interposer().turns.report();
  return report.devices.empty() ? observe::TurnFigures() : report.devices.front();
}

}  // namespace cleave
