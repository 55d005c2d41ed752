// A broker, alongside other processes of its host.
#include "interpose/broker/broker.h"

#include "tests/unit/interpose/broker_fixture.h"

namespace cleave::interpose {
namespace {

TEST_F(BrokerTest, ItsProcessTakesTurnsWithOthersOfTheHost) {
  Served served(configuration);
  const auto a = served.joined(forks, options());
  turns::Member b(options());
  ASSERT_TRUE(b.joined);
  EXPECT_TRUE(kit::eventually([&] { return a->contended(); }));
  EXPECT_TRUE(a->contended());
  ASSERT_TRUE(b.turns.begin());
  std::atomic<bool> holds{false};
  std::jthread waiting([&] { holds = a->begin(); });
  EXPECT_TRUE(kit::eventually([&] {
    const auto all = b.turns.snapshot();
    return all.size() == 2 && (all[0].waits || all[1].waits);
  }));
  EXPECT_FALSE(holds);
  b.turns.end();
  waiting.join();
  EXPECT_TRUE(holds);
  a->end(0);
  EXPECT_TRUE(b.turns.begin());
  a->leave();
  EXPECT_TRUE(kit::eventually([&] { return b.turns.snapshot().size() == 1; }));
  EXPECT_EQ(served.end(), "");
}

TEST_F(BrokerTest, AYieldThatIsInterruptedReturns) {
  Served served(configuration);
  const auto a = served.joined(forks, options());
  turns::Member b(options());
  ASSERT_TRUE(a->begin());
  std::jthread other([&] { static_cast<void>(b.turns.begin()); });
  EXPECT_TRUE(kit::eventually([&] { return a->should_yield(); }));
  const std::atomic<int> interrupt{1};
  EXPECT_FALSE(a->yield(&interrupt));
  b.turns.end();
}

TEST_F(BrokerTest, AHolderThatNeverYieldsLosesTheDevice) {
  Served served(configuration);
  const auto a = served.joined(forks, fast_options());
  turns::Member b(fast_options());
  ASSERT_TRUE(a->begin());
  std::atomic<bool> ended{false};
  std::jthread signs([&] {
    while (!ended) static_cast<void>(a->should_yield());
  });
  EXPECT_TRUE(b.turns.begin()) << "within about a second";
  ended = true;
}

// Whatever it sends but an end, it keeps the device for about a second.
TEST_F(BrokerTest, AHolderThatBeginsAgainAndAgainLosesTheDevice) {
  Served served(configuration);
  const auto a = served.joined(forks, fast_options());
  turns::Member b(fast_options());
  std::string problem;
  const std::function<void()> kinds[] = {
      [&] { static_cast<void>(a->begin()); },
      [&] {  // ends one of many
        for (int i = 0; i < 3; ++i) static_cast<void>(a->begin());
        a->end(0);
      },
      [&] {
        static_cast<void>(a->should_yield());
        static_cast<void>(a->begin());
        static_cast<void>(a->enter(problem));
        a->credit(1'000'000);
      },
  };
  for (const auto& kind : kinds) {
    ASSERT_TRUE(a->begin());
    std::atomic<bool> is_granted{false};
    std::jthread signs([&] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!is_granted && std::chrono::steady_clock::now() < until) kind();
      EXPECT_TRUE(is_granted);
    });
    EXPECT_TRUE(b.turns.begin());
    is_granted = true;
    b.turns.end();
    signs.join();
    a->leave();
    ASSERT_TRUE(a->enter(problem)) << problem;
  }
}

TEST_F(BrokerTest, AHolderWhoseTurnWasTakenTakesTurnsAsBefore) {
  Served served(configuration);
  const auto a = served.joined(forks, fast_options());
  turns::Member b(fast_options());
  ASSERT_TRUE(a->begin());
  std::atomic<bool> is_granted{false};
  std::jthread signs([&] {
    while (!is_granted) static_cast<void>(a->should_yield());
  });
  ASSERT_TRUE(b.turns.begin());
  is_granted = true;
  signs.join();
  EXPECT_TRUE(a->should_yield()) << "it is not its turn any more";
  b.turns.end();
  ASSERT_TRUE(a->yield(nullptr));
  a->end(0);
  EXPECT_TRUE(kit::eventually([&] {
    const auto all = b.turns.snapshot();
    return !all[0].holds && !all[1].holds;
  }));
}

