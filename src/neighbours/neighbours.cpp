#include "neighbours/neighbours.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "neighbours/file_source.h"
#include "neighbours/monitor_source.h"
#include "neighbours/peers_source.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

// What the first launch waits at most. A daemon on this machine or host answers in well under a millisecond.
constexpr base::Nanoseconds kFirstPatience = 20ms;
// What exit() waits at most, if the thread is in the resolver.
constexpr base::Nanoseconds kLastPatience = 50ms;

bool asks(const base::Settings& settings) {
  return !settings.vms &&
         (settings.policy.kind == base::SplitPolicy::Kind::alpha || settings.policy.learns());
}

std::string as_text(const base::NeighbourSources& sources) {
  std::string text;
  const auto add = [&](const std::string& name) { text.append(text.empty() ? "" : ",").append(name); };
  if (sources.monitor) add("monitor");
  if (sources.peers) add("peers");
  for (const std::string& file : sources.files) add("file:" + file);
  return text;
}

std::string registry_for(const base::Settings& settings) {
  const bool peers = asks(settings) && settings.sources.peers;
  return settings.top || peers ? settings.registry : std::string();
}

Report::State overall(const std::vector<Report::Source>& sources) {
  const auto any = [&](Knowledge knowledge) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Report::Source& source) { return source.knowledge == knowledge; });
  };
  if (any(Knowledge::stale)) return Report::State::stale;
  return any(Knowledge::known) ? Report::State::known : Report::State::alone;
}

}  // namespace

const char* name(Report::State state) {
  static constexpr std::array kNames = {"fixed", "idle", "known", "stale", "alone", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

Neighbours::Neighbours(const base::Settings& settings)
    : settings_(settings),
      asks_(asks(settings)),
      vms_(settings.vms.value_or(asks_ ? weigh(std::nullopt, rules(), {}) : 1)),
      entry_(registry_for(settings)) {
  entry_.set_vms(vms());
}

Neighbours::~Neighbours() {
  end();
  if (follower_) static_cast<void>(follower_->stop(std::chrono::hours(1)));  // it works on this object
}

void Neighbours::begin() noexcept {
  entry_.enter();
  ask();
}

void Neighbours::ask() noexcept try {
  if (!asks_) return;
  // Held while the sources are given their moment, so that another thread's first launch waits for it too.
  const std::scoped_lock lock(mutex_);
  if (std::exchange(asked_, true) || ended_) return;
  start();
} catch (...) {  // out of memory: alone
}

void Neighbours::start() {
  Follower::Listener listener;
  listener.count = [this](unsigned vms) {
    vms_.store(vms, std::memory_order_relaxed);
    entry_.set_vms(vms);
  };
  listener.complaint = [this](const std::string& complaint) { complain(complaint); };
  follower_ = Follower::start(make_sources(), rules(), std::move(listener));
  if (follower_) follower_->await_first_answers(kFirstPatience);
}

void Neighbours::end() noexcept {
  ended_ = true;
  // A signal's handler may call exit() anywhere, even in the first launch.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && follower_) static_cast<void>(follower_->stop(kLastPatience));
  entry_.leave();
}

void Neighbours::before_fork() {
  mutex_.lock();
  entry_.lock().lock();
}

void Neighbours::after_fork_in_parent() {
  entry_.lock().unlock();
  mutex_.unlock();
}

void Neighbours::after_fork_in_child() {
  if (follower_) follower_->forsake();
  follower_.reset();  // the thread, which is not here, still counts as a user of it: nothing is torn down
  asked_ = false;
  entry_.after_fork_in_child();
  after_fork_in_parent();
}

std::vector<std::unique_ptr<Source>> Neighbours::make_sources() const {
  std::vector<std::unique_ptr<Source>> sources;
  for (const std::string& file : settings_.sources.files)
    sources.push_back(std::make_unique<FileSource>(file));
  if (settings_.sources.peers) sources.push_back(std::make_unique<PeersSource>(entry_));
  if (settings_.sources.monitor) {
    const auto addresses = settings_.monitor ? std::vector{*settings_.monitor} : usual_addresses();
    const auto seed = static_cast<std::uint64_t>(base::Clock::system().now().count()) ^
                      static_cast<std::uint64_t>(getpid()) << 40U;
    sources.push_back(
        std::make_unique<MonitorSource>(addresses, settings_.monitor.has_value(), seed, settings_.max_age));
  }
  return sources;
}

void Neighbours::complain(const std::string& complaint) {
  if (!complained_.exchange(true)) base::say(complaint + " (until then neighbours.stale applies)");
}

Report Neighbours::report() const {
  Report report;
  report.source = as_text(settings_.sources);
  if (!asks_) {
    report.state = Report::State::fixed;
    report.source = settings_.vms ? "fixed" : "none";
    return report;
  }
  // Another thread's first launch may be under way, or, in a handler that calls exit(), this thread's own.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !asked_) return report;
  report.state = Report::State::stopped;
  if (!follower_) return report;
  const base::Nanoseconds now = base::Clock::system().now();
  const Follower::Figures figures = follower_->figures();
  report.stale = figures.stale;
  report.changes = figures.changes;
  for (const SourceReport& said : figures.sources) {
    const base::Nanoseconds age = said.heard ? now - said.heard->at : base::Nanoseconds(0);
    report.sources.push_back({said, judge(said.heard, rules(), now), std::max(age, base::Nanoseconds(0))});
  }
  report.state = overall(report.sources);
  return report;
}

}  // namespace cleave::neighbours
