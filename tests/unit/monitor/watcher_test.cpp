#include "monitor/hypervisor/watcher.h"

#include <atomic>

#include <gtest/gtest.h>

#include "fake_hypervisor.h"
#include "tests/kit/eventually.h"

namespace cleave::monitor {
namespace {

using std::chrono::milliseconds;

// So long that nothing of it happens within a test.
constexpr std::chrono::hours kNever{1000};

WatcherOptions prompt() { return {milliseconds(2), milliseconds(1), milliseconds(1), milliseconds(4), 0.2}; }

class Inbox {
 public:
  Watcher::Sink sink() {
    return [this](const Report& report) {
      const std::lock_guard lock(mutex_);
      newest_ = report;
      ++reports_;
    };
  }
  Report newest() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  unsigned reports() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  bool counts(unsigned running) {
    return kit::eventually([&] { return newest().counts && newest().counts->running == running; });
  }
  bool has_lost_connection() {
    return kit::eventually([&] { return reports() > 0 && !newest().connected && !newest().counts; });
  }

 private:
  std::mutex mutex_;
  Report newest_;
  unsigned reports_ = 0;
};

class WatcherTest : public testing::Test {
 protected:
  ~WatcherTest() override { hypervisor_.hang_in_statistics(false); }

  void watch(const WatcherOptions& options) {
    watcher_.emplace(hypervisor_, "fake:", options, inbox_.sink());
  }

