// Where the contents of memory objects are in contexts over several servers, and what is moved when.
#include "remote/client/spread/contents.h"

#include "several.h"

namespace cleave::remote::client::spread {
namespace {

class ContentsTest : public Several {
 protected:
  ContentsTest() { end(write(0)); }

  Issued read(std::size_t part) { return issue(part, {{contents_, Access::read}}); }
  Issued write(std::size_t part) { return issue(part, {{contents_, Access::write}}); }
  Issued overwrite(std::size_t part) { return issue(part, {{contents_, Access::overwrite}}); }
  // A command there, and what is to be moved for it.
  Issued move_to(std::size_t part) {
    Issued issued = read(part);
    EXPECT_EQ(issued.needs.moves.size(), 1U);
    return issued;
  }
  [[nodiscard]] bool is_newest(std::size_t part) const { return contents_->copies[part].is_newest; }

  // Written on the first server by a command that has ended.
  std::shared_ptr<Contents> contents_ = make_contents();
};

TEST_F(ContentsTest, OfANewObjectAreEverywhere) {
  const auto made = make_contents();
  EXPECT_EQ(issue(0, {{made, Access::read}}).move(), nullptr);
  EXPECT_EQ(issue(1, {{made, Access::write}}).move(), nullptr);
}

TEST_F(ContentsTest, AreWhereTheyWereWrittenLast) {
  EXPECT_EQ(read(0).move(), nullptr);
  const Issued there = read(1);
  ASSERT_NE(there.move(), nullptr);
  EXPECT_EQ(there.move()->from, 0U);
  EXPECT_EQ(there.move()->to, 1U);
  EXPECT_TRUE(has(there.needs.steps, there.move()->done)) << "the command waits for them";
}

TEST_F(ContentsTest, ThatAreReadElsewhereAreInBothPlaces) {
  const Issued first = move_to(1);
  const Issued second = read(1);
  EXPECT_EQ(second.move(), nullptr) << "they are on their way";
  EXPECT_TRUE(has(second.needs.steps, first.move()->done));
  carry_out(*first.move());
  EXPECT_TRUE(read(1).needs.steps.empty());
  EXPECT_TRUE(read(0).needs.steps.empty());
}

TEST_F(ContentsTest, ThatAreWrittenElsewhereAreThereAlone) {
  const Issued written = write(1);
  ASSERT_NE(written.move(), nullptr) << "it may write some of them only";
  carry_out(*written.move());
  const Issued back = move_to(0);
  EXPECT_EQ(back.move()->from, 1U);
  EXPECT_TRUE(has(back.move()->needs, written.step())) << "when they have been written";
}

TEST_F(ContentsTest, ReadsOnTwoServersDoNotWaitForEachOther) {
  carry_out(*move_to(1).move());
  const Issued here = read(0);
  const Issued there = read(1);
  EXPECT_TRUE(here.needs.steps.empty());
  EXPECT_TRUE(there.needs.steps.empty());
}

TEST_F(ContentsTest, AMoveWaitsForThoseWhoWriteThemAndForAllWhoUseThePlaceWhereTheyCome) {
  const Issued reader = read(0);
  const Issued writer = write(0);
  carry_out(*move_to(1).move());
  const Issued elsewhere = read(1);
  const Issued again = write(0);
  const Issued there = move_to(1);
  EXPECT_FALSE(has(there.move()->needs, reader.step())) << "it reads what the move reads";
  EXPECT_TRUE(has(there.move()->needs, writer.step()));
  EXPECT_TRUE(has(there.move()->needs, again.step()));
  EXPECT_TRUE(has(there.move()->needs, elsewhere.step()));
}

TEST_F(ContentsTest, AMoveWaitsForNothingThatIsOver) {
  const Issued writer = write(0);
  const Issued failed = write(0);
  end(writer);
  end(failed, kFailed);
  EXPECT_TRUE(move_to(1).move()->needs.empty());
}

TEST_F(ContentsTest, AMoveToWhereTheyWereOnceWaitsForTheMoveFromThere) {
  const Issued written = write(1);
  const Issued back = move_to(0);
  EXPECT_TRUE(has(back.move()->needs, written.move()->done)) << "it reads what this one writes";
  EXPECT_TRUE(has(back.move()->givers, written.move()->done)) << "and has nothing to give if that fails";
}

TEST_F(ContentsTest, ThatAreNewAltogetherAreNotBroughtFirst) {
  EXPECT_EQ(overwrite(1).move(), nullptr);
  EXPECT_EQ(move_to(0).move()->from, 1U);
}

TEST_F(ContentsTest, ThatAreNewComeBehindOlderOnesThatAreOnTheirWay) {
  const Issued there = move_to(1);
  EXPECT_TRUE(has(overwrite(1).needs.steps, there.move()->done));
}

TEST_F(ContentsTest, ThatDidNotArriveAreNotThere) {
  const Issued there = move_to(1);
  carry_out(*there.move(), kFailed);
  EXPECT_FALSE(is_newest(1));
  EXPECT_TRUE(is_newest(0));
  EXPECT_EQ(move_to(1).move()->from, 0U);
}

TEST_F(ContentsTest, OfALostServerAloneAreLostUntilThereAreNewOnes) {
  there_[0] = false;
  EXPECT_TRUE(decide(1, make_queue(), {{contents_, Access::read}}).is_lost());
  EXPECT_TRUE(decide(1, make_queue(), {{contents_, Access::write}}).is_lost());
  EXPECT_FALSE(overwrite(1).is_lost());
  EXPECT_FALSE(read(1).is_lost());
}

TEST_F(ContentsTest, OfALostServerThatOthersHaveAreNotLost) {
  carry_out(*move_to(1).move());
  there_[0] = false;
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_FALSE(write(1).is_lost());
}

TEST_F(ContentsTest, ThatWereOnTheirWayFromALostServerAreLost) {
  const Issued written = write(1);
  there_[0] = false;
  carry_out(*written.move(), kGone);
  end(written, kFailed);
  EXPECT_TRUE(decide(1, make_queue(), {{contents_, Access::read}}).is_lost());
}

TEST_F(ContentsTest, NothingIsDecidedOnWhereOneOfSeveralObjectsIsLost) {
  const auto other = make_contents();
  end(issue(1, {{other, Access::write}}));
  there_[0] = false;
  EXPECT_TRUE(decide(1, make_queue(), {{other, Access::write}, {contents_, Access::read}}).is_lost());
  EXPECT_TRUE(other->copies[1].uses.empty() || other->copies[1].uses[0].step->is_over());
}

TEST_F(ContentsTest, TheNewestOfAQueueInOrderStandsForThoseBefore) {
  Object& queue = make_queue();
  std::vector<Issued> launches;
  for (int i = 0; i < 100; ++i) {
    launches.push_back(decide(0, queue, {{contents_, i == 0 ? Access::write : Access::read}}));
    send(launches.back());
  }
  EXPECT_LE(contents_->copies[0].uses.size(), 3U);
  const Issued there = move_to(1);
  ASSERT_EQ(there.move()->needs.size(), 1U);
  EXPECT_FALSE(has(there.move()->needs, launches[0].step())) << "one that ends later";
}

TEST_F(ContentsTest, OneThatHasNotBeenSentStandsForNoOther) {
  Object& queue = make_queue();
  Issued first = decide(0, queue, {{contents_, Access::write}});
  send(first);
  const Issued second = decide(0, queue, {{contents_, Access::write}});
  const Issued third = decide(0, queue, {{contents_, Access::write}});
  const Issued there = move_to(1);
  EXPECT_TRUE(has(there.move()->needs, first.step()));
  EXPECT_TRUE(has(there.move()->needs, second.step()));
  EXPECT_TRUE(has(there.move()->needs, third.step()));
}

TEST_F(ContentsTest, OnAQueueOutOfOrderEachStandsForItself) {
  Object& queue = make_queue();
  std::vector<Issued> launches;
  for (int i = 0; i < 100; ++i) {
    launches.push_back(decide(0, queue, {{contents_, Access::write}}, {}, false));
    send(launches.back());
  }
  const Issued there = move_to(1);
  for (const Issued& one : launches) EXPECT_TRUE(has(there.move()->needs, one.step()));
}

TEST_F(ContentsTest, UsesThatAreOverAreForgotten) {
  for (int i = 0; i < 1000; ++i) end(read(0));
  EXPECT_LE(contents_->copies[0].uses.size(), 32U);
}

// Commands that were to overwrite the contents.
using Overwriting = ContentsTest;

TEST_F(Overwriting, ThatFailsLeavesTheContentsThatWereThere) {
  end(overwrite(1), kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(move_to(1).move()->from, 0U);
}

TEST_F(Overwriting, ThatWasNeverSentLeavesTheContentsThatWereThere) {
  const Issued refused = decide(1, make_queue(), {{contents_, Access::overwrite}});
  ordering_->take_back(refused.entry);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(move_to(1).move()->from, 0U);
}

TEST_F(Overwriting, ThatHasNotEndedGivesNothingToOthersIfItFails) {
  const Issued written = overwrite(1);
  const Issued back = move_to(0);
  EXPECT_TRUE(has(back.move()->givers, written.step()));
  end(written, kFailed);
  carry_out(*back.move(), kFailed);
  EXPECT_EQ(read(0).move(), nullptr) << "the move has not touched what was there";
}

TEST_F(Overwriting, ThatEndsWellIsNotLookedBackOn) {
  end(overwrite(1));
  EXPECT_EQ(move_to(0).move()->from, 1U);
  EXPECT_TRUE(contents_->overwritings.empty());
}

TEST_F(Overwriting, OfWhatIsThereAloneNeedsNoLookBack) {
  const Issued written = overwrite(0);
  EXPECT_TRUE(contents_->overwritings.empty());
  end(written, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
}

TEST_F(Overwriting, ThatFailsWithWhatWasToBuildOnItLeavesTheContentsThatWereThere) {
  const Issued written = overwrite(1);
  const Issued changed = write(1);
  end(written, kFailed);
  end(changed, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
}

TEST_F(Overwriting, ThatOthersHaveBuiltOnLosesTheContentsIfItFails) {
  const Issued written = overwrite(1);
  const Issued changed = write(1);
  end(written, kFailed);
  end(changed);
  EXPECT_TRUE(decide(0, make_queue(), {{contents_, Access::read}}).is_lost());
  EXPECT_TRUE(decide(1, make_queue(), {{contents_, Access::read}}).is_lost());
  EXPECT_FALSE(overwrite(0).is_lost());
}

TEST_F(Overwriting, ThatFailsBehindOneThatEndsWellLeavesWhatThatHasWritten) {
  const Issued first = overwrite(1);
  const Issued second = overwrite(0);
  end(second, kFailed);
  end(first);
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_EQ(move_to(0).move()->from, 1U);
}

TEST_F(Overwriting, ThatFailsBehindOneThatFailsLeavesWhatWasThereBeforeBoth) {
  const Issued first = overwrite(1);
  const Issued second = overwrite(0);
  const Issued third = overwrite(1);
  end(first, kFailed);
  end(second, kFailed);
  end(third, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(move_to(1).move()->from, 0U);
}

TEST_F(Overwriting, ThatEndsWellBehindOneThatFailsIsWhatThereIs) {
  const Issued first = overwrite(1);
  const Issued second = overwrite(1);
  end(first, kFailed);
  end(second);
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_EQ(move_to(0).move()->from, 1U);
}

TEST_F(Overwriting, ManyTimesIsNotRememberedForEver) {
  std::vector<Issued> all;
  for (std::size_t i = 0; i < 1000; ++i) {
    all.push_back(overwrite(i % 2));
    if (i >= 2) end(all[i - 2], i % 3 == 0 ? kFailed : CL_COMPLETE);
  }
  EXPECT_LE(contents_->overwritings.size(), 4U);
}

}  // namespace
}  // namespace cleave::remote::client::spread
