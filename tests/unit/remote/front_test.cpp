// The parts of the server's front, and of what the supervisor knows of it, that need neither a client nor a process.
#include <poll.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/files/discard.h"
#include "daemon/peer_key.h"
#include "remote/server/front/arrivals.h"
#include "remote/server/front/printable.h"
#include "remote/server/front/refusal_log.h"
#include "remote/server/front/relay.h"
#include "remote/server/processes/front_counters.h"
#include "remote/server/supervisor/front_process.h"
#include "remote/server/supervisor/front_requests.h"
#include "remote/transport/descriptor_passing.h"

#include <netinet/in.h>

namespace cleave::remote::server {
namespace {

using Id = Arrivals::Id;
using namespace std::chrono_literals;

constexpr ArrivalLimits kSmall{.waiting = 6, .waiting_per_peer = 4, .greeted = 3, .greeted_per_peer = 2};

TEST(Arrivals, SilentOnesAreNotGreeted) {
  Arrivals arrivals(kSmall);
  EXPECT_TRUE(arrivals.add(1, "a").may_wait);
  EXPECT_EQ(arrivals.next(), std::nullopt);
  arrivals.has_spoken(1);
  EXPECT_EQ(arrivals.next(), 1U);
  EXPECT_EQ(arrivals.next(), std::nullopt);
}

TEST(Arrivals, PeerHasAShareOfTheWaiting) {
  Arrivals arrivals(kSmall);
  for (Id id = 1; id <= 4; ++id) EXPECT_TRUE(arrivals.add(id, "a").may_wait);
  EXPECT_FALSE(arrivals.add(5, "a").may_wait);
  EXPECT_TRUE(arrivals.add(6, "b").may_wait);
  arrivals.remove(2);
  EXPECT_TRUE(arrivals.add(7, "a").may_wait);
}

TEST(Arrivals, WhoHasMostMakesRoom) {
  Arrivals arrivals(kSmall);
  for (Id id = 1; id <= 4; ++id) arrivals.add(id, "a");
  arrivals.add(5, "b");
  arrivals.add(6, "b");
  arrivals.has_spoken(1);
  const Arrivals::Place place = arrivals.add(7, "c");
  EXPECT_TRUE(place.may_wait);
  EXPECT_EQ(place.instead, 2U) << "the oldest that has said nothing";
  EXPECT_EQ(arrivals.waiting(), 6U);
  EXPECT_EQ(arrivals.next(), 1U);
}

// Each has an address of its own.
TEST(Arrivals, ManySilentPeersDoNotReplaceWhoHasSpoken) {
  Arrivals arrivals(kSmall);
  for (Id id = 1; id <= 6; ++id) arrivals.add(id, "peer " + std::to_string(id));
  EXPECT_EQ(arrivals.add(7, "a peer that sorts first").instead, 1U);
  arrivals.has_spoken(7);
  for (Id id = 8; id < 20; ++id) EXPECT_NE(arrivals.add(id, "peer " + std::to_string(id)).instead, 7U);
  EXPECT_EQ(arrivals.next(), 7U);
}

TEST(Arrivals, NobodyMakesRoomForWhoHasAsMany) {
  Arrivals arrivals(kSmall);
  for (Id id = 1; id <= 6; ++id) arrivals.add(id, id % 2 == 0 ? "a" : "b");
  const Arrivals::Place place = arrivals.add(7, "a");
  EXPECT_FALSE(place.may_wait);
  EXPECT_EQ(place.instead, std::nullopt);
}

TEST(Arrivals, PeersAreGreetedInTurn) {
  Arrivals arrivals({.waiting = 100, .waiting_per_peer = 100, .greeted = 100, .greeted_per_peer = 3});
  for (Id id = 1; id <= 4; ++id) arrivals.add(id, "a");
  arrivals.add(11, "b");
  arrivals.add(21, "c");
  for (const Id id : {1, 2, 3, 4, 11, 21}) arrivals.has_spoken(id);
  std::vector<Id> order;
  while (const auto id = arrivals.next()) order.push_back(*id);
  EXPECT_EQ(order, (std::vector<Id>{1, 11, 21, 2, 3})) << "the fourth of one peer waits";
  arrivals.remove(2);
  EXPECT_EQ(arrivals.next(), 4U);
}

TEST(Arrivals, GreetingsAreLimited) {
  Arrivals arrivals(kSmall);
  for (Id id = 1; id <= 6; ++id) {
    arrivals.add(id, std::string(1, static_cast<char>('a' + id)));
    arrivals.has_spoken(id);
  }
  for (int i = 0; i < 3; ++i) EXPECT_NE(arrivals.next(), std::nullopt);
  EXPECT_EQ(arrivals.next(), std::nullopt);
  EXPECT_EQ(arrivals.greeted(), 3U);
}

// A thousand connections of one peer, each replaced at once, some of which speak.
TEST(Arrivals, OnePeerKeepsNobodyOut) {
  Arrivals arrivals;
  Id latest = 0;
  std::set<Id> greeted;
  for (int round = 0; round < 1000; ++round) {
    const Id id = ++latest;
    const Arrivals::Place place = arrivals.add(id, "hostile");
    EXPECT_EQ(place.instead, std::nullopt);
    if (place.may_wait && round % 2 == 0) arrivals.has_spoken(id);
    while (const auto next = arrivals.next()) greeted.insert(*next);
    if (round % 10 != 0) continue;
    const Id valid = ++latest;
    ASSERT_TRUE(arrivals.add(valid, "valid").may_wait);
    arrivals.has_spoken(valid);
    EXPECT_EQ(arrivals.next(), valid);
    arrivals.remove(valid);
  }
  EXPECT_EQ(greeted.size(), ArrivalLimits{}.greeted_per_peer);
}

TEST(PeerKey, OfAUnixSocketIsTheUser) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(daemon::peer_key(ends[0]), "user " + std::to_string(::getuid()));
  for (const int end : ends) ::close(end);
}

// What a client says of itself comes from outside, and goes into logs, metrics and other clients' reports.
TEST(ClientNames, HoldNothingThatATerminalActsOn) {
  EXPECT_EQ(printable("a\x1b[31m\"\nb\u009b2Jc\u202e\xff"), "a?[31m\"?b?2Jc??");
  EXPECT_EQ(printable("Grüße"), "Grüße");
  EXPECT_LE(printable(std::string(10 * kMaxName, 'x')).size(), kMaxName);
  EXPECT_LE(printable(std::string(kMaxName - 1, 'x') + "é").size(), kMaxName) << "cut within a character";
}

TEST(PeerKey, OfTcpIsTheAddress) {
  const base::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 2), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const base::FileDescriptor client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  const base::FileDescriptor accepted(::accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(daemon::peer_key(accepted.get()), "127.0.0.1");
  EXPECT_EQ(daemon::peer_of(accepted.get()).key, "127.0.0.0/8") << "one peer may use all of them";
  EXPECT_EQ(daemon::peer_key(listener.get()), "unknown");
}

TEST(RefusalLog, LinesAreLimited) {
  RefusalLog log;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < RefusalLog::kLinesPerSecond; ++i) EXPECT_EQ(log.admit("x", start), "x");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(log.admit("x", start), std::nullopt);
  EXPECT_EQ(log.admit("x", start + 1s), "x (and 5 others before)");
  EXPECT_EQ(log.admit("x", start + 1s), "x");
}

