#include "monitor/hub.h"

#include <random>

#include <gtest/gtest.h>

#include "cleave/monitor.h"
#include "client_0_1.h"
#include "test_client.h"
#include "tests/kit/eventually.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

class HubTest : public testing::Test {
 protected:
  HubTest() {
    options_.now = [this] { return now_; };
    options_.patience = seconds(30);
    options_.max_clients = 4;
  }

  Hub& hub() {
    if (!hub_) hub_.emplace(options_);
    return *hub_;
  }

  // A client that has been let in, or refused.
  TestClient join(const std::string& peer = "one") {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const int small = 4096;
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    daemon::Stream stream(context_, asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    stream.non_blocking(true);
    hub().admit(std::move(stream), {peer});
    return TestClient(base::FileDescriptor(ends[1]));
  }

  // Everything that can happen now, happens.
  void turn() {
    context_.restart();
    context_.poll();
  }

  void heartbeat_all() {
    for (std::size_t i = 0; i < Hub::kRounds; ++i) hub().send_heartbeat();
    turn();
  }

  void publish(std::uint64_t sequence, unsigned running, unsigned busy) {
    hub().publish({sequence, true, {running, busy}});
  }

  TimePoint now_{seconds(1000)};
  HubOptions options_;
  asio::io_context context_;
  std::optional<Hub> hub_;
};

TEST_F(HubTest, NewClientGetsGreetingAndState) {
  options_.heartbeat = std::chrono::milliseconds(2000);
  TestClient peer = join();
  EXPECT_EQ(peer.received(), "cleave-monitor 1 heartbeat=2000 busy-share=20 interval=3000\nunknown 1\n");
  publish(2, 5, 3);
  EXPECT_EQ(join().received(), "cleave-monitor 1 heartbeat=2000 busy-share=20 interval=3000\ncount 2 5 3\n");
}

TEST_F(HubTest, EachChangeIsBroadcast) {
  TestClient peer = join();
  peer.received();
  publish(2, 5, 3);
  publish(3, 6, 3);
  hub().publish({4, false, {}});
  EXPECT_EQ(peer.received(), "count 2 5 3\ncount 3 6 3\nunknown 4\n");
}

TEST_F(HubTest, EveryClientGetsOneHeartbeatPerInterval) {
  TestClient first = join();
  TestClient second = join();
  first.received();
  second.received();
  publish(7, 1, 1);
  heartbeat_all();
  EXPECT_EQ(first.received(), "count 7 1 1\nalive 7\n");
  EXPECT_EQ(second.received(), "count 7 1 1\nalive 7\n");
}

TEST_F(HubTest, APingIsAnswered) {
  TestClient peer = join();
  peer.received();
  turn();
  peer.say("pi");
  turn();
  EXPECT_EQ(peer.received(), "");
  peer.say("ng\nhello\n");
  turn();
  EXPECT_EQ(peer.received(), "alive 1\n");
}

TEST_F(HubTest, OnePeersClientsKeepNoOthersOut) {
  std::vector<TestClient> many;
  many.reserve(6);
  for (int i = 0; i < 6; ++i) many.push_back(join("many"));
  EXPECT_EQ(hub().statistics().refused, 2U);
  TestClient other = join("other");
  EXPECT_EQ(other.received().find("bye"), std::string::npos);
  EXPECT_NE(many[3].received().find("bye full\n"), std::string::npos);
  EXPECT_TRUE(many[3].gone());
  EXPECT_EQ(hub().clients(), 4U);
  EXPECT_EQ(hub().statistics().displaced, 1U);
  publish(2, 5, 3);
  EXPECT_NE(other.received().find("count 2 5 3\n"), std::string::npos);
  EXPECT_NE(many[0].received().find("count 2 5 3\n"), std::string::npos) << "those who came first stay";
}

TEST_F(HubTest, PeersHaveALimitOfTheirOwn) {
  options_.clients_per_peer = 1;
  TestClient first = join("a");
  EXPECT_NE(join("a").received().find("bye full\n"), std::string::npos);
  EXPECT_EQ(join("b").received().find("bye"), std::string::npos);
  EXPECT_EQ(first.received().find("bye"), std::string::npos);
}

TEST_F(HubTest, OverlongLineClosesTheConnection) {
  TestClient peer = join();
  peer.received();
  peer.say(std::string(CLEAVE_MONITOR_LINE_MAX, 'x'));
  turn();
  EXPECT_EQ(peer.received(), "bye the line is too long\n");
  EXPECT_TRUE(peer.gone());
  EXPECT_EQ(hub().clients(), 0U);
  EXPECT_EQ(hub().statistics().long_lines, 1U);
}

TEST_F(HubTest, FloodingClientIsThrottledUntilTheNextHeartbeat) {
  TestClient peer = join();
  std::string much;
  while (much.size() < 10'000) much += "hello hello\n";
  peer.say(much + "ping\n");
  turn();
  EXPECT_EQ(peer.received().find("alive"), std::string::npos);
  for (int i = 0; i < 4; ++i) {
    peer.received();
    heartbeat_all();
  }
  EXPECT_EQ(peer.received(), "alive 1\n");
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, DisconnectedClientIsRemoved) {
  TestClient peer = join();
  TestClient other = join();
  peer.leave();
  turn();
  EXPECT_EQ(hub().clients(), 1U);
  publish(2, 1, 1);
  turn();
  EXPECT_NE(other.received().find("count 2 1 1\n"), std::string::npos);
}

TEST_F(HubTest, HalfClosedClientStillGetsUpdates) {
  TestClient peer = join();
  peer.shutdown_write();
  turn();
  peer.received();
  publish(2, 1, 1);
  turn();
  EXPECT_EQ(peer.received(), "count 2 1 1\n");
  EXPECT_FALSE(peer.gone());
}

TEST_F(HubTest, ClientBeyondTheLimitGetsBye) {
  std::vector<TestClient> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(join());
  TestClient refused = join();
  EXPECT_EQ(refused.received(), "bye full\n");
  EXPECT_TRUE(refused.gone());
  EXPECT_EQ(hub().statistics().refused, 1U);
  peers.pop_back();
  // The thread that closes the refused connection still has a copy of this end for a moment.
  EXPECT_TRUE(kit::eventually([&] {
    turn();
    return join().received() != "bye full\n";
  }));
}

TEST_F(HubTest, SlowReaderGetsOnlyTheNewestState) {
  TestClient peer = join();
  constexpr std::uint64_t kChanges = 10'000;
  for (std::uint64_t i = 2; i <= kChanges; ++i) publish(i, 1, 1);
  std::string all = peer.received();
  turn();
  all += peer.received();
  EXPECT_LT(all.size(), 100'000U);
  const std::string newest = "count " + std::to_string(kChanges) + " 1 1\n";
  EXPECT_TRUE(all.ends_with('\n' + newest));
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, StalledReaderIsDropped) {
  TestClient slow = join();
  TestClient good = join();
  for (std::uint64_t i = 2; i <= 2000; ++i) {
    publish(i, 1, 1);
    good.received();
  }
  now_ += seconds(30);
  heartbeat_all();
  EXPECT_EQ(hub().clients(), 2U);
  good.received();
  now_ += seconds(1);
  heartbeat_all();
  EXPECT_EQ(hub().clients(), 1U);
  EXPECT_EQ(hub().statistics().slow, 1U);
  slow.received();
  EXPECT_TRUE(slow.gone());
  EXPECT_EQ(good.received(), "alive 2000\n");
}

TEST_F(HubTest, RecoveredReaderIsKept) {
  TestClient peer = join();
  for (std::uint64_t i = 2; i <= 2000; ++i) publish(i, 1, 1);
  now_ += seconds(20);
  peer.received();
  turn();
  now_ += seconds(20);
  heartbeat_all();
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, RandomBytesAreHarmless) {
  std::mt19937 random(27460);
  TestClient good = join();
  for (int round = 0; round < 200; ++round) {
    TestClient peer = join();
    std::string bytes(1 + random() % 600, '\0');
    for (char& byte : bytes) byte = random() % 20 == 0 ? '\n' : static_cast<char>(random());
    peer.say(bytes);
    turn();
    if (random() % 2 == 0) heartbeat_all();
    peer.leave();
    heartbeat_all();
    ASSERT_EQ(hub().clients(), 1U);
  }
  good.received();
  turn();
  good.received();
  publish(2, 3, 1);
  EXPECT_EQ(good.received(), "count 2 3 1\n");
}

TEST_F(HubTest, StoppingSendsBye) {
  TestClient peer = join();
  peer.received();
  hub().stop();
  turn();
  EXPECT_EQ(peer.received(), "bye stopping\n");
  EXPECT_TRUE(peer.gone());
  EXPECT_EQ(hub().clients(), 0U);
}

TEST_F(HubTest, LongestGreetingAndStateFitOneBuffer) {
  options_.heartbeat = options_.interval = std::chrono::hours(1);
  options_.busy_share = 100;
  hub().publish({UINT64_MAX, true, {100'000, 100'000}, 1000});
  EXPECT_EQ(join().received(),
            "cleave-monitor 1 heartbeat=3600000 busy-share=100 interval=3600000\n"
            "count 18446744073709551615 100000 100000 pressure=1000\n");
}

// What it does not know, it passes over.
TEST_F(HubTest, ClientOfVersion01UnderstandsTheDaemon) {
  using Kind = client_0_1::MonitorLine::Kind;
  TestClient peer = join();
  hub().publish({2, true, {5, 3}, 37});
  hub().publish({3, true, {5, 3}, 980});
  hub().publish({4, true, {6, 2}});
  hub().publish({5, false, {}});
  heartbeat_all();
  std::string text = peer.received();
  std::vector<client_0_1::MonitorLine> lines;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    const auto line = client_0_1::read_monitor_line(text.substr(0, end));
    ASSERT_TRUE(line) << text.substr(0, end);
    lines.push_back(*line);
    text.erase(0, end + 1);
  }
  EXPECT_EQ(text, "");
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0].kind, Kind::greeting);
  EXPECT_EQ(lines[0].version, 1U);
  EXPECT_EQ(lines[0].heartbeat_ms, 2000U);
  EXPECT_EQ(lines[1].kind, Kind::unknown);
  for (const std::size_t i : {2U, 3U, 4U}) {
    EXPECT_EQ(lines[i].kind, Kind::count);
    EXPECT_EQ(lines[i].sequence, i);
    EXPECT_EQ(lines[i].running, i == 4 ? 6U : 5U);
    EXPECT_EQ(lines[i].busy, i == 4 ? 2U : 3U);
  }
  EXPECT_EQ(lines[5].kind, Kind::unknown);
  EXPECT_EQ(lines[6].kind, Kind::alive);
  EXPECT_EQ(lines[6].sequence, 5U);
}

}  // namespace
}  // namespace cleave::monitor
