// When commands of contexts over several servers are decided on: at once, or when the program has set the
// user event that they wait for.
#include "remote/client/multi_server/command_order.h"

#include "command_order_fixture.h"

namespace cleave::remote::client::multi_server {
namespace {

class CommandOrderTest : public OrderingFixture {
 protected:
  CommandOrderTest() { end(issue(0, uses())); }
  MemoryUses uses(Access access = Access::write) { return {{coherence_, access}}; }
  static std::vector<OrderedCommand*> entries_of(const std::vector<CommandOrder::Decided>& settled) {
    std::vector<OrderedCommand*> entries;
    for (const CommandOrder::Decided& one : settled) entries.push_back(one.command.get());
    return entries;
  }
  // What is settled when the program sets the event.
  std::vector<OrderedCommand*> set_and_settle(Object& event, cl_int status = CL_COMPLETE) {
    set(event, status);
    return entries_of(order_->take_decidable());
  }

  // On the first server alone.
  std::shared_ptr<CoherenceState> coherence_ = make_coherence();
};

TEST_F(CommandOrderTest, CommandIsResolvedWhenEnqueued) {
  const TestCommand first = issue(1, uses());
  EXPECT_TRUE(first.is_decided());
  const TestCommand second = decide(0, make_queue(), uses(), {first.event});
  EXPECT_TRUE(second.is_decided()) << "a command's event is no reason to wait";
}

TEST_F(CommandOrderTest, CommandBehindAUserEventIsDeferred) {
  Object& late = make_user_event();
  const TestCommand open = decide(1, make_queue(), uses(), {&late});
  EXPECT_TRUE(open.is_deferred());
  EXPECT_TRUE(open.dependencies.migrations.empty());
  EXPECT_NE(open.entry->gate, nullptr);
  EXPECT_TRUE(order_->take_decidable().empty());
  set(late, CL_COMPLETE);
  const auto settled = order_->take_decidable();
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].command, open.entry);
  EXPECT_EQ(settled[0].dependencies.migrations.size(), 1U);
}

TEST_F(CommandOrderTest, CompletedUserEventDefersNothing) {
  Object& event = make_user_event();
  set(event, CL_COMPLETE);
  EXPECT_TRUE(decide(1, make_queue(), uses(), {&event}).is_decided());
}

TEST_F(CommandOrderTest, DeferredCommandSeesWritesBeforeTheEvent) {
  Object& late = make_user_event();
  const TestCommand open = decide(0, make_queue(), uses(Access::read), {&late});
  const TestCommand writer = issue(1, uses());
  set(late, CL_COMPLETE);
  const auto settled = order_->take_decidable();
  ASSERT_EQ(settled.size(), 1U);
  ASSERT_EQ(settled[0].dependencies.migrations.size(), 1U);
  EXPECT_EQ(settled[0].dependencies.migrations[0]->from, 1U);
  EXPECT_TRUE(contains(settled[0].dependencies.migrations[0]->dependencies, writer.operation()));
}

TEST_F(CommandOrderTest, InOrderQueueDefersAllBehindADeferredCommand) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand first = enqueue(1, queue, uses(), {&late});
  const TestCommand second = decide(1, queue, uses());
  EXPECT_TRUE(second.is_deferred());
  EXPECT_TRUE(decide(1, make_queue(), uses()).is_decided()) << "another queue";
  EXPECT_EQ(set_and_settle(late), (std::vector<OrderedCommand*>{first.entry.get(), second.entry.get()}));
}

TEST_F(CommandOrderTest, OutOfOrderQueueDefersOnlyDependents) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand first = enqueue(1, queue, uses(), {&late}, false);
  EXPECT_TRUE(decide(1, queue, uses(), {}, false).is_decided());
  EXPECT_TRUE(decide(0, make_queue(), uses(), {first.event}).is_deferred());
}

TEST_F(CommandOrderTest, QueueWithoutReorderingDefersAllBehindADeferredCommand) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  state_of<QueueState>(queue).runs_in_order = true;
  const TestCommand before = decide(1, queue, uses(), {}, false);
  EXPECT_TRUE(before.is_decided());
  const TestCommand first = enqueue(1, queue, uses(), {&late}, false);
  const TestCommand second = decide(1, queue, uses(), {}, false);
  EXPECT_TRUE(second.is_deferred());
  EXPECT_TRUE(decide(0, make_queue(), uses()).is_decided()) << "another queue";
  EXPECT_EQ(set_and_settle(late), (std::vector<OrderedCommand*>{first.entry.get(), second.entry.get()}));
}

TEST_F(CommandOrderTest, DependentsOnOtherQueuesAreDeferred) {
  Object& late = make_user_event();
  const TestCommand first = enqueue(1, make_queue(), uses(), {&late});
  const TestCommand second = enqueue(0, make_queue(), uses(), {first.event});
  const TestCommand third = decide(1, make_queue(), uses(), {second.event});
  EXPECT_TRUE(second.is_deferred());
  EXPECT_TRUE(third.is_deferred());
  EXPECT_EQ(set_and_settle(late),
            (std::vector<OrderedCommand*>{first.entry.get(), second.entry.get(), third.entry.get()}));
}