TEST_F(BrokerTest, NewsThatIsNotReadEndsNothing) {
  const RawProcess a(configuration);
  ASSERT_TRUE(a.tell(BrokerOp::join, 1));
  ASSERT_TRUE(a.answer_to(1));
  turns::Member b(options());
  std::string problem;
  for (int i = 0; i < 1000; ++i) {
    b.turns.leave();
    ASSERT_TRUE(b.turns.enter(problem)) << problem;
  }
  ASSERT_TRUE(a.tell(BrokerOp::should_yield, 2)) << "the broker has ended";
  ASSERT_TRUE(a.answer_to(2));
  b.turns.leave();
  auto news = a.receive();
  while (news && news->takes_turns != 0) news = a.receive();
  EXPECT_TRUE(news) << "the newest state is said";
}

TEST_F(BrokerTest, AnswersThatAreNotReadEndNothing) {
  const RawProcess a(configuration);
  ASSERT_TRUE(a.tell(BrokerOp::join, 1));
  std::uint32_t sent = 1;
  const auto send_more = [&] {
    while (sent < 5000 && a.tell(BrokerOp::should_yield, sent + 1, MSG_DONTWAIT)) ++sent;
    return sent;
  };
  // What the broker does not take waits in the socket.
  std::uint32_t before = 0;
  while (before != send_more()) {
    before = sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(sent, 5000U);
  for (std::uint32_t number = 1; number <= sent; ++number) ASSERT_TRUE(a.answer_to(number)) << number;
}

// Each of these wakes all others.
TEST_F(BrokerTest, JoinsAreLimitedInRate) {
  const RawProcess a(configuration);
  ASSERT_TRUE(a.tell(BrokerOp::join, 1));
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::uint32_t kPairs = 50;
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(a.tell(BrokerOp::leave));
    ASSERT_TRUE(a.tell(BrokerOp::join, 2 + i));
  }
  ASSERT_TRUE(a.answer_to(1 + kPairs));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(600));
}

// Beginning and ending a turn takes the lock that all participants of the device share.
TEST_F(BrokerTest, BeginsAndEndsAreLimitedInRate) {
  const RawProcess a(configuration);
  ASSERT_TRUE(a.tell(BrokerOp::join, 1));
  ASSERT_TRUE(a.answer_to(1));
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::uint32_t kPairs = 2000;
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(a.tell(BrokerOp::begin, 2 + i));
    ASSERT_TRUE(a.tell(BrokerOp::end));
    if (i % 8 != 7) continue;
    ASSERT_TRUE(a.answer_to(2 + i)) << "few of them may wait";
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(85));
}

// Each change takes the lock that all participants of the device share.
TEST_F(BrokerTest, ChangesOfAWeightAreLimitedInRateAndTheLastOneCounts) {
  const RawProcess a(configuration);
  ASSERT_TRUE(a.tell(BrokerOp::join, 1));
  ASSERT_TRUE(a.answer_to(1));
  turns::Member b(options());
  const auto weights = [&] {
    std::vector<std::uint32_t> all;
    for (const auto& each : b.turns.snapshot()) all.push_back(each.weight);
    return all;
  };
  ASSERT_EQ(weights().size(), 2U);
  BrokerRequest change;
  change.op = BrokerOp::weigh;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread flood([&](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      change.divisor = change.divisor % 3 + 1;
      ASSERT_TRUE(a.tell(change));
    }
    change.divisor = 20;
    ASSERT_TRUE(a.tell(change));
  });
  unsigned changes = 0;
  auto last = weights();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(200)) {
    auto now = weights();
    if (std::exchange(last, now) != now) ++changes;
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  flood.request_stop();
  flood.join();
  EXPECT_GT(changes, 0U);
  EXPECT_LE(changes, elapsed / std::chrono::milliseconds(5) + 1);
  EXPECT_TRUE(
      kit::eventually([&] { return std::ranges::count(weights(), turns::kDefaultWeight / 20) == 1; }));
}

TEST_F(BrokerTest, DevicesThatWereNotDeclaredLeaveNothingInTheRegistry) {
  Served served(configuration);
  served.declare();
  BrokeredTurns other(*served.client, forks, options("77"));
  std::string problem;
  EXPECT_FALSE(other.enter(problem));
  EXPECT_FALSE(problem.empty());
  BrokerRequest late;
  late.op = BrokerOp::declare;
  late.identity = 77;
  served.client->tell(late);
  EXPECT_EQ(served.why.get(), "") << "and ends the broker";
  EXPECT_EQ(file_of("turns-"), "");
}

