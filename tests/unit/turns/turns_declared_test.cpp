// Turns are taken while some participant has declared an intent.
#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct TurnsDeclaredTest : testing::Test {
  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
  TurnsDeclaredTest() { options.declared = false; }

  static bool eventually_contended(const Member& member) {
    return kit::eventually([&] { return member.turns.contended(); });
  }
  static bool eventually_free(const Member& member) {
    return kit::eventually([&] { return !member.turns.contended(); });
  }
};

TEST_F(TurnsDeclaredTest, CompanyAloneIsNoReasonForTurns) {
  Member a(options);
  Member b(options);
  Member declares(options_in(folder.path()));
  EXPECT_TRUE(eventually_contended(a)) << "so the first one has followed who is there";
  EXPECT_TRUE(eventually_contended(b));
  declares.turns.leave();
  EXPECT_TRUE(eventually_free(a));
  EXPECT_TRUE(eventually_free(b));
}

TEST_F(TurnsDeclaredTest, ASettingThatChangesDeclares) {
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

TEST_F(TurnsDeclaredTest, ANewcomersSettingsDeclare) {
  const auto with = [this](auto change) {
    Options changed = options;
    change(changed);
    return changed;
  };
  const Options all[] = {with([](Options& o) { o.declared = true; }), with([](Options& o) { o.weight = 50; }),
                         with([](Options& o) { o.priority = Priority::high; }),
                         with([](Options& o) { o.cap = 500; })};
  Member a(options);
  for (const Options& each : all) {
    EXPECT_TRUE(eventually_free(a));
    const std::uint32_t before = a.turns.periods();
    Member b(each);
    EXPECT_TRUE(b.turns.contended());
    EXPECT_TRUE(eventually_contended(a));
    EXPECT_EQ(a.turns.periods(), before + 1);
  }
}

TEST_F(TurnsDeclaredTest, ATenantWithoutLimitsDeclaresNothing) {
  Member a(options);
  options.tenant = "t";
  Member b(options);
  EXPECT_FALSE(b.turns.contended());
  b.turns.set_cap(300, true);
  EXPECT_TRUE(eventually_contended(a));
}

TEST_F(TurnsDeclaredTest, ThePartOfAWeightDeclaresNothing) {
  Member a(options);
  Member b(options);
  b.turns.set_weight(kDefaultWeight, 4);
  const Member joins_later(options);
  EXPECT_FALSE(joins_later.turns.contended());
  EXPECT_FALSE(b.turns.contended());
}

}  // namespace
}  // namespace cleave::turns