  Inbox inbox_;
  FakeHypervisor hypervisor_;
  std::optional<Watcher> watcher_;
};

TEST_F(WatcherTest, CountsRunningDomainsAtStart) {
  hypervisor_.run(1, true);
  hypervisor_.run(2, true);
  watch(prompt());
  EXPECT_TRUE(inbox_.counts(2));
  EXPECT_TRUE(inbox_.newest().connected);
}

TEST_F(WatcherTest, EventUpdatesTheCount) {
  WatcherOptions options = prompt();
  options.interval = options.settle = kNever;
  watch(options);
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor_.run(1, true);
  EXPECT_TRUE(inbox_.counts(1));
  hypervisor_.run(1, false);
  EXPECT_TRUE(inbox_.counts(0));
  EXPECT_EQ(hypervisor_.list_calls, 1U);
  EXPECT_EQ(inbox_.newest().events, 2U);
}

TEST_F(WatcherTest, EventTriggersAnEarlyListing) {
  WatcherOptions options = prompt();
  options.interval = kNever;
  watch(options);
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor_.run(1, true, true);
  hypervisor_.run(2, true);
  EXPECT_TRUE(inbox_.counts(2));
}

TEST_F(WatcherTest, ListingCorrectsLostEvents) {
  hypervisor_.run(1, true);
  watch(prompt());
  ASSERT_TRUE(inbox_.counts(1));
  hypervisor_.run(2, true, true);
  hypervisor_.run(3, true, true);
  EXPECT_TRUE(inbox_.counts(3));
  hypervisor_.run(1, false, true);
  EXPECT_TRUE(inbox_.counts(2));
  EXPECT_GE(inbox_.newest().corrections, 2U);
}

TEST_F(WatcherTest, IdleDomainBecomesNotBusy) {
  hypervisor_.run(1, true);
  watch(prompt());
  EXPECT_TRUE(kit::eventually([&] { return inbox_.newest().counts == Counts{1, 0}; }));
}

TEST_F(WatcherTest, RetriesUntilConnected) {
  hypervisor_.refuse(true);
  watch(prompt());
  EXPECT_TRUE(kit::eventually([&] { return hypervisor_.attempts >= 5; }));
  EXPECT_FALSE(inbox_.newest().connected);
  hypervisor_.run(1, true);
  hypervisor_.refuse(false);
  EXPECT_TRUE(inbox_.counts(1));
  EXPECT_EQ(inbox_.newest().losses, 0U);
}

TEST_F(WatcherTest, ReconnectsAfterALoss) {
  WatcherOptions options = prompt();
  options.interval = kNever;
  watch(options);
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor_.refuse(true);
  hypervisor_.die();
  EXPECT_TRUE(inbox_.has_lost_connection());
  EXPECT_TRUE(kit::eventually([&] { return inbox_.newest().losses == 1; }));
  hypervisor_.run(1, true, true);  // while no events arrive
  hypervisor_.refuse(false);
  EXPECT_TRUE(inbox_.counts(1));
  hypervisor_.run(2, true);
  EXPECT_TRUE(inbox_.counts(2));
  EXPECT_EQ(inbox_.newest().losses, 1U);
}

TEST_F(WatcherTest, FailedListingDetectsADeadConnection) {
  watch(prompt());
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor_.fail(true);
  EXPECT_TRUE(inbox_.has_lost_connection());
  hypervisor_.fail(false);
  EXPECT_TRUE(inbox_.counts(0));
}

TEST_F(WatcherTest, ALossIsReportedWhileACallHangs) {
  watch(prompt());
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor_.hang(true);
  ASSERT_TRUE(kit::eventually([&] { return hypervisor_.blocked_calls == 1; }));
  hypervisor_.die();
  EXPECT_TRUE(inbox_.has_lost_connection());
  hypervisor_.hang(false);
  EXPECT_TRUE(inbox_.counts(0));
}

TEST_F(WatcherTest, EventsOfADeadConnectionAreIgnored) {
  std::shared_ptr<HypervisorEvents> old;
  class Keeping : public FakeHypervisor {
   public:
    std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                  std::shared_ptr<HypervisorEvents> events) override {
      if (!first) first = events;
      return FakeHypervisor::connect(uri, std::move(events));
    }
    std::shared_ptr<HypervisorEvents> first;
  } hypervisor;
  WatcherOptions options = prompt();
  options.interval = options.settle = kNever;
  Watcher watcher(hypervisor, "fake:", options, inbox_.sink());
  ASSERT_TRUE(inbox_.counts(0));
  hypervisor.die();
  ASSERT_TRUE(kit::eventually([&] { return inbox_.newest().losses == 1 && inbox_.newest().counts; }));
  hypervisor.first->changed(uuid_of(7), true);
  hypervisor.first->lost("again");
  hypervisor.run(1, true);
  EXPECT_TRUE(inbox_.counts(1));
  EXPECT_EQ(inbox_.newest().losses, 1U);
}

TEST_F(WatcherTest, ReportsNothingAfterStop) {
  watch(prompt());
  ASSERT_TRUE(inbox_.counts(0));
  watcher_->stop();
  const unsigned before = inbox_.reports();
  hypervisor_.run(1, true);
  EXPECT_TRUE(watcher_->wait_until_ended(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(inbox_.reports(), before);
}

TEST_F(WatcherTest, IsNotStoppedWhileACallHangs) {
  hypervisor_.hang(true);
  watch(prompt());
  ASSERT_TRUE(kit::eventually([&] { return hypervisor_.blocked_calls == 1; }));
  watcher_->stop();
  EXPECT_FALSE(watcher_->wait_until_ended(std::chrono::steady_clock::now() + milliseconds(20)));
  hypervisor_.hang(false);
  EXPECT_TRUE(watcher_->wait_until_ended(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
}

TEST_F(WatcherTest, PressureComesFromTheDomainsElseFromTheHost) {
  using std::chrono::seconds;
  const auto pressure_is = [&](bool (*wanted)(double)) {
    return kit::eventually([&] { return inbox_.newest().pressure && wanted(*inbox_.newest().pressure); });
  };
  WatcherOptions options = prompt();
  options.pressure.interval = milliseconds(1);
  std::atomic<long> host_seconds{0};
  options.pressure.host_stall = [&] {
    return std::optional<std::chrono::nanoseconds>(seconds(++host_seconds));
  };
  hypervisor_.run(1, true);
  watch(options);
  // A second of waiting within a millisecond: as much as there can be.
  ASSERT_TRUE(pressure_is([](double pressure) { return pressure > 0.9; }));
  hypervisor_.schedule(1, seconds(1), seconds(0));
  const long before = host_seconds;
  ASSERT_TRUE(pressure_is([](double pressure) { return pressure < 0.9; }));
  EXPECT_LE(host_seconds, before + 1) << "the host is not asked any more";
}

TEST_F(WatcherTest, DomainThatHangsInTheStatisticsDelaysNeitherCountNorStop) {
  hypervisor_.hang_in_statistics(true);
  hypervisor_.run(1, true);
  watch(prompt());
  ASSERT_TRUE(kit::eventually([&] { return hypervisor_.blocked_statistics == 1; }));
  hypervisor_.run(2, true, true);
  EXPECT_TRUE(inbox_.counts(2));
  EXPECT_TRUE(kit::eventually([&] {
    return inbox_.newest().counts == Counts{2, 0};
  })) << "samples go on as well";
  watcher_->stop();
  EXPECT_TRUE(watcher_->wait_until_ended(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_FALSE(watcher_->wait_for_sampler(std::chrono::steady_clock::now() + milliseconds(20)));
  hypervisor_.hang_in_statistics(false);
  EXPECT_TRUE(watcher_->wait_for_sampler(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
}

// By the time at which the next sample is due, since none of these comes within a test.
TEST_F(WatcherTest, PressureIsSampledSeldomWhileNobodyFollowsIt) {
  using std::chrono::hours;
  const auto due_in = [&] { return inbox_.newest().pressure_due - std::chrono::steady_clock::now(); };
  hypervisor_.run(1, true);
  hypervisor_.schedule(1, std::chrono::seconds(1), std::chrono::seconds(1));
  WatcherOptions options = prompt();
  options.pressure.interval = hours(2);
  watch(options);
  // In a moment, if the sampler looks before the first listing.
  ASSERT_TRUE(kit::eventually([&] { return due_in() > hours(1) && due_in() < hours(3); }));
  EXPECT_FALSE(inbox_.newest().pressure);
  watcher_->follow_pressure_closely(true);
  watcher_->follow_pressure_closely(false);
  ASSERT_TRUE(kit::eventually([&] { return due_in() > hours(PressureSampler::kIdleFactor); }))
      << "one more sample, since the receiver expects it sooner";
  EXPECT_TRUE(inbox_.newest().pressure);
  EXPECT_EQ(hypervisor_.statistics_calls, 2U);
}

TEST_F(WatcherTest, PressureIsSampledSeldomAfterAFailure) {
  using std::chrono::hours;
  class Failing : public FakeHypervisor {
   public:
    std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                  std::shared_ptr<HypervisorEvents> events) override {
      if (!events) throw HypervisorError("too many connections");
      return FakeHypervisor::connect(uri, std::move(events));
    }
  } hypervisor;
  WatcherOptions options = prompt();
  options.pressure.interval = hours(2);
  Watcher watcher(hypervisor, "fake:", options, inbox_.sink());
  watcher.follow_pressure_closely(true);
  const auto due_in = [&] { return inbox_.newest().pressure_due - std::chrono::steady_clock::now(); };
  ASSERT_TRUE(kit::eventually([&] {
    return due_in() > hours(PressureSampler::kIdleFactor) &&
           due_in() < hours(3 * PressureSampler::kIdleFactor);
  }));
  EXPECT_TRUE(inbox_.newest().counts) << "the count does without it";
  EXPECT_FALSE(inbox_.newest().pressure);
}

TEST_F(WatcherTest, PressureIsUnknownWithoutStatistics) {
  hypervisor_.run(1, true);
  WatcherOptions options = prompt();
  options.pressure.interval = milliseconds(1);
  watch(options);
  ASSERT_TRUE(inbox_.counts(1));
  ASSERT_TRUE(kit::eventually([&] { return inbox_.newest().listings > 3; }));
  EXPECT_FALSE(inbox_.newest().pressure);
}

}  // namespace
}  // namespace cleave::monitor
