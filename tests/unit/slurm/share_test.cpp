#include "slurm/share.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::slurm {
namespace {

using Environment = std::map<std::string, std::string>;

Site site_of(std::vector<std::string_view> words) {
  words.insert(words.begin(), "shards=4");
  const ParsedSite parsed = parse_site(words);
  EXPECT_EQ(parsed.problem, "");
  return parsed.site;
}

struct Granted {
  Environment variables;
  std::vector<std::string> notes;
};

Granted granted(const Site& site, unsigned shards, const Wishes& wishes = {},
                const Environment& of_user = {}) {
  const Libraries libraries{"/l/cleave/libOpenCL.so.1", "/l/cleave/libOpenCL.so", "/l/libcleave-layer.so",
                            ""};
  const auto lookup = [&](const char* name) -> std::optional<std::string> {
    const auto found = of_user.find(name);
    return found == of_user.end() ? std::nullopt : std::optional(found->second);
  };
  const StepSettings settings = settings_of(site, libraries, {"12", "0", shards, "/jobs/12"}, wishes, lookup);
  Granted result{of_user, settings.notes};
  for (const Variable& each : settings.variables) result.variables[each.name] = each.value;
  return result;
}

TEST(Share, IsInProportionToTheShards) {
  const Site site = site_of({"memory=8G", "cap=borrow"});
  Environment one = granted(site, 1).variables;
  EXPECT_EQ(one["CLEAVE_WEIGHT"], "100");
  EXPECT_EQ(one["CLEAVE_CAP"], "25.0%,borrow");
  EXPECT_EQ(one["CLEAVE_MEMORY_LIMIT"], "2147483648");
  EXPECT_EQ(one["CLEAVE_TENANT"], "slurm-12.0");
  Environment three = granted(site, 3).variables;
  EXPECT_EQ(three["CLEAVE_WEIGHT"], "300");
  EXPECT_EQ(three["CLEAVE_CAP"], "75.0%,borrow");
  EXPECT_EQ(three["CLEAVE_MEMORY_LIMIT"], "6442450944");
}

TEST(Share, AllShardsAreTheWholeDevice) {
  for (const unsigned shards : {4U, 9U}) {
    Environment whole = granted(site_of({"memory=8G", "cap=hard"}), shards).variables;
    EXPECT_EQ(whole["CLEAVE_WEIGHT"], "400");
    EXPECT_EQ(whole["CLEAVE_CAP"], "99.9%");
    EXPECT_EQ(whole["CLEAVE_MEMORY_LIMIT"], "8589934592");
  }
}

TEST(Share, WithoutACapDeviceTimeIsCountedAllTheSame) {
  EXPECT_EQ(granted(site_of({}), 1).variables["CLEAVE_CAP"], "99.9%");
  EXPECT_EQ(granted(site_of({"accounting=no"}), 1).variables["CLEAVE_CAP"], "off");
  EXPECT_EQ(granted(site_of({"cap=hard"}), 1).variables["CLEAVE_CAP"], "25.0%");
}

TEST(Share, ManyShardsStayWithinTheRangeOfWeights) {
  Site site = site_of({"cap=hard"});
  site.shards = 10'000;
  EXPECT_EQ(granted(site, 1).variables["CLEAVE_WEIGHT"], "1");
  EXPECT_EQ(granted(site, 10'000).variables["CLEAVE_WEIGHT"], "10000");
  EXPECT_EQ(granted(site, 1).variables["CLEAVE_CAP"], "0.1%");
  site.shards = 3;
  EXPECT_EQ(granted(site, 1).variables["CLEAVE_CAP"], "33.3%");
}

TEST(Share, SharesOfMemoryDoNotOverflowAndSumUpToNoMoreThanTheWhole) {
  Site site = site_of({});
  site.shards = 7;
  site.memory = (std::uint64_t{1} << 50) - 1;
  const std::uint64_t one = std::stoull(granted(site, 1).variables["CLEAVE_MEMORY_LIMIT"]);
  const std::uint64_t six = std::stoull(granted(site, 6).variables["CLEAVE_MEMORY_LIMIT"]);
  EXPECT_LE(one + six, site.memory);
  EXPECT_GE(one + six + 2, site.memory);
}

TEST(Share, WithoutShardsNothingIsSet) {
  const Granted none = granted(site_of({}), 0, {.cleave = "", .priority = "high"});
  EXPECT_TRUE(none.variables.empty());
  EXPECT_TRUE(none.notes.empty());
}

TEST(Share, TheUsersSettingsGiveWayUnlessTheSiteAllowsThem) {
  const Environment of_user{{"CLEAVE_WEIGHT", "10000"}, {"CLEAVE_DISABLE", "true"}, {"CLEAVE_TENANT", ""}};
  Environment forced = granted(site_of({}), 1, {}, of_user).variables;
  EXPECT_EQ(forced["CLEAVE_WEIGHT"], "100");
  EXPECT_EQ(forced["CLEAVE_DISABLE"], "false");
  Environment kept = granted(site_of({"override=yes"}), 1, {}, of_user).variables;
  EXPECT_EQ(kept["CLEAVE_WEIGHT"], "10000");
  EXPECT_EQ(kept["CLEAVE_DISABLE"], "true");
  EXPECT_EQ(kept["CLEAVE_TENANT"], "slurm-12.0");
}

TEST(Share, StatisticsForTheEpilogGiveWayToAFileOfTheUsers) {
  const auto stats = [](const char* of_user) {
    return granted(site_of({}), 1, {}, {{"CLEAVE_STATS", of_user}}).variables["CLEAVE_STATS"];
  };
  EXPECT_EQ(stats(""), "/jobs/12/%p.json");
  EXPECT_EQ(stats("explain"), "explain,/jobs/12/%p.json");
  EXPECT_EQ(stats("/own.json"), "/own.json");
}

TEST(Share, SwitchedOffOnlyWhereTheSiteAllowsIt) {
  const Granted refused = granted(site_of({}), 1, {.cleave = "off", .priority = ""});
  EXPECT_FALSE(refused.variables.empty());
  ASSERT_EQ(refused.notes.size(), 1U);
  EXPECT_EQ(refused.notes[0], "--cleave=off is not allowed by this site, and is ignored");
  const Granted off = granted(site_of({"off=yes"}), 1, {.cleave = "off", .priority = ""});
  EXPECT_TRUE(off.variables.empty());
  EXPECT_TRUE(off.notes.empty());
}

TEST(Share, APriorityIsNoHigherThanTheSiteAllows) {
  const auto priority = [](const char* highest, const char* wanted) {
    Granted result = granted(site_of({highest}), 1, {.cleave = "", .priority = wanted});
    return result.variables["CLEAVE_PRIORITY"] + (result.notes.empty() ? "" : " noted");
  };
  EXPECT_EQ(priority("priority=normal", ""), "normal");
  EXPECT_EQ(priority("priority=normal", "background"), "background");
  EXPECT_EQ(priority("priority=normal", "high"), "normal noted");
  EXPECT_EQ(priority("priority=high", "high"), "high");
  EXPECT_EQ(priority("priority=high", ""), "normal");
  EXPECT_EQ(priority("priority=background", ""), "background");
  EXPECT_EQ(priority("priority=normal", "idle"), "idle");
  EXPECT_EQ(priority("priority=idle", "background"), "idle noted");
  EXPECT_EQ(priority("priority=high", "urgent"), "normal noted");
}

TEST(Share, LibrariesComeBeforeTheUsers) {
  const Environment of_user{{"LD_PRELOAD", "/u/a.so"}, {"OPENCL_LAYERS", "/u/layer.so"}};
  Environment both = granted(site_of({}), 1, {}, of_user).variables;
  EXPECT_EQ(both["LD_PRELOAD"], "/l/cleave/libOpenCL.so.1:/l/cleave/libOpenCL.so:/u/a.so");
  EXPECT_EQ(both["LD_LIBRARY_PATH"], "/l/cleave");
  EXPECT_EQ(both["OPENCL_LAYERS"], "/l/libcleave-layer.so:/u/layer.so");
  Environment registered = granted(site_of({"face=registered"}), 1, {}, of_user).variables;
  EXPECT_EQ(registered["LD_PRELOAD"], "/u/a.so");
  EXPECT_EQ(registered["CLEAVE_WEIGHT"], "100");
}

void touch(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file).put('\n');
}

TEST(Libraries, AreFoundAsTheyAreBuiltAndAsDistributionsInstallThem) {
  const kit::TemporaryFolder folder;
  const std::filesystem::path lib = folder.path();
  EXPECT_NE(find_libraries(lib).problem.find("is missing"), std::string::npos);
  touch(lib / "cleave/libOpenCL.so.1");
  touch(lib / "cleave/libOpenCL.so");
  touch(lib / "libcleave-layer.so");
  EXPECT_EQ(find_libraries(lib).problem, "");
  EXPECT_EQ(find_libraries(lib).layer, lib / "libcleave-layer.so");
  touch(lib / "cleave/libcleave-layer.so");
  for (const auto& each : {lib, lib / "cleave"}) {
    EXPECT_EQ(find_libraries(each).layer, lib / "cleave/libcleave-layer.so");
    EXPECT_EQ(find_libraries(each).drop_in, lib / "cleave/libOpenCL.so.1");
  }
}

}  // namespace
}  // namespace cleave::slurm