TEST_F(CommandOrderTest, DeferredBarrierDefersLaterCommandsAMarkerDoesNot) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand first = enqueue(1, queue, uses(), {&late}, false);
  const TestCommand marker = enqueue(1, queue, {}, {}, false, OrderedCommand::Kind::marker);
  EXPECT_TRUE(marker.is_deferred()) << "it waits for all before it";
  EXPECT_TRUE(decide(1, queue, uses(), {}, false).is_decided());
  EXPECT_TRUE(decide(0, make_queue(), uses(), {marker.event}).is_deferred());
  const TestCommand barrier = enqueue(1, queue, {}, {}, false, OrderedCommand::Kind::barrier);
  EXPECT_TRUE(barrier.is_deferred());
  EXPECT_TRUE(decide(1, queue, uses(), {}, false).is_deferred());
}

TEST_F(CommandOrderTest, MarkerOrBarrierWithAListMayWaitForMore) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand other = issue(0, {});
  EXPECT_TRUE(decide(1, queue, {}, {other.event}, false, OrderedCommand::Kind::marker).is_decided());
  const TestCommand open = enqueue(1, queue, uses(), {&late}, false);
  const TestCommand marker = enqueue(1, queue, {}, {other.event}, false, OrderedCommand::Kind::marker);
  const TestCommand behind = decide(0, make_queue(), uses(), {marker.event});
  EXPECT_TRUE(marker.is_deferred());
  EXPECT_TRUE(behind.is_deferred());
  EXPECT_EQ(set_and_settle(late),
            (std::vector<OrderedCommand*>{open.entry.get(), marker.entry.get(), behind.entry.get()}));
}

TEST_F(CommandOrderTest, FinishedMarkerOrBarrierWaitsForNothingMore) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand other = issue(0, {});
  const TestCommand open = enqueue(1, queue, uses(), {&late}, false);
  const TestCommand barrier = enqueue(1, queue, {}, {other.event}, false, OrderedCommand::Kind::barrier);
  const TestCommand behind = decide(1, queue, uses(), {}, false);
  EXPECT_TRUE(behind.is_deferred());
  end(barrier);
  EXPECT_EQ(entries_of(order_->take_decidable()),
            (std::vector<OrderedCommand*>{barrier.entry.get(), behind.entry.get()}));
}

TEST_F(CommandOrderTest, EachUserEventResolvesItsOwnDependents) {
  Object& early = make_user_event();
  Object& late = make_user_event();
  const TestCommand first = decide(1, make_queue(), uses(), {&late});
  const TestCommand second = decide(1, make_queue(), uses(), {&early});
  const TestCommand both = decide(1, make_queue(), uses(), {&early, &late});
  EXPECT_EQ(set_and_settle(early), std::vector<OrderedCommand*>{second.entry.get()});
  EXPECT_EQ(set_and_settle(late), (std::vector<OrderedCommand*>{first.entry.get(), both.entry.get()}));
}

TEST_F(CommandOrderTest, FailedUserEventResolvesItsDependents) {
  Object& bad = make_user_event();
  const TestCommand open = decide(1, make_queue(), uses(), {&bad});
  EXPECT_EQ(set_and_settle(bad, kFailed), std::vector<OrderedCommand*>{open.entry.get()});
}

TEST_F(CommandOrderTest, FailedDeferredCommandDefersNothing) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand first = enqueue(1, queue, uses(), {&late});
  const TestCommand second = decide(1, queue, uses());
  end(first, kFailed);  // its server has gone, say
  EXPECT_EQ(entries_of(order_->take_decidable()),
            (std::vector<OrderedCommand*>{first.entry.get(), second.entry.get()}));
  EXPECT_TRUE(decide(1, queue, uses()).is_decided());
}

TEST_F(CommandOrderTest, UnsentCommandDefersAndFailsNothing) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const TestCommand refused = decide(1, queue, uses(), {&late});
  cl_int status = kFailed;
  refused.operation()->on_end([&](cl_int given) { status = given; });
  order_->withdraw(refused.entry);
  EXPECT_EQ(status, CL_COMPLETE);
  EXPECT_TRUE(refused.operation()->has_failed());
  EXPECT_TRUE(decide(1, queue, uses()).is_decided());
}

TEST_F(CommandOrderTest, LossAtResolutionIsReported) {
  Object& late = make_user_event();
  const TestCommand open = decide(1, make_queue(), uses(Access::read), {&late});
  connected_[0] = false;
  set(late, CL_COMPLETE);
  const auto settled = order_->take_decidable();
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_TRUE(settled[0].is_lost);
}

TEST_F(CommandOrderTest, DeferredCommandKeepsReleasedCopies) {
  Object& late = make_user_event();
  std::vector<const Object*> replicas;
  {
    const TestCommand open = decide(1, make_queue(), uses(Access::read), {&late});
    for (const CoherenceState::Replica& copy : coherence_->replicas) {
      replicas.push_back(find(copy.memory));
      client::clReleaseMemObject(copy.memory);
    }
    for (const CoherenceState::Replica& copy : coherence_->replicas) EXPECT_NE(find(copy.memory), nullptr);
  }
  set(late, CL_COMPLETE);
  {
    const auto settled = order_->take_decidable();
    ASSERT_EQ(settled.size(), 1U);
    ASSERT_EQ(settled[0].dependencies.migrations.size(), 1U);
    EXPECT_EQ(settled[0].dependencies.migrations[0]->source.object(), replicas[0]);
    EXPECT_EQ(settled[0].dependencies.migrations[0]->target.object(), replicas[1]);
  }
  for (const CoherenceState::Replica& copy : coherence_->replicas)
    EXPECT_EQ(find(copy.memory), nullptr) << "and no longer";
}

}  // namespace
}  // namespace cleave::remote::client::multi_server
