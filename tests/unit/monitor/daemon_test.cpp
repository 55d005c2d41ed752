// The daemon as a whole, with real sockets and a fake hypervisor.
#include "monitor/daemon.h"

#include <regex>
#include <thread>

#include <gtest/gtest.h>

#include "fake_hypervisor.h"
#include "test_client.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::monitor {
namespace {

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    options_.connect = {"fake:"};
    options_.listen = {*base::parse_address("unix:" + path_)};
    options_.metrics = {*base::parse_address("unix:" + metrics_path_)};
    options_.interval = std::chrono::milliseconds(100);
    options_.heartbeat = std::chrono::milliseconds(100);
  }
  ~DaemonTest() override { stop(); }

  void start() {
    daemon_.emplace(context_, hypervisor_, options_, open_sockets(options_));
    loop_ = std::thread([this] { context_.run(); });
  }
  void stop() {
    hypervisor_.hang(false);
    hypervisor_.hang_in_statistics(false);
    if (!loop_.joinable()) return;
    asio::post(context_, [this] { daemon_->stop(); });
    loop_.join();
  }

  static bool receives(TestClient& peer, const std::string& line) {
    std::string all;
    return kit::eventually([&] { return (all += peer.received()).find(line) != std::string::npos; });
  }

  static bool receives_count(TestClient& peer, unsigned running) {
    const std::regex line("count [0-9]+ " + std::to_string(running) + " [0-9]+\n");
    std::string all;
    return kit::eventually([&] { return std::regex_search(all += peer.received(), line); });
  }

  std::string get(const std::string& request) {
    TestClient peer = TestClient::to(metrics_path_);
    peer.say(request);
    std::string all;
    EXPECT_TRUE(kit::eventually([&] {
      all += peer.received();
      return peer.gone();
    }));
    return all;
  }

  kit::TemporaryFolder folder_;
  std::string path_ = folder_.file("monitor.sock");
  std::string metrics_path_ = folder_.file("metrics.sock");
  Options options_;
  FakeHypervisor hypervisor_;
  asio::io_context context_;
  std::optional<Daemon> daemon_;
  std::thread loop_;
};

TEST_F(DaemonTest, AChangeReachesAClient) {
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives(peer, " 0 0\n"));
  hypervisor_.run(1, true);
  EXPECT_TRUE(receives(peer, " 1 1\n"));
  EXPECT_TRUE(receives(peer, " 1 0\n"));
  hypervisor_.run(1, false);
  EXPECT_TRUE(receives(peer, " 0 0\n"));
}

TEST_F(DaemonTest, SeveralHypervisorsAreSummed) {
  options_.connect = {"fake:a", "fake:b"};
  hypervisor_.run(1, true);
  hypervisor_.run(2, true);
  start();
  TestClient peer = TestClient::to(path_);
  EXPECT_TRUE(receives_count(peer, 4));
}

TEST_F(DaemonTest, BlockedHypervisorDelaysNoClient) {
  hypervisor_.run(1, true);
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives_count(peer, 1));
  hypervisor_.hang(true);
  EXPECT_TRUE(receives(peer, "unknown "));
  TestClient another = TestClient::to(path_);
  EXPECT_TRUE(receives(another, "unknown "));
  another.say("ping\n");
  EXPECT_TRUE(receives(another, "alive "));
  EXPECT_TRUE(get("GET /healthz HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503 "));
  hypervisor_.hang(false);
  EXPECT_TRUE(receives_count(peer, 1));
}

TEST_F(DaemonTest, DomainThatHangsInTheStatisticsClearsThePressureAlone) {
  options_.pressure_interval = std::chrono::milliseconds(100);
  hypervisor_.run(1, true);
  hypervisor_.schedule(1, std::chrono::seconds(1), std::chrono::seconds(1));
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives(peer, " 1 0 pressure=0\n"));
  hypervisor_.hang_in_statistics(true);
  ASSERT_TRUE(kit::eventually([&] { return hypervisor_.blocked_statistics == 1; }));
  std::string all;
  EXPECT_TRUE(kit::eventually([&] { return (all += peer.received()).find(" 1 0\n") != std::string::npos; }));
  EXPECT_EQ(all.find("unknown "), std::string::npos) << all;
  hypervisor_.run(2, true);
  EXPECT_TRUE(receives(peer, " 2 1\n"));
  hypervisor_.hang_in_statistics(false);
  EXPECT_TRUE(receives(peer, " 2 0 pressure=0\n"));
}