TEST(SharedCounters, AreSeenByWhoMapsThem) {
  const SharedCounters counters = SharedCounters::make();
  const auto other = SharedCounters::map(base::FileDescriptor(::dup(counters.descriptor())));
  ASSERT_NE(other, nullptr);
  ++(*other)->refused;
  EXPECT_EQ(counters->refused, 1U);
  EXPECT_NE(::ftruncate(other->descriptor(), 0), 0) << "it would end the other process";
  EXPECT_EQ(SharedCounters::map(base::FileDescriptor(::memfd_create("small", 0))), nullptr);
}

// A relay between a client and a worker.
struct Relayed {
  Relayed() {
    int outer[2];
    int inner[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, outer), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, inner), 0);
    client = make_socket_stream(outer[0]);
    outside = make_socket_stream(outer[1]);
    inside = make_socket_stream(inner[1]);
    worker = make_socket_stream(inner[0]);
    thread = std::jthread([this] { relay(*outside, *inside, 10s); });
  }

  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> outside;
  std::unique_ptr<Stream> inside;
  std::unique_ptr<Stream> worker;
  std::jthread thread;
};

// What each end sends before it closes arrives at the other.
TEST(Relay, PassesAllBytesOn) {
  const Relayed ends;
  std::vector<char> sent(3'000'000, 'x');
  std::jthread sender([&] {
    iovec part{sent.data(), sent.size()};
    EXPECT_TRUE(ends.worker->write(std::span(&part, 1), 10s));
    ends.worker->shutdown();
  });
  std::size_t received = 0;
  std::vector<std::byte> buffer(100'000);
  std::size_t size = 0;
  while (ends.client->read(buffer, size, std::chrono::steady_clock::now() + 10s) == ReadStatus::data)
    received += size;
  EXPECT_EQ(received, sent.size());
}

// Its worker is busy in the driver, and what the client has sent fills all buffers.
TEST(Relay, EndsWithTheClientIfTheWorkerReadsNothing) {
  const Relayed ends;
  std::vector<char> much(3'000'000, 'x');
  iovec part{much.data(), much.size()};
  EXPECT_FALSE(ends.client->write(std::span(&part, 1), 200ms)) << "nobody reads it";
  ends.client->shutdown();
  EXPECT_TRUE(wait_for(ends.worker->descriptor(), POLLRDHUP, std::chrono::steady_clock::now() + 10s));
}

// What a socket does when its last reference is closed may take for ever.
TEST(Descriptors, AreDiscardedElsewhere) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  discard(base::FileDescriptor(ends[1]));
  discard(base::FileDescriptor());
  const base::FileDescriptor left(ends[0]);
  EXPECT_TRUE(wait_for(left.get(), POLLIN, std::chrono::steady_clock::now() + 10s))
      << "its writer is not closed";
}