TEST_F(BrokerTest, MessagesThatThereAreNotEndItAndNothingElse) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(BrokerRequest) - 1,
                                 sizeof(BrokerRequest), sizeof(BrokerRequest) + 1, std::size_t{4096}}) {
    Served served(configuration);
    served.declare();
    const std::string garbage(size, '\xff');
    ASSERT_EQ(send(served.ends[1], garbage.data(), size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    EXPECT_EQ(served.why.get(), "");
  }
}

TEST_F(BrokerTest, TheLimitIsTheBrokersAndHoldsForAllOfTheTenant) {
  configuration.settings.limits.memory = 1000;
  configuration.settings.limits.tenant = "alice";
  Served first(configuration);
  Served second(configuration);
  first.declare();
  second.declare();
  using Answer = limits::MemoryLedger::Answer;
  const auto a = ledger_of(first);
  const auto b = ledger_of(second);
  EXPECT_EQ(a->book(600, 0), Answer::booked) << "whatever the process takes for its limit";
  EXPECT_EQ(b->book(600, 0), Answer::beyond);
  EXPECT_EQ(b->excess(), 200U);
  EXPECT_EQ(b->book(400, 0), Answer::booked);
  a->release(600);
  EXPECT_TRUE(kit::eventually([&] { return b->book(600, 0) == Answer::booked; }));
}

TEST_F(BrokerTest, ADamagedLedgerGivesNobodyWithALimitMore) {
  using Answer = limits::MemoryLedger::Answer;
  configuration.settings.limits.memory = 1000;
  Served first(configuration);
  first.declare();
  EXPECT_EQ(ledger_of(first)->book(1, 0), Answer::booked);
  damage(file_of("memory-"));
  Served limited(configuration);
  limited.declare();
  EXPECT_EQ(ledger_of(limited)->book(1, 0), Answer::beyond);
  configuration.settings.limits.memory = 0;
  Served free(configuration);
  free.declare();
  EXPECT_EQ(ledger_of(free)->book(1, 0), Answer::booked);
}

TEST_F(BrokerTest, DamagedTurnsEndTheBrokerOfAProcessWithACap) {
  for (const unsigned cap : {0U, 100U}) {
    base::Configuration capped = configuration;
    capped.settings.limits.cap.permille = cap;
    Served served(capped);
    const auto a = served.joined(forks, options());
    ASSERT_TRUE(a->begin());
    a->end(0);
    static_cast<void>(
        a->should_yield());  // answered after the end of the turn has been written, which is not waited for
    const std::string file = file_of("turns-");
    damage(file);
    ASSERT_FALSE(a->begin());
    if (cap != 0) {
      EXPECT_NE(served.why.get(), "");
    } else {
      EXPECT_EQ(served.end(), "");
    }
    std::filesystem::remove(file);
  }
}

TEST_F(BrokerTest, EntersItsProcessInTheRegistry) {
  Served served(configuration);
  served.declare();
  ASSERT_NE(served.client->figures(), nullptr);
  neighbours::RegistryEntry entry(forks, folder.path());
  entry.use_page(served.client->figures());
  entry.add_device(kDevice);
  entry.add_device(77);
  entry.publish();
  entry.count_unsplit();
  EXPECT_TRUE(kit::eventually([&] {
    const auto all = neighbours::live_entries(folder.path());
    return all.size() == 1 && cleave_registry_unsplit(&all[0].entry) == 1 &&
           all[0].entry.devices[0] == kDevice && all[0].entry.devices[1] == 0;
  }));
  static_cast<void>(served.end());
  EXPECT_EQ(neighbours::live_entries(folder.path()).size(), 0U);
}

// Its process sees no registry.
TEST_F(BrokerTest, CountsWhoSharesTheDevice) {
  configuration.settings.sources.peers = true;
  neighbours::RegistryEntry other(forks, folder.path());
  other.add_device(kDevice);
  other.publish();
  neighbours::RegistryEntry elsewhere(forks, folder.path());
  elsewhere.add_device(77);
  elsewhere.publish();
  Served served(configuration);
  served.declare();
  const kit::TemporaryFolder empty;
  neighbours::RegistryEntry entry(forks, empty.path());
  entry.use_page(served.client->figures());
  entry.add_device(kDevice);
  entry.publish();
  neighbours::PeersSource source(entry);
  EXPECT_TRUE(kit::eventually([&] {
    source.step(base::Clock::system().now());
    return source.last_count() && source.last_count()->vms == 2;
  }));
  static_cast<void>(served.end());
  source.step(base::Clock::system().now() + std::chrono::minutes(1));
  const base::Nanoseconds latest = source.last_count()->at;
  source.step(latest + std::chrono::hours(1));
  EXPECT_EQ(source.last_count()->at, latest) << "one that counts no more gets out of date";
}

}  // namespace
}  // namespace cleave::interpose