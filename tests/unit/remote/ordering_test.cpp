// When commands of contexts over several servers are decided on: at once, or when the program has set the
// user event that they wait for.
#include "remote/client/spread/ordering.h"

#include "several.h"

namespace cleave::remote::client::spread {
namespace {

class OrderingTest : public Several {
 protected:
  OrderingTest() { end(issue(0, uses())); }
  Uses uses(Access access = Access::write) { return {{contents_, access}}; }
  static std::vector<Entry*> entries_of(const std::vector<Ordering::Settled>& settled) {
    std::vector<Entry*> entries;
    for (const Ordering::Settled& one : settled) entries.push_back(one.entry.get());
    return entries;
  }
  // What is settled when the program sets the event.
  std::vector<Entry*> set_and_settle(Object& event, cl_int status = CL_COMPLETE) {
    set(event, status);
    return entries_of(ordering_->settle());
  }

  // On the first server alone.
  std::shared_ptr<Contents> contents_ = make_contents();
};

TEST_F(OrderingTest, ACommandIsSettledWhenItIsEnqueued) {
  const Issued first = issue(1, uses());
  EXPECT_EQ(first.now, Ordering::Now::settled);
  const Issued second = decide(0, make_queue(), uses(), {first.event});
  EXPECT_EQ(second.now, Ordering::Now::settled) << "a command's event is no reason to wait";
}

TEST_F(OrderingTest, BehindAUserEventItIsOpenAndNothingIsMoved) {
  Object& late = make_user_event();
  const Issued open = decide(1, make_queue(), uses(), {&late});
  EXPECT_TRUE(open.is_open());
  EXPECT_TRUE(open.needs.moves.empty());
  EXPECT_NE(open.entry->gate, nullptr);
  EXPECT_TRUE(ordering_->settle().empty());
  set(late, CL_COMPLETE);
  const auto settled = ordering_->settle();
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].entry, open.entry);
  EXPECT_EQ(settled[0].needs.moves.size(), 1U);
}

TEST_F(OrderingTest, AUserEventThatIsSetIsNoReasonToWait) {
  Object& event = make_user_event();
  set(event, CL_COMPLETE);
  EXPECT_EQ(decide(1, make_queue(), uses(), {&event}).now, Ordering::Now::settled);
}

TEST_F(OrderingTest, AnOpenCommandFindsWhatWasWrittenBeforeTheEventWasSet) {
  Object& late = make_user_event();
  const Issued open = decide(0, make_queue(), uses(Access::read), {&late});
  const Issued writer = issue(1, uses());
  set(late, CL_COMPLETE);
  const auto settled = ordering_->settle();
  ASSERT_EQ(settled.size(), 1U);
  ASSERT_EQ(settled[0].needs.moves.size(), 1U);
  EXPECT_EQ(settled[0].needs.moves[0]->from, 1U);
  EXPECT_TRUE(has(settled[0].needs.moves[0]->needs, writer.step()));
}

TEST_F(OrderingTest, OnAQueueInOrderAllBehindAnOpenCommandIsOpen) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  Issued first = decide(1, queue, uses(), {&late});
  send(first);
  const Issued second = decide(1, queue, uses());
  EXPECT_TRUE(second.is_open());
  EXPECT_EQ(decide(1, make_queue(), uses()).now, Ordering::Now::settled) << "another queue";
  EXPECT_EQ(set_and_settle(late), (std::vector<Entry*>{first.entry.get(), second.entry.get()}));
}

TEST_F(OrderingTest, OnAQueueOutOfOrderOnlyWhatWaitsForItIs) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  Issued first = decide(1, queue, uses(), {&late}, false);
  send(first);
  EXPECT_EQ(decide(1, queue, uses(), {}, false).now, Ordering::Now::settled);
  EXPECT_TRUE(decide(0, make_queue(), uses(), {first.event}).is_open());
}

TEST_F(OrderingTest, WhereNothingOvertakesAllBehindAnOpenCommandIsOpen) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  body_of<QueueBody>(queue).in_turn = true;
  const Issued before = decide(1, queue, uses(), {}, false);
  EXPECT_EQ(before.now, Ordering::Now::settled);
  Issued first = decide(1, queue, uses(), {&late}, false);
  send(first);
  const Issued second = decide(1, queue, uses(), {}, false);
  EXPECT_TRUE(second.is_open());
  EXPECT_EQ(decide(0, make_queue(), uses()).now, Ordering::Now::settled) << "another queue";
  EXPECT_EQ(set_and_settle(late), (std::vector<Entry*>{first.entry.get(), second.entry.get()}));
}

TEST_F(OrderingTest, WhatWaitsForAnOpenCommandIsOpenWhereverItIs) {
  Object& late = make_user_event();
  Issued first = decide(1, make_queue(), uses(), {&late});
  send(first);
  Issued second = decide(0, make_queue(), uses(), {first.event});
  send(second);
  const Issued third = decide(1, make_queue(), uses(), {second.event});
  EXPECT_TRUE(second.is_open());
  EXPECT_TRUE(third.is_open());
  EXPECT_EQ(set_and_settle(late),
            (std::vector<Entry*>{first.entry.get(), second.entry.get(), third.entry.get()}));
}

