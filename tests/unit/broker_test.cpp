// A broker and the process that it takes turns and books memory for, as threads of this process.
#include "interpose/broker/broker.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "interpose/broker/brokered_turns.h"
#include "interpose/broker/participation.h"
#include "neighbours/peers_source.h"
#include "neighbours/registry_folder.h"
#include "tests/kit/eventually.h"
#include "tests/kit/hostile_file.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"
#include "tests/unit/turns/participant.h"

namespace cleave::interpose {
namespace {

constexpr std::uint64_t kDevice = 1234;

base::Configuration configuration_in(const std::string& folder) {
  base::Configuration configuration;
  configuration.settings.registry = folder;
  return configuration;
}

// Lives as long as the test's process, as in a server: detached threads may use it.
template <typename Object>
Object* kept(Object* object) {
  static base::Mutex mutex;
  static std::vector<void*>& all = *new std::vector<void*>;
  const base::MutexLock lock(mutex);
  all.push_back(object);
  return object;
}

// A broker with what it serves.
struct Served {
  explicit Served(const base::Configuration& given) : configuration(*kept(new base::Configuration(given))) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    auto* const broker = kept(new Broker(ends[0]));
    std::packaged_task<std::string()> serve([this, broker] { return broker->run(configuration); });
    why = serve.get_future();
    std::thread(std::move(serve)).detach();
    client = kept(new BrokerClient(ends[1]));
  }
  void declare() const { client->declare({{kDevice, "device"}}); }
  // What the broker says in the end, once the process has.
  std::string end() {
    shutdown(ends[1], SHUT_RDWR);
    return why.get();
  }

  const base::Configuration& configuration;
  int ends[2] = {-1, -1};
  std::future<std::string> why;
  BrokerClient* client = nullptr;
};

// Another process, which reads only when it is told to.
struct RawProcess {
  explicit RawProcess(const base::Configuration& configuration) : served(configuration) {
    char page = 0;
    EXPECT_EQ(recv(served.ends[1], &page, 1, 0), 1);
    BrokerRequest device;
    device.op = BrokerOp::declare;
    device.a = kDevice;
    EXPECT_TRUE(tell(device));
    EXPECT_TRUE(tell(BrokerOp::seal));
    const timeval patience{30, 0};
    setsockopt(served.ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  [[nodiscard]] bool tell(const BrokerRequest& request, int flags = 0) const {
    return send(served.ends[1], &request, sizeof request, MSG_NOSIGNAL | flags) ==
           static_cast<ssize_t>(sizeof request);
  }
  [[nodiscard]] bool tell(BrokerOp op, std::uint32_t number = 0, int flags = 0) const {
    BrokerRequest request;
    request.op = op;
    request.number = number;
    return tell(request, flags);
  }
  // Empty: the broker has ended.
  [[nodiscard]] std::optional<BrokerAnswer> receive() const {
    BrokerAnswer answer;
    if (recv(served.ends[1], &answer, sizeof answer, 0) != static_cast<ssize_t>(sizeof answer)) return {};
    return answer;
  }
  [[nodiscard]] std::optional<BrokerAnswer> answer_to(std::uint32_t number) const {
    auto answer = receive();
    while (answer && answer->number != number) answer = receive();
    return answer;
  }

  Served served;
};

struct BrokerTest : testing::Test {
  kit::TemporaryFolder folder;
  base::Configuration configuration = configuration_in(folder.path());
  base::ForkLocks forks;

  [[nodiscard]] turns::Options options(const std::string& identity = std::to_string(kDevice)) const {
    turns::Options made = turns::options_in(folder.path());
    made.identity = identity;
    return made;
  }
  [[nodiscard]] std::string file_of(const char* kind) const {
    for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
      if (each.path().filename().string().starts_with(kind)) return each.path().string();
    }
    return {};
  }
  static void damage(const std::string& file) {
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).write("\xff\xff\xff\xff", 4);
  }
  static std::unique_ptr<limits::MemoryLedger> ledger_of(const Served& served) {
    set_broker(served.client);
    std::string problem;
    auto ledger = open_ledger("", std::to_string(kDevice), "", problem, "");
    set_broker(nullptr);
    return ledger;
  }
};

TEST_F(BrokerTest, ItsProcessTakesTurnsWithOthersOfTheHost) {
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, options());
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  turns::Member b(options());
  ASSERT_TRUE(b.joined);
  EXPECT_TRUE(kit::eventually([&] { return a.contended(); }));
  EXPECT_TRUE(a.contended());
  ASSERT_TRUE(b.turns.begin());
  std::atomic<bool> holds{false};
  std::jthread waiting([&] { holds = a.begin(); });
  EXPECT_TRUE(kit::eventually([&] {
    const auto all = b.turns.snapshot();
    return all.size() == 2 && (all[0].waits || all[1].waits);
  }));
  EXPECT_FALSE(holds);
  b.turns.end();
  waiting.join();
  EXPECT_TRUE(holds);
  a.end(0);
  EXPECT_TRUE(b.turns.begin());
  a.leave();
  EXPECT_TRUE(kit::eventually([&] { return b.turns.snapshot().size() == 1; }));
  EXPECT_EQ(served.end(), "");
}

