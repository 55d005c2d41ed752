// Participants that take turns only while somebody needs them.
#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct TurnsNeedTest : testing::Test {
  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
  TurnsNeedTest() { options.only_if_needed = true; }

  static bool eventually_contended(const Member& member) {
    return kit::eventually([&] { return member.turns.contended(); });
  }
  static bool eventually_free(const Member& member) {
    return kit::eventually([&] { return !member.turns.contended(); });
  }
};

TEST_F(TurnsNeedTest, CompanyAloneIsNoReasonForTurns) {
  Member a(options);
  EXPECT_FALSE(a.turns.has_company());
  Member b(options);
  EXPECT_TRUE(b.turns.has_company());
  EXPECT_TRUE(kit::eventually([&] { return a.turns.has_company(); }));
  EXPECT_FALSE(a.turns.contended());
  EXPECT_FALSE(b.turns.contended());
}

TEST_F(TurnsNeedTest, ANeedHoldsForAllAndLapses) {
  Member a(options);
  Member b(options);
  b.turns.need(Need::unknown);
  EXPECT_TRUE(eventually_free(b));
  EXPECT_TRUE(eventually_free(a));
  // Renewed until the other one has seen it, however late that is.
  EXPECT_TRUE(kit::eventually([&] {
    b.turns.need(Need::unknown);
    return a.turns.contended();
  }));
  EXPECT_TRUE(eventually_free(a));
}

TEST_F(TurnsNeedTest, ANeedThatIsWithdrawnHoldsForNobody) {
  Member a(options);
  Member b(options);
  EXPECT_TRUE(kit::eventually([&] {
    b.turns.need(Need::waits);
    return a.turns.contended();
  }));
  b.turns.withdraw_need();
  EXPECT_TRUE(eventually_free(b));
  EXPECT_TRUE(eventually_free(a));
  EXPECT_TRUE(kit::eventually([&] {
    b.turns.need(Need::waits);
    return a.turns.contended();
  })) << "it may show again";
}

TEST_F(TurnsNeedTest, OneThatMakesLongLaunchesNeedsAnotherOne) {
  Member a(options);
  Member b(options);
  a.turns.need(Need::long_launches);
  EXPECT_FALSE(a.turns.contended());
  EXPECT_TRUE(kit::eventually([&] {
    a.turns.need(Need::long_launches);
    b.turns.need(Need::long_launches);
    return a.turns.contended() && b.turns.contended();
  }));
}

TEST_F(TurnsNeedTest, SettingsAreANeed) {
  Member a(options);
  Member b(options);
  ASSERT_FALSE(b.turns.contended());
  b.turns.set_weight(2 * kDefaultWeight);
  EXPECT_TRUE(eventually_contended(a));
  EXPECT_TRUE(eventually_contended(b));
  b.turns.set_weight(kDefaultWeight);
  EXPECT_TRUE(eventually_contended(a)) << "it had less or more than others until now";
  b.turns.leave();
  EXPECT_TRUE(eventually_free(a));
}

TEST_F(TurnsNeedTest, ANewcomersSettingsAreANeed) {
  const auto with = [this](auto change) {
    Options changed = options;
    change(changed);
    return changed;
  };
  const Options all[] = {with([](Options& o) { o.only_if_needed = false; }),
                         with([](Options& o) { o.weight = 50; }),
                         with([](Options& o) { o.priority = Priority::high; }),
                         with([](Options& o) { o.tenant = "t"; }), with([](Options& o) { o.cap = 500; })};
  Member a(options);
  for (const Options& each : all) {
    EXPECT_TRUE(eventually_free(a));
    Member b(each);
    EXPECT_TRUE(b.turns.contended());
    EXPECT_TRUE(eventually_contended(a));
  }
}

TEST_F(TurnsNeedTest, ACapThatAppearsIsANeed) {
  Member a(options);
  Member b(options);
  b.turns.set_cap(300, true);
  EXPECT_TRUE(eventually_contended(a));
}

TEST_F(TurnsNeedTest, ThePartOfAWeightIsNoNeed) {
  Member a(options);
  Member b(options);
  b.turns.set_weight(kDefaultWeight, 4);
  a.turns.need(Need::unknown);  // after what b would have said
  EXPECT_TRUE(eventually_free(b));
  EXPECT_TRUE(eventually_free(a));
}

TEST_F(TurnsNeedTest, WhoShowsANeedKnowsAtOnce) {
  Member a(options);
  Member b(options);
  EXPECT_TRUE(b.turns.need(Need::waits));
  EXPECT_FALSE(Member(options_in(folder.path() + "/other")).turns.need(Need::waits)) << "alone there";
}

TEST_F(TurnsNeedTest, WhoIsAloneHasNobodyToTell) {
  Member a(options);
  a.turns.need(Need::waits);
  EXPECT_FALSE(a.turns.contended());
}

}  // namespace
}  // namespace cleave::turns
