#include "limits/live_limits.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::limits {
namespace {

struct LiveLimitsTest : testing::Test {
  kit::TemporaryFolder folder;
  std::map<std::string, std::string> variables;
  base::Configuration begun;

  base::Configuration load(const std::string& text) {
    variables["CLEAVE_CONFIG"] = folder.write("cleave.toml", text);
    return load_again();
  }
  base::Configuration load_again() const {
    return base::load([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }
  // Those of a process that begins with this file.
  LiveLimits begun_with(const std::string& text) {
    begun = load(text);
    return LiveLimits(begun);
  }
  // The next look, which is due a quarter of a second after the last one.
  static void look(LiveLimits& live) {
    static_cast<void>(live.poll());
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(260);
    std::this_thread::sleep_until(due);
  }
  // Replaces the file as editors do.
  void change(const std::string& text) const {
    const std::string made = folder.write("new", text);
    ASSERT_EQ(std::rename(made.c_str(), folder.file("cleave.toml").c_str()), 0);
  }
  void expect_seen(LiveLimits& live, const std::string& text) const {
    change(text);
    expect_change(live);
  }
  static void expect_change(LiveLimits& live) {
    EXPECT_TRUE(kit::eventually([&] { return live.poll(); }));
  }
};

TEST_F(LiveLimitsTest, AChangeOfTheFileTakesEffect) {
  LiveLimits live = begun_with("[limits]\nmemory = \"1G\"\n");
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U);
  EXPECT_EQ(live.weight(), 100U);
  expect_seen(live, "[limits]\nmemory = \"2G\"\ncap = \"30%,borrow\"\n[turns]\nweight = 300\n");
  EXPECT_EQ(live.memory(), std::uint64_t{2} << 30U);
  EXPECT_EQ(live.weight(), 300U);
  EXPECT_EQ(live.cap(), (base::Cap{300, true}));
}

TEST_F(LiveLimitsTest, ATenantsTableCounts) {
  variables["CLEAVE_TENANT"] = "alice";
  LiveLimits live = begun_with("[limits]\nmemory = \"1G\"\n");
  expect_seen(live, "[limits]\nmemory = \"2G\"\n[tenants.\"alice\"]\nmemory = \"3G\"\n");
  EXPECT_EQ(live.memory(), std::uint64_t{3} << 30U);
}

TEST_F(LiveLimitsTest, AChangeIsSeenByAProgramThatLaunchesAllTheTime) {
  LiveLimits live = begun_with("[turns]\nweight = 1\n");
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(live.poll_often());
  change("[turns]\nweight = 2\n");
  EXPECT_TRUE(kit::eventually([&] { return live.poll_often(); }));
  EXPECT_EQ(live.weight(), 2U);
}

TEST_F(LiveLimitsTest, AChangeIsSeenSoonByAProgramThatComesToLaunchRarely) {
  LiveLimits live = begun_with("[turns]\nweight = 1\n");
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(live.poll_often());
  change("[turns]\nweight = 2\n");
  int calls = 0;
  for (bool seen = false; !seen && calls < 20; ++calls) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    seen = live.poll_often();
  }
  // Seven that do not look at the clock; then it is time for a look at the file, and, three calls later, for the second.
  EXPECT_LE(calls, 7 + 1 + 3 + 1);
  EXPECT_EQ(live.weight(), 2U);
}

TEST_F(LiveLimitsTest, NothingIsLookedAtForDevNull) {
  variables["CLEAVE_CONFIG"] = "/dev/null";
  const base::Configuration configuration = load_again();
  EXPECT_FALSE(LiveLimits(configuration).may_change());
}

TEST_F(LiveLimitsTest, TheEnvironmentOfTheStartStillWins) {
  variables["CLEAVE_CAP"] = "10%";
  LiveLimits live = begun_with("[turns]\nweight = 1\n");
  expect_seen(live, "[turns]\nweight = 2\n[limits]\ncap = \"50%\"\n");
  EXPECT_EQ(live.weight(), 2U);
  EXPECT_EQ(live.cap(), (base::Cap{100, false}));
}

TEST_F(LiveLimitsTest, AFileWithAMistakeChangesNothing) {
  LiveLimits live = begun_with("[turns]\nweight = 5\n");
  change("[turns]\nweight = 7\n[limits]\ncap = \"much\"\n");
  for (int i = 0; i < 3; ++i) look(live);
  EXPECT_EQ(live.weight(), 5U);
  expect_seen(live, "[turns]\nweight = 9\n");
  EXPECT_EQ(live.weight(), 9U) << "fixed, it counts again";
}

TEST_F(LiveLimitsTest, AFileThatIsBeingRewrittenChangesNothing) {
  LiveLimits live = begun_with("[limits]\nmemory = \"1G\"\n");
  look(live);
  folder.write("cleave.toml", "");
  for (int i = 0; i < 3; ++i) look(live);
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U) << "it is empty";
  std::string text = "[turns]\n";
  for (int i = 0; i < 3; ++i) {
    folder.write("cleave.toml", text += "# more\n");
    look(live);
  }
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U) << "it has not been the same at two looks";
  folder.write("cleave.toml", "[limits]\nmemory = \"2G\"\n");
  expect_change(live);
  EXPECT_EQ(live.memory(), std::uint64_t{2} << 30U);
}

TEST_F(LiveLimitsTest, AProcessThatBeganWhileTheFileWasRewrittenGetsItsLimits) {
  const base::Configuration configuration = load("");
  folder.write("cleave.toml", "[limits]\nmemory = \"1G\"\n");
  LiveLimits live(configuration);
  EXPECT_EQ(live.memory(), 0U);
  expect_change(live);
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U);
}

TEST_F(LiveLimitsTest, TheTenantIsThatOfTheStart) {
  LiveLimits live = begun_with("[limits]\ntenant = \"alice\"\n");
  expect_seen(
      live, "[limits]\ntenant = \"bob\"\n[tenants.alice]\nmemory = \"1G\"\n[tenants.bob]\nmemory = \"2G\"\n");
  EXPECT_EQ(live.tenant(), "alice");
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U);
}

TEST_F(LiveLimitsTest, ARelativePathIsThatOfTheStart) {
  const std::filesystem::path before = std::filesystem::current_path();
  static_cast<void>(load("[turns]\nweight = 5\n"));
  std::filesystem::current_path(folder.path());
  variables["CLEAVE_CONFIG"] = "cleave.toml";
  const base::Configuration configuration = load_again();
  std::filesystem::current_path(before);
  EXPECT_EQ(configuration.settings.turns.weight, 5U);
  LiveLimits live(configuration);
  expect_seen(live, "[turns]\nweight = 7\n");
  EXPECT_EQ(live.weight(), 7U);
}

TEST_F(LiveLimitsTest, AFileThatIsGoneChangesNothing) {
  LiveLimits live = begun_with("[turns]\nweight = 5\n");
  ASSERT_EQ(std::remove(folder.file("cleave.toml").c_str()), 0);
  EXPECT_FALSE(live.poll());
  EXPECT_EQ(live.weight(), 5U);
}

TEST_F(LiveLimitsTest, WithoutAFileNothingChanges) {
  base::Configuration configuration;
  configuration.settings.turns.weight = 42;
  LiveLimits live(configuration);
  EXPECT_FALSE(live.may_change());
  EXPECT_FALSE(live.poll());
  EXPECT_EQ(live.weight(), 42U);
}

}  // namespace
}  // namespace cleave::limits