TEST_F(BrokerTest, AYieldThatIsInterruptedReturns) {
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, options());
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  turns::Member b(options());
  ASSERT_TRUE(a.begin());
  std::jthread other([&] { static_cast<void>(b.turns.begin()); });
  EXPECT_TRUE(kit::eventually([&] { return a.should_yield(); }));
  const std::atomic<int> interrupt{1};
  EXPECT_FALSE(a.yield(&interrupt));
  b.turns.end();
}

TEST_F(BrokerTest, AHolderThatNeverYieldsLosesTheDevice) {
  turns::Options fast = options();
  fast.timing = {};
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, fast);
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  turns::Member b(fast);
  ASSERT_TRUE(a.begin());
  std::atomic<bool> ended{false};
  std::jthread signs([&] {
    while (!ended) static_cast<void>(a.should_yield());
  });
  EXPECT_TRUE(b.turns.begin()) << "within about a second";
  ended = true;
}

// Whatever it sends but an end, it keeps the device for about a second.
TEST_F(BrokerTest, AHolderThatBeginsAgainAndAgainLosesTheDevice) {
  turns::Options fast = options();
  fast.timing = {};
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, fast);
  turns::Member b(fast);
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  const std::function<void()> kinds[] = {
      [&] { static_cast<void>(a.begin()); },
      [&] {  // ends one of many
        for (int i = 0; i < 3; ++i) static_cast<void>(a.begin());
        a.end(0);
      },
      [&] {
        static_cast<void>(a.should_yield());
        static_cast<void>(a.begin());
        static_cast<void>(a.enter(problem));
        a.credit(1'000'000);
      },
  };
  for (const auto& kind : kinds) {
    ASSERT_TRUE(a.begin());
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
    a.leave();
    ASSERT_TRUE(a.enter(problem)) << problem;
  }
}

TEST_F(BrokerTest, AHolderWhoseTurnWasTakenTakesTurnsAsBefore) {
  turns::Options fast = options();
  fast.timing = {};
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, fast);
  turns::Member b(fast);
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  ASSERT_TRUE(a.begin());
  std::atomic<bool> is_granted{false};
  std::jthread signs([&] {
    while (!is_granted) static_cast<void>(a.should_yield());
  });
  ASSERT_TRUE(b.turns.begin());
  is_granted = true;
  signs.join();
  EXPECT_TRUE(a.should_yield()) << "it is not its turn any more";
  b.turns.end();
  ASSERT_TRUE(a.yield(nullptr));
  a.end(0);
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

TEST_F(BrokerTest, DevicesThatWereNotDeclaredLeaveNothingInTheRegistry) {
  Served served(configuration);
  served.declare();
  BrokeredTurns other(*served.client, forks, options("77"));
  std::string problem;
  EXPECT_FALSE(other.enter(problem));
  EXPECT_FALSE(problem.empty());
  BrokerRequest late;
  late.op = BrokerOp::declare;
  late.a = 77;
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
    served.declare();
    BrokeredTurns a(*served.client, forks, options());
    std::string problem;
    ASSERT_TRUE(a.enter(problem)) << problem;
    ASSERT_TRUE(a.begin());
    a.end(0);
    static_cast<void>(
        a.should_yield());  // answered after the end of the turn has been written, which is not waited for
    const std::string file = file_of("turns-");
    damage(file);
    ASSERT_FALSE(a.begin());
    if (cap != 0) {
      EXPECT_NE(served.why.get(), "");
    } else {
      EXPECT_EQ(served.end(), "");
    }
    std::filesystem::remove(file);
  }
}

TEST_F(BrokerTest, WithoutItsBrokerAProcessWaitsForNothing) {
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, options());
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  const auto ledger = ledger_of(served);
  static_cast<void>(served.end());
  EXPECT_FALSE(a.begin());
  EXPECT_FALSE(a.should_yield());
  EXPECT_FALSE(a.contended());
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
    answer.yes = answer.has_joined = answer.takes_turns = 1;
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
  served.declare();
  BrokeredTurns a(*served.client, forks, options());
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  turns::Member b(options());
  ASSERT_TRUE(b.turns.begin());
  turns::Options capped = options();
  capped.cap = 100;
  SilentBroker silent(forks, capped);
  std::atomic<bool> capped_goes_on{false};
  std::jthread waits([&] { EXPECT_TRUE(a.begin()); });
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
  EXPECT_TRUE(a.has_joined());
}

// What it says that it has left the device idle, and what is spent on the way to it and back.
TEST_F(BrokerTest, ACapDoesNotPayForIdleTime) {
  configuration.settings.limits.cap.permille = 100;
  Served served(configuration);
  served.declare();
  BrokeredTurns a(*served.client, forks, options());
  std::string problem;
  ASSERT_TRUE(a.enter(problem)) << problem;
  const turns::Ns asked = turns::monotonic_now();
  ASSERT_TRUE(a.begin());
  EXPECT_GT(a.grant_delay(), 0);
  const turns::Ns began = turns::monotonic_now() - a.grant_delay();
  EXPECT_GE(began, asked);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  a.credit(turns::monotonic_now() - began);
  a.end(0);
  static_cast<void>(a.should_yield());  // answered after the end of the turn has been written
  const auto file = turns::SharedFile::open(folder.path(), std::to_string(kDevice), problem);
  ASSERT_NE(file, nullptr) << problem;
  turns::State state;
  ASSERT_TRUE(file->read(state));
  constexpr turns::Ns kSecond = 1'000'000'000;
  EXPECT_LT(state.participants[0].paid_at - turns::monotonic_now(), kSecond) << "200 ms are paid in two";
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
