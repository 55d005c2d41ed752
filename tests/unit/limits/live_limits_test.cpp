#include "limits/live_limits.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::limits {
namespace {

struct LiveLimitsTest : testing::Test {
  kit::TemporaryFolder folder;
  std::map<std::string, std::string> variables;

  base::Configuration load(const std::string& text) {
    variables["CLEAVE_CONFIG"] = folder.write("cleave.toml", text);
    return base::load([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }
  // Replaces the file as editors do.
  void change(const std::string& text) const {
    const std::string made = folder.write("new", text);
    ASSERT_EQ(std::rename(made.c_str(), folder.file("cleave.toml").c_str()), 0);
  }
};

TEST_F(LiveLimitsTest, AChangeOfTheFileTakesEffect) {
  const base::Configuration configuration = load("[limits]\nmemory = \"1G\"\n");
  LiveLimits live(configuration);
  EXPECT_EQ(live.memory(), std::uint64_t{1} << 30U);
  EXPECT_EQ(live.weight(), 100U);
  change("[limits]\nmemory = \"2G\"\ncap = \"30%,borrow\"\n[turns]\nweight = 300\n");
  EXPECT_TRUE(kit::eventually([&] { return live.poll(); }));
  EXPECT_EQ(live.memory(), std::uint64_t{2} << 30U);
  EXPECT_EQ(live.weight(), 300U);
  EXPECT_EQ(live.cap(), (base::Cap{300, true}));
}

TEST_F(LiveLimitsTest, ATenantsTableCounts) {
  variables["CLEAVE_TENANT"] = "alice";
  const base::Configuration configuration = load("[limits]\nmemory = \"1G\"\n");
  LiveLimits live(configuration);
  change("[limits]\nmemory = \"2G\"\n[tenants.\"alice\"]\nmemory = \"3G\"\n");
  EXPECT_TRUE(kit::eventually([&] { return live.poll(); }));
  EXPECT_EQ(live.memory(), std::uint64_t{3} << 30U);
}

TEST_F(LiveLimitsTest, TheEnvironmentOfTheStartStillWins) {
  variables["CLEAVE_CAP"] = "10%";
  const base::Configuration configuration = load("[turns]\nweight = 1\n");
  LiveLimits live(configuration);
  change("[turns]\nweight = 2\n[limits]\ncap = \"50%\"\n");
  EXPECT_TRUE(kit::eventually([&] { return live.poll(); }));
  EXPECT_EQ(live.weight(), 2U);
  EXPECT_EQ(live.cap(), (base::Cap{100, false}));
}

TEST_F(LiveLimitsTest, AFileWithAMistakeChangesNothing) {
  const base::Configuration configuration = load("[turns]\nweight = 5\n");
  LiveLimits live(configuration);
  change("[turns]\nweight = 7\n[limits]\ncap = \"much\"\n");
  EXPECT_FALSE(live.poll());
  change("[turns]\nweight = 9\n");
  EXPECT_TRUE(kit::eventually([&] { return live.poll(); }));
  EXPECT_EQ(live.weight(), 9U) << "mended, it counts again";
}

TEST_F(LiveLimitsTest, AFileThatIsGoneChangesNothing) {
  const base::Configuration configuration = load("[turns]\nweight = 5\n");
  LiveLimits live(configuration);
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
