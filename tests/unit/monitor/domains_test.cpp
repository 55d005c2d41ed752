#include "monitor/hypervisor/domains.h"

#include <gtest/gtest.h>

#include "fake_hypervisor.h"

namespace cleave::monitor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

Domains listed(std::initializer_list<unsigned> running) {
  Domains domains(0.2);
  std::vector<Uuid> uuids;
  for (const unsigned domain : running) uuids.push_back(uuid_of(domain));
  domains.begin_listing();
  domains.end_listing(uuids);
  return domains;
}

TEST(Domains, EventsUpdateTheCount) {
  Domains domains = listed({1, 2});
  domains.event(uuid_of(3), true);
  EXPECT_EQ(domains.counts().running, 3U);
  domains.event(uuid_of(1), false);
  domains.event(uuid_of(2), false);
  EXPECT_EQ(domains.counts().running, 1U);
}

TEST(Domains, DuplicateEventCountsOnce) {
  Domains domains = listed({1});
  domains.event(uuid_of(1), true);
  domains.event(uuid_of(2), true);
  domains.event(uuid_of(2), true);
  EXPECT_EQ(domains.counts().running, 2U);
  domains.event(uuid_of(2), false);
  domains.event(uuid_of(2), false);
  EXPECT_EQ(domains.counts().running, 1U);
}

TEST(Domains, ListingCorrectsLostEvents) {
  Domains domains = listed({1, 2, 3});
  domains.begin_listing();
  EXPECT_TRUE(domains.end_listing({uuid_of(3), uuid_of(4)}));
  EXPECT_EQ(domains.counts().running, 2U);
  domains.begin_listing();
  EXPECT_FALSE(domains.end_listing({uuid_of(4), uuid_of(3)}));
}

TEST(Domains, ListingOfTheSameSizeMayBeACorrection) {
  Domains domains = listed({1});
  domains.begin_listing();
  EXPECT_TRUE(domains.end_listing({uuid_of(2)}));
}

TEST(Domains, EventsDuringAListingOverrideIt) {
  Domains domains = listed({1});
  domains.begin_listing();
  domains.event(uuid_of(1), false);
  domains.event(uuid_of(2), true);
  domains.event(uuid_of(3), true);
  domains.event(uuid_of(3), false);
  EXPECT_FALSE(domains.end_listing({uuid_of(1), uuid_of(3)}));
  EXPECT_EQ(domains.counts().running, 1U);
  domains.event(uuid_of(2), false);
  EXPECT_EQ(domains.counts().running, 0U);
}

TEST(Domains, ListingOverridesEarlierEvents) {
  Domains domains = listed({});
  domains.event(uuid_of(1), true);
  domains.begin_listing();
  EXPECT_TRUE(domains.end_listing({}));
  EXPECT_EQ(domains.counts().running, 0U);
}

TEST(Domains, BusyMeansCpuUseBetweenTwoSamples) {
  Domains domains = listed({1, 2, 3});
  domains.sample({{uuid_of(1), seconds(50)}, {uuid_of(2), seconds(7)}, {uuid_of(3), seconds(0)}}, kStart);
  const TimePoint later = kStart + seconds(10);
  domains.sample(
      {{uuid_of(1), seconds(52)}, {uuid_of(2), seconds(7) + milliseconds(1999)}, {uuid_of(3), seconds(40)}},
      later);
  EXPECT_EQ(domains.counts(), (Counts{3, 2}));
}

TEST(Domains, UnmeasuredDomainCountsAsBusy) {
  Domains domains = listed({1, 2});
  EXPECT_EQ(domains.counts(), (Counts{2, 2}));
  domains.sample({{uuid_of(1), seconds(1)}}, kStart);
  EXPECT_EQ(domains.counts(), (Counts{2, 2}));
  domains.sample({{uuid_of(1), seconds(1)}}, kStart + seconds(3));
  EXPECT_EQ(domains.counts(), (Counts{2, 1}));
}

TEST(Domains, RestartedDomainIsBusyUntilMeasured) {
  Domains domains = listed({1});
  domains.sample({{uuid_of(1), seconds(9)}}, kStart);
  domains.sample({{uuid_of(1), seconds(9)}}, kStart + seconds(1));
  EXPECT_EQ(domains.counts().busy, 0U);
  domains.sample({{uuid_of(1), seconds(1)}}, kStart + seconds(20));
  EXPECT_EQ(domains.counts().busy, 1U);
  domains.event(uuid_of(1), false);
  domains.event(uuid_of(1), true);
  domains.sample({{uuid_of(1), seconds(2)}}, kStart + seconds(30));
  EXPECT_EQ(domains.counts().busy, 1U);
}

TEST(Domains, IdleStateSurvivesAListing) {
  Domains domains = listed({1});
  domains.sample({{uuid_of(1), seconds(9)}}, kStart);
  domains.sample({{uuid_of(1), seconds(9)}}, kStart + seconds(1));
  domains.begin_listing();
  domains.end_listing({uuid_of(1)});
  EXPECT_EQ(domains.counts(), (Counts{1, 0}));
}

TEST(Domains, SampleOfAStoppedDomainIsIgnored) {
  Domains domains = listed({1});
  domains.sample({{uuid_of(2), seconds(9)}}, kStart);
  EXPECT_EQ(domains.counts().running, 1U);
}

TEST(Domains, ClearForgetsAllDomains) {
  Domains domains = listed({1});
  domains.begin_listing();
  domains.event(uuid_of(2), true);
  domains.clear();
  EXPECT_EQ(domains.counts(), (Counts{0, 0}));
  domains.begin_listing();
  domains.end_listing({});
  EXPECT_EQ(domains.counts(), (Counts{0, 0}));
}

}  // namespace
}  // namespace cleave::monitor
