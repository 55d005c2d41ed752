// Where the contents of memory objects are in contexts over several servers, and what is moved when.
#include "remote/client/multi_server/coherence.h"

#include "command_order_fixture.h"

namespace cleave::remote::client::multi_server {
namespace {

class CoherenceTest : public OrderingFixture {
 protected:
  CoherenceTest() { end(write(0)); }

  TestCommand read(std::size_t shard) { return issue(shard, {{coherence_, Access::read}}); }
  TestCommand write(std::size_t shard) { return issue(shard, {{coherence_, Access::write}}); }
  TestCommand overwrite(std::size_t shard) { return issue(shard, {{coherence_, Access::overwrite}}); }
  // A command there, and what is to be moved for it.
  TestCommand migrate_to(std::size_t shard) {
    TestCommand issued = read(shard);
    EXPECT_EQ(issued.dependencies.migrations.size(), 1U);
    return issued;
  }
  [[nodiscard]] bool is_current(std::size_t shard) const { return coherence_->replicas[shard].is_current; }

  // Written on the first server by a command that has ended.
  std::shared_ptr<CoherenceState> coherence_ = make_coherence();
};

TEST_F(CoherenceTest, NewObjectIsValidEverywhere) {
  const auto made = make_coherence();
  EXPECT_EQ(issue(0, {{made, Access::read}}).move(), nullptr);
  EXPECT_EQ(issue(1, {{made, Access::write}}).move(), nullptr);
}

TEST_F(CoherenceTest, LastWriterHoldsTheContents) {
  EXPECT_EQ(read(0).move(), nullptr);
  const TestCommand there = read(1);
  ASSERT_NE(there.move(), nullptr);
  EXPECT_EQ(there.move()->from, 0U);
  EXPECT_EQ(there.move()->to, 1U);
  EXPECT_TRUE(contains(there.dependencies.operations, there.move()->done)) << "the command waits for them";
}

TEST_F(CoherenceTest, RemoteReadCopiesTheContents) {
  const TestCommand first = migrate_to(1);
  const TestCommand second = read(1);
  EXPECT_EQ(second.move(), nullptr) << "they are on their way";
  EXPECT_TRUE(contains(second.dependencies.operations, first.move()->done));
  carry_out(*first.move());
  EXPECT_TRUE(read(1).dependencies.operations.empty());
  EXPECT_TRUE(read(0).dependencies.operations.empty());
}

TEST_F(CoherenceTest, RemoteWriteInvalidatesOtherCopies) {
  const TestCommand written = write(1);
  ASSERT_NE(written.move(), nullptr) << "it may write some of them only";
  carry_out(*written.move());
  const TestCommand back = migrate_to(0);
  EXPECT_EQ(back.move()->from, 1U);
  EXPECT_TRUE(contains(back.move()->dependencies, written.operation())) << "when they have been written";
}

TEST_F(CoherenceTest, ReadsOnTwoServersAreIndependent) {
  carry_out(*migrate_to(1).move());
  const TestCommand here = read(0);
  const TestCommand there = read(1);
  EXPECT_TRUE(here.dependencies.operations.empty());
  EXPECT_TRUE(there.dependencies.operations.empty());
}

TEST_F(CoherenceTest, MoveWaitsForWritersAndForUsersOfItsTarget) {
  const TestCommand reader = read(0);
  const TestCommand writer = write(0);
  carry_out(*migrate_to(1).move());
  const TestCommand elsewhere = read(1);
  const TestCommand again = write(0);
  const TestCommand there = migrate_to(1);
  EXPECT_FALSE(contains(there.move()->dependencies, reader.operation())) << "it reads what the move reads";
  EXPECT_TRUE(contains(there.move()->dependencies, writer.operation()));
  EXPECT_TRUE(contains(there.move()->dependencies, again.operation()));
  EXPECT_TRUE(contains(there.move()->dependencies, elsewhere.operation()));
}

TEST_F(CoherenceTest, MoveDoesNotWaitForFinishedCommands) {
  const TestCommand writer = write(0);
  const TestCommand failed = write(0);
  end(writer);
  end(failed, kFailed);
  EXPECT_TRUE(migrate_to(1).move()->dependencies.empty());
}

TEST_F(CoherenceTest, MoveBackWaitsForTheMoveAway) {
  const TestCommand written = write(1);
  const TestCommand back = migrate_to(0);
  EXPECT_TRUE(contains(back.move()->dependencies, written.move()->done)) << "it reads what this one writes";
  EXPECT_TRUE(contains(back.move()->suppliers, written.move()->done))
      << "and has nothing to give if that fails";
}

TEST_F(CoherenceTest, FullOverwriteNeedsNoMove) {
  EXPECT_EQ(overwrite(1).move(), nullptr);
  EXPECT_EQ(migrate_to(0).move()->from, 1U);
}

TEST_F(CoherenceTest, OverwriteWaitsForAMoveInFlight) {
  const TestCommand there = migrate_to(1);
  EXPECT_TRUE(contains(overwrite(1).dependencies.operations, there.move()->done));
}

TEST_F(CoherenceTest, FailedMoveLeavesNoCopy) {
  const TestCommand there = migrate_to(1);
  carry_out(*there.move(), kFailed);
  EXPECT_FALSE(is_current(1));
  EXPECT_TRUE(is_current(0));
  EXPECT_EQ(migrate_to(1).move()->from, 0U);
}

TEST_F(CoherenceTest, OnlyCopyIsLostWithItsServerUntilOverwritten) {
  connected_[0] = false;
  EXPECT_TRUE(decide(1, make_queue(), {{coherence_, Access::read}}).is_lost());
  EXPECT_TRUE(decide(1, make_queue(), {{coherence_, Access::write}}).is_lost());
  EXPECT_FALSE(overwrite(1).is_lost());
  EXPECT_FALSE(read(1).is_lost());
}

TEST_F(CoherenceTest, CopyElsewhereSurvivesALostServer) {
  carry_out(*migrate_to(1).move());
  connected_[0] = false;
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_FALSE(write(1).is_lost());
}

TEST_F(CoherenceTest, MoveInFlightFromALostServerIsLost) {
  const TestCommand written = write(1);
  connected_[0] = false;
  carry_out(*written.move(), kConnectionLost);
  end(written, kFailed);
  EXPECT_TRUE(decide(1, make_queue(), {{coherence_, Access::read}}).is_lost());
}

TEST_F(CoherenceTest, CommandWithALostObjectChangesNothing) {
  const auto other = make_coherence();
  end(issue(1, {{other, Access::write}}));
  connected_[0] = false;
  EXPECT_TRUE(decide(1, make_queue(), {{other, Access::write}, {coherence_, Access::read}}).is_lost());
  EXPECT_TRUE(other->replicas[1].uses.empty() || other->replicas[1].uses[0].operation->is_over());
}

TEST_F(CoherenceTest, NewestCommandOfAnInOrderQueueCoversEarlierOnes) {
  Object& queue = make_queue();
  std::vector<TestCommand> launches;
  for (int i = 0; i < 100; ++i) {
    launches.push_back(enqueue(0, queue, {{coherence_, i == 0 ? Access::write : Access::read}}));
  }
  EXPECT_LE(coherence_->replicas[0].uses.size(), 3U);
  const TestCommand there = migrate_to(1);
  ASSERT_EQ(there.move()->dependencies.size(), 1U);
  EXPECT_FALSE(contains(there.move()->dependencies, launches[0].operation())) << "one that ends later";
}

TEST_F(CoherenceTest, UnsentCommandCoversNoOther) {
  Object& queue = make_queue();
  const TestCommand first = enqueue(0, queue, {{coherence_, Access::write}});
  const TestCommand second = decide(0, queue, {{coherence_, Access::write}});
  const TestCommand third = decide(0, queue, {{coherence_, Access::write}});
  const TestCommand there = migrate_to(1);
  EXPECT_TRUE(contains(there.move()->dependencies, first.operation()));
  EXPECT_TRUE(contains(there.move()->dependencies, second.operation()));
  EXPECT_TRUE(contains(there.move()->dependencies, third.operation()));
}

TEST_F(CoherenceTest, OutOfOrderCommandsAreTrackedIndividually) {
  Object& queue = make_queue();
  std::vector<TestCommand> launches;
  for (int i = 0; i < 100; ++i) {
    launches.push_back(enqueue(0, queue, {{coherence_, Access::write}}, {}, false));
  }
  const TestCommand there = migrate_to(1);
  for (const TestCommand& one : launches) EXPECT_TRUE(contains(there.move()->dependencies, one.operation()));
}

TEST_F(CoherenceTest, FinishedUsesAreDropped) {
  for (int i = 0; i < 1000; ++i) end(read(0));
  EXPECT_LE(coherence_->replicas[0].uses.size(), 32U);
}

// Commands that were to overwrite the contents.
using PendingOverwrite = CoherenceTest;

TEST_F(PendingOverwrite, FailedOverwriteRestoresTheOldContents) {
  end(overwrite(1), kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(migrate_to(1).move()->from, 0U);
}

TEST_F(PendingOverwrite, UnsentOverwriteRestoresTheOldContents) {
  const TestCommand refused = decide(1, make_queue(), {{coherence_, Access::overwrite}});
  order_->withdraw(refused.entry);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(migrate_to(1).move()->from, 0U);
}

TEST_F(PendingOverwrite, ReaderOfAFailingOverwriteFails) {
  const TestCommand written = overwrite(1);
  const TestCommand back = migrate_to(0);
  EXPECT_TRUE(contains(back.move()->suppliers, written.operation()));
  end(written, kFailed);
  carry_out(*back.move(), kFailed);
  EXPECT_EQ(read(0).move(), nullptr) << "the move has not touched what was there";
}

TEST_F(PendingOverwrite, SuccessfulOverwriteDropsTheOldContents) {
  end(overwrite(1));
  EXPECT_EQ(migrate_to(0).move()->from, 1U);
  EXPECT_TRUE(coherence_->pending_overwrites.empty());
}

TEST_F(PendingOverwrite, OverwriteOfTheOnlyCopyKeepsNoHistory) {
  const TestCommand written = overwrite(0);
  EXPECT_TRUE(coherence_->pending_overwrites.empty());
  end(written, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
}

TEST_F(PendingOverwrite, DependentCommandsFailWithTheOverwrite) {
  const TestCommand written = overwrite(1);
  const TestCommand changed = write(1);
  end(written, kFailed);
  end(changed, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
}

TEST_F(PendingOverwrite, FailedOverwriteWithFinishedDependentsLosesTheContents) {
  const TestCommand written = overwrite(1);
  const TestCommand changed = write(1);
  end(written, kFailed);
  end(changed);
  EXPECT_TRUE(decide(0, make_queue(), {{coherence_, Access::read}}).is_lost());
  EXPECT_TRUE(decide(1, make_queue(), {{coherence_, Access::read}}).is_lost());
  EXPECT_FALSE(overwrite(0).is_lost());
}

TEST_F(PendingOverwrite, FailedSecondOverwriteKeepsTheFirst) {
  const TestCommand first = overwrite(1);
  const TestCommand second = overwrite(0);
  end(second, kFailed);
  end(first);
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_EQ(migrate_to(0).move()->from, 1U);
}

TEST_F(PendingOverwrite, TwoFailedOverwritesRestoreTheOriginal) {
  const TestCommand first = overwrite(1);
  const TestCommand second = overwrite(0);
  const TestCommand third = overwrite(1);
  end(first, kFailed);
  end(second, kFailed);
  end(third, kFailed);
  EXPECT_EQ(read(0).move(), nullptr);
  EXPECT_EQ(migrate_to(1).move()->from, 0U);
}

TEST_F(PendingOverwrite, SuccessAfterAFailedOverwriteWins) {
  const TestCommand first = overwrite(1);
  const TestCommand second = overwrite(1);
  end(first, kFailed);
  end(second);
  EXPECT_EQ(read(1).move(), nullptr);
  EXPECT_EQ(migrate_to(0).move()->from, 1U);
}

TEST_F(PendingOverwrite, HistoryIsBounded) {
  std::vector<TestCommand> all;
  for (std::size_t i = 0; i < 1000; ++i) {
    all.push_back(overwrite(i % 2));
    if (i >= 2) end(all[i - 2], i % 3 == 0 ? kFailed : CL_COMPLETE);
  }
  EXPECT_LE(coherence_->pending_overwrites.size(), 4U);
}

}  // namespace
}  // namespace cleave::remote::client::multi_server