TEST(FrontRequests, OnlyUnansweredOnesCount) {
  FrontRequests requests;
  for (unsigned i = 0; i < kMaxPeerRequests; ++i) EXPECT_TRUE(requests.begin(1));
  EXPECT_FALSE(requests.begin(1));
  for (unsigned i = 0; i < 2; ++i) requests.end(1);
  EXPECT_TRUE(requests.begin(1));
  EXPECT_FALSE(requests.begin(1));
}

TEST(FrontRequests, WhatDoesNotReachTheFrontDoesNotCount) {
  FrontRequests requests;
  for (unsigned i = 0; i < 3 * kMaxPeerRequests; ++i) {
    EXPECT_TRUE(requests.begin(1)) << i;
    requests.lose();
  }
}

TEST(FrontRequests, NewFrontOwesNoAnswers) {
  FrontRequests requests;
  for (unsigned i = 0; i < kMaxPeerRequests; ++i) EXPECT_TRUE(requests.begin(1));
  EXPECT_TRUE(requests.begin(2));
  requests.end(1);  // of the first, too late
  for (unsigned i = 1; i < kMaxPeerRequests; ++i) EXPECT_TRUE(requests.begin(2));
  EXPECT_FALSE(requests.begin(2));
}

TEST(RateLimit, LetsABurstThrough) {
  constexpr std::chrono::milliseconds kInterval{1};
  constexpr int kBurst = 128;
  base::RateLimit rate(kInterval, kBurst);
  base::RateLimit::Clock::time_point now{std::chrono::hours(1)};
  const auto count_all = [&] {
    int read = 0;
    for (; rate.next() <= now; ++read) rate.count(now);
    return read;
  };
  EXPECT_EQ(count_all(), kBurst);
  EXPECT_LE(rate.next() - now, kInterval);
  now += 10 * kInterval;
  EXPECT_EQ(count_all(), 10);
  now += std::chrono::hours(1);
  EXPECT_EQ(count_all(), kBurst) << "a rest is worth no more";
}

TEST(FrontProcess, SaysWhatIsLost) {
  const SharedCounters counters = SharedCounters::make();
  const std::vector<daemon::GivenValue> options;
  FrontProcess front(options, counters);
  EXPECT_FALSE(front.forward(PeerMessage{})) << "it has not been started";
}

}  // namespace
}  // namespace cleave::remote::server
