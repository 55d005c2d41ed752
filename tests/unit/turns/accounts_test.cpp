#include "turns/accounts.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct AccountsTest : testing::Test {
  // A process of the tenant that has had the device for two milliseconds, and leaves.
  void use(const char* tenant) const {
    Options own = options;
    own.tenant = tenant;
    Member member(own);
    Member other(options);
    ASSERT_TRUE(member.turns.begin());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    member.turns.end();
  }

  [[nodiscard]] std::vector<std::string> tenants() const {
    std::vector<std::string> names;
    for (const TenantReport& each :
         read_report(folder.path(), SharedFile::name_for(options.identity)).tenants) {
      names.push_back(each.tenant);
    }
    return names;
  }

  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
};

TEST_F(AccountsTest, TakesWhatAJobsTenantsHaveHadAndLeavesOthersTheirs) {
  for (const char* tenant : {"job-1.0", "other", "job-1.1", "job-1.0"}) use(tenant);
  std::uint64_t processes = 0;
  std::uint64_t used = 0;
  for (const TenantReport& each : take_tenants(folder.path(), "job-1.")) {
    processes += each.processes;
    used += each.used;
  }
  EXPECT_EQ(processes, 3U);
  EXPECT_GE(used, 6'000'000U);
  EXPECT_TRUE(take_tenants(folder.path(), "job-1.").empty()) << "they are taken once";
  const std::vector<std::string> left = tenants();
  EXPECT_EQ(std::count(left.begin(), left.end(), "other"), 1);
  EXPECT_EQ(std::count(left.begin(), left.end(), "job-1.0"), 0);
}

TEST_F(AccountsTest, TakesWhatAKilledProcessHasHad) {
  options.tenant = "job-2.0";
  const auto killed = process_that_holds(options);
  ASSERT_EQ(killed->next(), 'h');
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(take_tenants(folder.path(), "job-2.").empty()) << "it lives";
  killed->kill();
  std::vector<TenantReport> taken;
  EXPECT_TRUE(kit::eventually([&] {
    taken = take_tenants(folder.path(), "job-2.");
    return !taken.empty();
  }));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].tenant, "job-2.0");
  EXPECT_GE(taken[0].turns, 1U);
  EXPECT_TRUE(take_tenants(folder.path(), "job-2.").empty());
}

TEST_F(AccountsTest, ThereIsRoomForTheNextJobs) {
  for (unsigned job = 0; job < 2 * kMaxTenants; ++job) {
    const std::string tenant = "job-" + std::to_string(job) + ".0";
    use(tenant.c_str());
    EXPECT_EQ(take_tenants(folder.path(), "job-" + std::to_string(job) + ".").size(), 1U) << job;
  }
}

TEST_F(AccountsTest, AFolderWithoutFilesHasNothing) {
  EXPECT_TRUE(take_tenants(folder.path(), "job-1.").empty());
  EXPECT_TRUE(take_tenants(folder.path() + "/nothing", "job-1.").empty());
}

}  // namespace
}  // namespace cleave::turns