TEST_F(DaemonTest, PressureIsFollowedCloselyForClients) {
  options_.pressure_interval = std::chrono::hours(1);
  options_.metrics.clear();  // who reads them follows as well
  hypervisor_.run(1, true);
  hypervisor_.schedule(1, std::chrono::seconds(1), std::chrono::seconds(1));
  start();
  ASSERT_TRUE(kit::eventually([&] { return hypervisor_.statistics_calls == 1; }));
  {
    TestClient peer = TestClient::to(path_);
    ASSERT_TRUE(receives(peer, " 1 0\n"));
    EXPECT_EQ(hypervisor_.statistics_calls, 1U);
  }
  // The sampler takes one more when it is told that nobody follows any more.
  EXPECT_TRUE(kit::eventually([&] { return hypervisor_.statistics_calls == 2; }));
}

TEST_F(DaemonTest, HypervisorBlockedFromTheStartDelaysNoClient) {
  hypervisor_.hang(true);
  start();
  TestClient peer = TestClient::to(path_);
  EXPECT_TRUE(receives(peer, "unknown 1\n"));
  EXPECT_TRUE(receives(peer, "alive 1\n"));
}

TEST_F(DaemonTest, AnswersOverHttp) {
  hypervisor_.run(1, true);
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives_count(peer, 1));
  EXPECT_TRUE(get("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
  const std::string metrics = get("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_NE(metrics.find("\r\n\r\n# HELP "), std::string::npos);
  EXPECT_NE(metrics.find("\ncleave_monitor_running 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("\ncleave_monitor_clients 1\n"), std::string::npos);
  const std::string head = get("HEAD /metrics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"));
  EXPECT_TRUE(get("GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(get("BREW /coffee HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(get(std::string(2 * daemon::HttpServer::kMaxRequestSize, 'x')).starts_with("HTTP/1.1 400 "));
}

TEST_F(DaemonTest, IdleHttpConnectionsKeepNobodyOut) {
  start();
  std::vector<TestClient> idle;
  for (std::size_t i = 0; i < daemon::HttpServer::kMaxConnections; ++i) {
    idle.push_back(TestClient::to(metrics_path_));
    idle.back().say("GET /");
  }
  EXPECT_NE(get("GET /healthz HTTP/1.1\r\n\r\n"), "");
  idle.front().received();
  EXPECT_TRUE(idle.front().gone());
}

TEST_F(DaemonTest, StoppingSendsByeAndRemovesTheSocket) {
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives(peer, "cleave-monitor 1 "));
  stop();
  EXPECT_TRUE(receives(peer, "bye stopping\n"));
  EXPECT_TRUE(daemon_->wait_until_ended(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_FALSE(TestClient::to(path_).connected());
}

TEST_F(DaemonTest, StopsAtAnyTimeWithOpenConnections) {
  for (int round = 0; round < 50; ++round) {
    asio::io_context context;
    Daemon daemon(context, hypervisor_, options_, open_sockets(options_));
    std::thread loop([&] { context.run(); });
    TestClient client = TestClient::to(path_);
    TestClient scraper = TestClient::to(metrics_path_);
    scraper.say("GET /");
    EXPECT_TRUE(receives(client, "cleave-monitor 1 "));
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 7));
    asio::post(context, [&] { daemon.stop(); });
    loop.join();
  }
}

TEST_F(DaemonTest, StatusLineIsReadable) {
  hypervisor_.run(1, true);
  start();
  TestClient peer = TestClient::to(path_);
  ASSERT_TRUE(receives(peer, " 1 0\n"));
  stop();
  EXPECT_EQ(daemon_->status(), "1 running, 0 busy; 1 of 1 hypervisors connected");
}

}  // namespace
}  // namespace cleave::monitor
