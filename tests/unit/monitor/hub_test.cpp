#include "monitor/hub.h"

#include <random>

#include <gtest/gtest.h>

#include "cleave/monitor.h"
#include "peer.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

class HubTest : public testing::Test {
 protected:
  HubTest() {
    options_.now = [this] { return now_; };
    options_.patience = seconds(30);
    options_.most_clients = 4;
  }

  Hub& hub() {
    if (!hub_) hub_.emplace(options_);
    return *hub_;
  }

  // A client that has been let in, or refused.
  Peer join() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const int small = 4096;
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    Stream stream(context_, asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    stream.non_blocking(true);
    hub().admit(std::move(stream));
    return Peer(Descriptor(ends[1]));
  }

  // Everything that can happen now, happens.
  void turn() {
    context_.restart();
    context_.poll();
  }

  void beat_all() {
    for (std::size_t i = 0; i < Hub::kRounds; ++i) hub().beat();
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

TEST_F(HubTest, ANewClientGetsTheGreetingAndTheState) {
  options_.heartbeat = std::chrono::milliseconds(2000);
  Peer peer = join();
  EXPECT_EQ(peer.heard(), "cleave-monitor 1 heartbeat=2000\nunknown 1\n");
  publish(2, 5, 3);
  EXPECT_EQ(join().heard(), "cleave-monitor 1 heartbeat=2000\ncount 2 5 3\n");
}

TEST_F(HubTest, EachChangeIsALine) {
  Peer peer = join();
  peer.heard();
  publish(2, 5, 3);
  publish(3, 6, 3);
  hub().publish({4, false, {}});
  EXPECT_EQ(peer.heard(), "count 2 5 3\ncount 3 6 3\nunknown 4\n");
}

TEST_F(HubTest, EveryClientHasOneHeartbeatInAllRounds) {
  Peer first = join();
  Peer second = join();
  first.heard();
  second.heard();
  publish(7, 1, 1);
  beat_all();
  EXPECT_EQ(first.heard(), "count 7 1 1\nalive 7\n");
  EXPECT_EQ(second.heard(), "count 7 1 1\nalive 7\n");
}

TEST_F(HubTest, APingIsAnswered) {
  Peer peer = join();
  peer.heard();
  turn();
  peer.say("pi");
  turn();
  EXPECT_EQ(peer.heard(), "");
  peer.say("ng\nhello\n");
  turn();
  EXPECT_EQ(peer.heard(), "alive 1\n");
}

TEST_F(HubTest, AnEndlessLineIsTheEnd) {
  Peer peer = join();
  peer.heard();
  peer.say(std::string(CLEAVE_MONITOR_LINE_MAX, 'x'));
  turn();
  EXPECT_EQ(peer.heard(), "bye the line is too long\n");
  EXPECT_TRUE(peer.gone());
  EXPECT_EQ(hub().clients(), 0U);
  EXPECT_EQ(hub().figures().long_lines, 1U);
}

TEST_F(HubTest, WhoTalksTooMuchIsNotHeardUntilTheNextHeartbeat) {
  Peer peer = join();
  std::string much;
  while (much.size() < 10'000) much += "hello hello\n";
  peer.say(much + "ping\n");
  turn();
  EXPECT_EQ(peer.heard().find("alive"), std::string::npos);
  for (int i = 0; i < 4; ++i) {
    peer.heard();
    beat_all();
  }
  EXPECT_EQ(peer.heard(), "alive 1\n");
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, WhoLeavesIsForgotten) {
  Peer peer = join();
  Peer other = join();
  peer.leave();
  turn();
  EXPECT_EQ(hub().clients(), 1U);
  publish(2, 1, 1);
  turn();
  EXPECT_NE(other.heard().find("count 2 1 1\n"), std::string::npos);
}

TEST_F(HubTest, WhoOnlyStopsTalkingIsStillTold) {
  Peer peer = join();
  peer.stop_saying();
  turn();
  peer.heard();
  publish(2, 1, 1);
  turn();
  EXPECT_EQ(peer.heard(), "count 2 1 1\n");
  EXPECT_FALSE(peer.gone());
}

TEST_F(HubTest, BeyondTheLimitIsABye) {
  std::vector<Peer> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(join());
  Peer refused = join();
  EXPECT_EQ(refused.heard(), "bye full\n");
  EXPECT_TRUE(refused.gone());
  EXPECT_EQ(hub().figures().refused, 1U);
  peers.pop_back();
  turn();
  EXPECT_NE(join().heard(), "bye full\n");
}

TEST_F(HubTest, ASlowReaderSeesOnlyTheNewest) {
  Peer peer = join();
  constexpr std::uint64_t kChanges = 10'000;
  for (std::uint64_t i = 2; i <= kChanges; ++i) publish(i, 1, 1);
  std::string all = peer.heard();
  turn();
  all += peer.heard();
  EXPECT_LT(all.size(), 100'000U);
  const std::string newest = "count " + std::to_string(kChanges) + " 1 1\n";
  EXPECT_TRUE(all.ends_with('\n' + newest));
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, WhoTakesNothingIsDroppedInTheEnd) {
  Peer slow = join();
  Peer good = join();
  for (std::uint64_t i = 2; i <= 2000; ++i) {
    publish(i, 1, 1);
    good.heard();
  }
  now_ += seconds(30);
  beat_all();
  EXPECT_EQ(hub().clients(), 2U);
  good.heard();
  now_ += seconds(1);
  beat_all();
  EXPECT_EQ(hub().clients(), 1U);
  EXPECT_EQ(hub().figures().slow, 1U);
  slow.heard();
  EXPECT_TRUE(slow.gone());
  EXPECT_EQ(good.heard(), "alive 2000\n");
}

TEST_F(HubTest, WhoTakesAgainIsForgiven) {
  Peer peer = join();
  for (std::uint64_t i = 2; i <= 2000; ++i) publish(i, 1, 1);
  now_ += seconds(20);
  peer.heard();
  turn();
  now_ += seconds(20);
  beat_all();
  EXPECT_EQ(hub().clients(), 1U);
}

TEST_F(HubTest, RandomBytesHarmNobody) {
  std::mt19937 random(27460);
  Peer good = join();
  for (int round = 0; round < 200; ++round) {
    Peer peer = join();
    std::string bytes(1 + random() % 600, '\0');
    for (char& byte : bytes) byte = random() % 20 == 0 ? '\n' : static_cast<char>(random());
    peer.say(bytes);
    turn();
    if (random() % 2 == 0) beat_all();
    peer.leave();
    beat_all();
    ASSERT_EQ(hub().clients(), 1U);
  }
  good.heard();
  turn();
  good.heard();
  publish(2, 3, 1);
  EXPECT_EQ(good.heard(), "count 2 3 1\n");
}

TEST_F(HubTest, StoppingSaysGoodbye) {
  Peer peer = join();
  peer.heard();
  hub().stop();
  turn();
  EXPECT_EQ(peer.heard(), "bye stopping\n");
  EXPECT_TRUE(peer.gone());
  EXPECT_EQ(hub().clients(), 0U);
}

TEST_F(HubTest, TheLongestGreetingAndStateFitIntoOneBuffer) {
  options_.heartbeat = std::chrono::hours(1);
  hub().publish({UINT64_MAX, true, {100'000, 100'000}});
  EXPECT_EQ(join().heard(), "cleave-monitor 1 heartbeat=3600000\ncount 18446744073709551615 100000 100000\n");
}

}  // namespace
}  // namespace cleave::monitor