TEST_F(OrderingTest, ABarrierHoldsUpAllBehindItAMarkerNothing) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  Issued first = decide(1, queue, uses(), {&late}, false);
  send(first);
  Issued marker = decide(1, queue, {}, {}, false, Entry::Kind::marker);
  send(marker);
  EXPECT_TRUE(marker.is_open()) << "it waits for all before it";
  EXPECT_EQ(decide(1, queue, uses(), {}, false).now, Ordering::Now::settled);
  EXPECT_TRUE(decide(0, make_queue(), uses(), {marker.event}).is_open());
  Issued barrier = decide(1, queue, {}, {}, false, Entry::Kind::barrier);
  send(barrier);
  EXPECT_TRUE(barrier.is_open());
  EXPECT_TRUE(decide(1, queue, uses(), {}, false).is_open());
}

TEST_F(OrderingTest, AMarkerOrBarrierWithAListMayWaitForMore) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const Issued other = issue(0, {});
  EXPECT_EQ(decide(1, queue, {}, {other.event}, false, Entry::Kind::marker).now, Ordering::Now::settled);
  Issued open = decide(1, queue, uses(), {&late}, false);
  send(open);
  Issued marker = decide(1, queue, {}, {other.event}, false, Entry::Kind::marker);
  send(marker);
  const Issued behind = decide(0, make_queue(), uses(), {marker.event});
  EXPECT_TRUE(marker.is_open());
  EXPECT_TRUE(behind.is_open());
  EXPECT_EQ(set_and_settle(late),
            (std::vector<Entry*>{open.entry.get(), marker.entry.get(), behind.entry.get()}));
}

TEST_F(OrderingTest, AMarkerOrBarrierThatHasEndedHasNotWaitedForMore) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const Issued other = issue(0, {});
  Issued open = decide(1, queue, uses(), {&late}, false);
  send(open);
  Issued barrier = decide(1, queue, {}, {other.event}, false, Entry::Kind::barrier);
  send(barrier);
  const Issued behind = decide(1, queue, uses(), {}, false);
  EXPECT_TRUE(behind.is_open());
  end(barrier);
  EXPECT_EQ(entries_of(ordering_->settle()), (std::vector<Entry*>{barrier.entry.get(), behind.entry.get()}));
}

TEST_F(OrderingTest, EachUserEventSettlesWhatWaitsForItAlone) {
  Object& early = make_user_event();
  Object& late = make_user_event();
  const Issued first = decide(1, make_queue(), uses(), {&late});
  const Issued second = decide(1, make_queue(), uses(), {&early});
  const Issued both = decide(1, make_queue(), uses(), {&early, &late});
  EXPECT_EQ(set_and_settle(early), std::vector<Entry*>{second.entry.get()});
  EXPECT_EQ(set_and_settle(late), (std::vector<Entry*>{first.entry.get(), both.entry.get()}));
}

TEST_F(OrderingTest, AnEventThatFailsSettlesWhatWaitsForItToo) {
  Object& bad = make_user_event();
  const Issued open = decide(1, make_queue(), uses(), {&bad});
  EXPECT_EQ(set_and_settle(bad, kFailed), std::vector<Entry*>{open.entry.get()});
}

TEST_F(OrderingTest, AnOpenCommandThatHasFailedHoldsNothingUp) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  Issued first = decide(1, queue, uses(), {&late});
  send(first);
  const Issued second = decide(1, queue, uses());
  end(first, kFailed);  // its server has gone, say
  EXPECT_EQ(entries_of(ordering_->settle()), (std::vector<Entry*>{first.entry.get(), second.entry.get()}));
  EXPECT_EQ(decide(1, queue, uses()).now, Ordering::Now::settled);
}

TEST_F(OrderingTest, WhatWasNotSentHoldsNothingUpAndNobodyFailsForIt) {
  Object& late = make_user_event();
  Object& queue = make_queue();
  const Issued refused = decide(1, queue, uses(), {&late});
  cl_int status = kFailed;
  refused.step()->when_over([&](cl_int given) { status = given; });
  ordering_->take_back(refused.entry);
  EXPECT_EQ(status, CL_COMPLETE);
  EXPECT_TRUE(refused.step()->came_to_nothing());
  EXPECT_EQ(decide(1, queue, uses()).now, Ordering::Now::settled);
}

TEST_F(OrderingTest, WhatIsLostWhenItIsSettledIsSaid) {
  Object& late = make_user_event();
  const Issued open = decide(1, make_queue(), uses(Access::read), {&late});
  there_[0] = false;
  set(late, CL_COMPLETE);
  const auto settled = ordering_->settle();
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_TRUE(settled[0].is_lost);
}

TEST_F(OrderingTest, AnOpenCommandKeepsTheCopiesThatTheProgramLetsGoOf) {
  Object& late = make_user_event();
  std::vector<const Object*> copies;
  {
    const Issued open = decide(1, make_queue(), uses(Access::read), {&late});
    for (const Contents::Copy& copy : contents_->copies) {
      copies.push_back(find(copy.memory));
      client::clReleaseMemObject(copy.memory);
    }
    for (const Contents::Copy& copy : contents_->copies) EXPECT_NE(find(copy.memory), nullptr);
  }
  set(late, CL_COMPLETE);
  {
    const auto settled = ordering_->settle();
    ASSERT_EQ(settled.size(), 1U);
    ASSERT_EQ(settled[0].needs.moves.size(), 1U);
    EXPECT_EQ(settled[0].needs.moves[0]->source.object(), copies[0]);
    EXPECT_EQ(settled[0].needs.moves[0]->target.object(), copies[1]);
  }
  for (const Contents::Copy& copy : contents_->copies)
    EXPECT_EQ(find(copy.memory), nullptr) << "and no longer";
}

}  // namespace
}  // namespace cleave::remote::client::spread
