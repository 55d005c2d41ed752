// What a process does whose broker has ended, is silent, or answers late.
#include <functional>

#include "interpose/broker/brokered_turns.h"
#include "tests/unit/interpose/broker_fixture.h"

namespace cleave::interpose {
namespace {

TEST_F(BrokerTest, WithoutItsBrokerAProcessWaitsForNothing) {
  Served served(configuration);
  const auto a = served.joined(forks, options());
  const auto ledger = ledger_of(served);
  static_cast<void>(served.end());
  EXPECT_FALSE(a->begin());
  EXPECT_FALSE(a->should_yield());
  EXPECT_FALSE(a->contended());
  EXPECT_EQ(ledger->book(1, 0), limits::MemoryLedger::Answer::beyond);
}

// A process whose broker reads nothing any more, after it has joined.
struct SilentBroker {
  explicit SilentBroker(base::ForkLocks& forks, const turns::Options& options) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_EQ(send(ends[0], "f", 1, 0), 1);
    client = kept(new BrokerClient(ends[1]));
    client->declare({{kDevice, "device"}});
    turns = std::make_unique<BrokeredTurns>(*client, forks, options);
    std::jthread joins([&] {
      std::string problem;
      EXPECT_TRUE(turns->enter(problem)) << problem;
    });
    BrokerRequest request;
    while (request.op != BrokerOp::join) EXPECT_GT(recv(ends[0], &request, sizeof request, 0), 0);
    BrokerAnswer answer;
    answer.number = request.number;
    answer.result = answer.has_joined = answer.takes_turns = 1;
    EXPECT_GT(send(ends[0], &answer, sizeof answer, 0), 0);
  }
  void end() const { shutdown(ends[0], SHUT_RDWR); }

  int ends[2] = {-1, -1};
  BrokerClient* client = nullptr;
  std::unique_ptr<BrokeredTurns> turns;
};

using TurnsStep = std::function<void(SilentBroker&)>;

TEST_F(BrokerTest, ASilentBrokerHoldsUpNoStep) {
  const std::vector<TurnsStep> steps{
      [](SilentBroker& a) { EXPECT_FALSE(a.turns->begin()); },
      [](SilentBroker& a) { EXPECT_FALSE(a.turns->yield(nullptr)); },
      [](SilentBroker& a) { EXPECT_FALSE(a.turns->should_yield()); },
      [](SilentBroker& a) {
        BrokerRequest request;
        request.op = BrokerOp::book;
        EXPECT_FALSE(a.client->call(request));
      },
      [](SilentBroker& a) {
        for (int i = 0; i < 5000; ++i) a.turns->credit(1);
      },
      [](SilentBroker& a) {
        std::string problem;
        for (int i = 0; i < 5000; ++i) a.turns->leave(), static_cast<void>(a.turns->enter(problem));
        EXPECT_NE(problem, "");
      },
  };
  kit::on_threads(steps.size(), [&](std::size_t i) {
    base::ForkLocks own;
    SilentBroker a(own, options());
    const std::string what = "step " + std::to_string(i);
    kit::must_return(what, [&] { steps[i](a); });
    kit::must_return(what + ", all after that", [&] {
      for (const TurnsStep& each : steps) each(a);
    });
    EXPECT_FALSE(a.turns->has_joined()) << what;
    EXPECT_FALSE(a.turns->contended()) << "launches go on without asking";
    EXPECT_NE(a.turns->problem(), "") << what;
  });
}

TEST_F(BrokerTest, OneThatLivesIsWaitedForAndOneWithACapWaitsForItsEnd) {
  Served served(configuration);
  const auto a = served.joined(forks, options());
  turns::Member b(options());
  ASSERT_TRUE(b.turns.begin());
  turns::Options capped = options();
  capped.cap = 100;
  SilentBroker silent(forks, capped);
  std::atomic<bool> capped_goes_on{false};
  std::jthread waits([&] { EXPECT_TRUE(a->begin()); });
  std::jthread waits_too([&] {
    EXPECT_FALSE(silent.turns->begin());
    capped_goes_on = true;
  });
  // Longer than a silent broker is waited for.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1400);
  while (std::chrono::steady_clock::now() < until) {
    static_cast<void>(b.turns.should_yield());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(capped_goes_on);
  silent.end();
  waits_too.join();
  b.turns.end();
  waits.join();
  EXPECT_TRUE(a->has_joined());
}

// What it says that it has left the device idle, and what is spent on the way to it and back.
TEST_F(BrokerTest, ACapDoesNotPayForIdleTime) {
  configuration.settings.limits.cap.permille = 100;
  Served served(configuration);
  const auto a = served.joined(forks, options());
  std::string problem;
  const turns::Ns asked = turns::monotonic_now();
  ASSERT_TRUE(a->begin());
  EXPECT_GT(a->grant_delay(), 0);
  const turns::Ns began = turns::monotonic_now() - a->grant_delay();
  EXPECT_GE(began, asked);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  a->credit(turns::monotonic_now() - began);
  a->end(0);
  static_cast<void>(a->should_yield());  // answered after the end of the turn has been written
  const auto file = turns::SharedFile::open(folder.path(), std::to_string(kDevice), problem);
  ASSERT_NE(file, nullptr) << problem;
  turns::State state;
  ASSERT_TRUE(file->read(state));
  constexpr turns::Ns kSecond = 1'000'000'000;
  EXPECT_LT(state.participants[0].paid_at - turns::monotonic_now(), kSecond) << "200 ms are paid in two";
}

}  // namespace
}  // namespace cleave::interpose
