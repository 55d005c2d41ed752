#include "slurm/site.h"

#include <gtest/gtest.h>

namespace cleave::slurm {
namespace {

std::string problem(const std::vector<std::string_view>& words) { return parse_site(words).problem; }

TEST(Site, ShardsAreAllThatIsNeeded) {
  const ParsedSite parsed = parse_site({"shards=4"});
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.site.shards, 4U);
  EXPECT_EQ(parsed.site.memory, 0U);
  EXPECT_EQ(parsed.site.cap, Site::Cap::off);
  EXPECT_EQ(parsed.site.highest, Priority::normal);
  EXPECT_FALSE(parsed.site.user_may_override);
  EXPECT_FALSE(parsed.site.user_may_switch_off);
}

TEST(Site, EveryWordIsTaken) {
  const Site site = parse_site({"shards=16", "memory=80G", "cap=hard", "face=registered", "turns=on",
                                "override=yes", "off=yes", "priority=high", "accounting=no",
                                "registry=/run/turns", "libraries=/opt/lib", "jobs=/run/jobs"})
                        .site;
  EXPECT_EQ(site.shards, 16U);
  EXPECT_EQ(site.memory, std::uint64_t{80} << 30);
  EXPECT_EQ(site.cap, Site::Cap::hard);
  EXPECT_EQ(site.face, Site::Face::registered);
  EXPECT_TRUE(site.turns_everywhere && site.user_may_override && site.user_may_switch_off);
  EXPECT_EQ(site.highest, Priority::high);
  EXPECT_FALSE(site.accounting);
  EXPECT_EQ(site.registry + site.libraries + site.jobs, "/run/turns/opt/lib/run/jobs");
}

TEST(Site, AProblemNamesTheWordAndWhatIsExpected) {
  EXPECT_EQ(problem({}), "shards= is missing: expected the number of shards of one GPU");
  EXPECT_EQ(problem({"shards=x"}), "shards=x: expected the number of shards of one GPU, from 1 to 10000");
  EXPECT_EQ(problem({"shards=4", "cap=30%"}), "cap=30%: expected borrow, hard or off");
  EXPECT_EQ(problem({"shards=4", "memory"}), "memory: expected the bytes of one GPU's memory, such as 80G");
  EXPECT_EQ(problem({"shards=4", "jobs=run"}), "jobs=run: expected an absolute path");
  EXPECT_TRUE(problem({"shard=4"}).starts_with("shard=4: expected one of shards, memory, cap, "));
}

TEST(Site, NumbersOutOfRangeAreRefused) {
  for (const char* word : {"shards=0", "shards=-1", "shards=10001", "shards=", "memory=0",
                           "memory=99999999999999999999G", "memory=G", "memory=2000000000G"}) {
    EXPECT_NE(problem({"shards=4", word}), "") << word;
  }
}

}  // namespace
}  // namespace cleave::slurm
