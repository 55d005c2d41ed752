#include "interpose/broker/broker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "base/files/wake_channel.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/broker/figures_page.h"
#include "interpose/broker/messages.h"
#include "limits/live_limits.h"
#include "limits/memory_ledger.h"
#include "neighbours/peers_source.h"
#include "neighbours/registry_entry.h"
#include "turns/turns.h"

namespace cleave::interpose {
namespace {

// How often the settings and the other process's figures are checked.
constexpr int kPeriodMs = 500;
// How long a holder that should have yielded may go on, and how often that is checked while it sends something.
constexpr turns::Ns kLongestOverrun = 1'000'000'000;
constexpr turns::Ns kBetweenLooks = 20'000'000;
// Calls that wait: the other process makes one at a time on a device.
constexpr std::size_t kMostWaitingCalls = 16;
// What wakes all other participants of a device: more often than a program needs.
constexpr std::chrono::milliseconds kBetweenCalls{20};
constexpr int kMostCallsAtOnce = 64;
// What takes locks that other participants share, or the broker's time: more often than a program that waits for its answers can.
constexpr std::chrono::microseconds kBetweenRequests{25};
constexpr int kMostRequestsAtOnce = 400;
// Each change of a weight holds up all other participants of a device for a moment.
constexpr std::chrono::milliseconds kBetweenWeights{5};

// How long ago it was sent, by the other side's word.
turns::Ns time_since(const BrokerRequest& request) {
  const turns::Ns now = turns::monotonic_now();
  return now - std::clamp<turns::Ns>(request.sent_at, now - kLongestOverrun, now);
}

bool wakes_others(BrokerOp op) { return op == BrokerOp::join || op == BrokerOp::leave; }

}  // namespace

class Broker::State {
 public:
  // One of the devices, and what the other process has on it.
  struct Device {
    std::uint64_t identity = 0;
    std::string name;
    std::unique_ptr<limits::MemoryLedger> ledger;
    bool ledger_failed = false;
    std::unique_ptr<turns::Turns> turns;
    struct {
      unsigned divisor = 1;
      bool is_changed = false;  // it has not been applied
      base::RateLimit limit{kBetweenWeights, 1};
    } weight;
    struct {
      std::uint64_t turn = 0;  // that it should have yielded; 0: none
      turns::Ns since = 0;
    } overdue;
    std::atomic<int> interrupt{0};
    std::atomic<bool> has_news{false};
    base::RateLimit calls{kBetweenCalls, kMostCallsAtOnce};  // of all others
    base::RateLimit requests{kBetweenRequests, kMostRequestsAtOnce};

    // The calls that wait are made by a thread of their own.
    struct {
      std::thread thread;
      base::Mutex mutex;
      base::CondVar changed;
      std::deque<BrokerRequest> queue CLEAVE_GUARDED_BY(mutex);
    } waits;
  };

  State(int channel, FiguresPage& page, const base::Configuration& configuration)
      : channel_(channel),
        page_(page),
        settings_(configuration.settings),
        live_(configuration),
        entry_(forks_, settings_.registry) {
    news_.open();  // without it, news is sent when the settings are checked
  }

  std::string run(const std::function<void()>& show_life);

 private:
  [[nodiscard]] bool is_capped() const { return live_.cap().permille != 0 && !live_.cap().borrow; }
  bool receive();
  bool handle(const BrokerRequest& request);
  void handle_turns(std::uint8_t number, Device& device, const BrokerRequest& request);
  void join(std::uint8_t number, Device& device, const BrokerRequest& request);
  bool wait_for_turn(std::uint8_t number, Device& device, const BrokerRequest& request);
  void serve_waits(std::uint8_t number, Device& device);
  void end_overruns(turns::Ns now);
  base::RateLimit::Clock::time_point apply_weights();
  void book(std::uint8_t number, Device& device, const BrokerRequest& request);
  void send(BrokerAnswer answer, std::uint8_t number, Device& device);
  void note_news(Device& device);
  void send_news();
  [[nodiscard]] bool can_send() const;
  [[nodiscard]] bool wait();
  void count_peers();
  void follow_settings();
  void fail(const std::string& why);

  const int channel_;
  base::WakeChannel news_;                            // a device may have some
  base::RateLimit::Clock::time_point receives_at_{};  // not before
  FiguresPage& page_;
  const base::Settings settings_;
  limits::LiveLimits live_;
  base::ForkLocks forks_;
  neighbours::RegistryEntry entry_;
  neighbours::PeersSource peers_{entry_};
  bool sealed_ = false;
  std::vector<std::unique_ptr<Device>> devices_;
  std::atomic<bool> failed_{false};
  base::Mutex mutex_;
  std::string why_ CLEAVE_GUARDED_BY(mutex_);
};

// For one that has limits there is no going on without.
void Broker::State::fail(const std::string& why) {
  const base::MutexLock lock(mutex_);
  if (why_.empty()) why_ = why;
  failed_ = true;
  ::shutdown(channel_, SHUT_RDWR);  // run() ends
}

// What the other side has not read is little (run()), unless it has far more calls waiting than it has threads.
void Broker::State::send(BrokerAnswer answer, std::uint8_t number, Device& device) {
  answer.device = number;
  if (device.turns) {
    turns::Turns& turns = *device.turns;
    answer.has_joined = turns.has_joined() ? 1 : 0;
    answer.takes_turns = turns.contended() ? 1 : 0;
    answer.haste = static_cast<std::uint8_t>(turns.haste_of_others());
    answer.pauses = turns.pauses() ? 1 : 0;
    answer.waits = turns.waits();
    if (answer.has_joined == 0 && answer.problem[0] == '\0') put_text(answer.problem, turns.problem());
  }
  if (::send(channel_, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    ::shutdown(channel_, SHUT_RDWR);
}

// In the thread that has noticed. However often that is, and however long the other side does not read, there is one piece of news of a
// device, and it says how things are when it is sent.
void Broker::State::note_news(Device& device) {
  if (!device.has_news.exchange(true)) news_.wake();
}

void Broker::State::send_news() {
  for (std::size_t i = 0; i < devices_.size() && can_send(); ++i) {
    if (devices_[i]->has_news.exchange(false)) send({}, static_cast<std::uint8_t>(i), *devices_[i]);
  }
}

// For a unix socket: less than a quarter of what may be on the way has not been read.
bool Broker::State::can_send() const {
  pollfd watched{channel_, POLLOUT, 0};
  return ::poll(&watched, 1, 0) > 0;
}

void Broker::State::join(std::uint8_t number, Device& device, const BrokerRequest& request) {
  turns::Options options;
  options.folder = settings_.registry;
  options.identity = std::to_string(device.identity);
  options.device = device.name;
  options.weight = live_.weight();
  options.cap = static_cast<std::uint16_t>(live_.cap().permille);
  options.borrows = live_.cap().borrow;
  options.tenant = live_.tenant();
  options.priority = turns::priority_of(settings_.turns.priority);
  options.declared = request.declared != 0;
  options.on_change = [this, &device] { note_news(device); };
  if (!device.turns) {
    device.turns = std::make_unique<turns::Turns>(forks_, std::move(options));
    device.waits.thread = std::thread([this, number, &device] { serve_waits(number, device); });
  }
  std::string problem;
  BrokerAnswer answer;
  answer.number = request.number;
  answer.result = device.turns->enter(problem) ? 1 : 0;
  put_text(answer.problem, problem);
  if (answer.result == 0 && is_capped()) fail("no turns: " + problem);
  send(answer, number, device);
}

// In the device's thread.
void Broker::State::serve_waits(std::uint8_t number, Device& device) {
  auto& waits = device.waits;
  base::MutexLock lock(waits.mutex);
  for (;;) {
    while (waits.queue.empty()) waits.changed.wait(lock);
    const BrokerRequest request = waits.queue.front();
    lock.unlock();
    BrokerAnswer answer;
    answer.number = request.number;
    if (request.op == BrokerOp::begin) {
      answer.result = device.turns->begin() ? 1 : 0;
    } else {
      answer.result = device.turns->yield(&device.interrupt) ? 1 : 0;
    }
    answer.turn_began = device.turns->turn_began();
    if (answer.result == 0 && is_capped() && !device.turns->has_joined())
      fail("no turns any more: " + device.turns->problem());
    lock.lock();
    waits.queue.pop_front();
    lock.unlock();
    send(answer, number, device);
    lock.lock();
  }
}

bool Broker::State::wait_for_turn(std::uint8_t number, Device& device, const BrokerRequest& request) {
  if (!device.turns) {
    BrokerAnswer answer;
    answer.number = request.number;
    send(answer, number, device);
    return true;
  }
  if (request.op == BrokerOp::yield) {
    device.interrupt = 0;
    device.turns->credit(time_since(request));
  }
  const base::MutexLock lock(device.waits.mutex);
  if (device.waits.queue.size() == kMostWaitingCalls) return false;
  device.waits.queue.push_back(request);
  device.waits.changed.notify_one();
  return true;
}

// Most requests of a holder are heartbeats, or do not end its turn. So the broker does not rely on them: a holder that
// has kept its turn for too long is treated as if it had ended it.
void Broker::State::end_overruns(turns::Ns now) {
  static const std::atomic<int> at_once{1};
  for (const auto& device : devices_) {
    const std::uint64_t turn = device->turns ? device->turns->overdue_turn() : 0;
    if (turn == 0 || turn != device->overdue.turn) {
      device->overdue.turn = turn;
      device->overdue.since = now;
    } else if (now - device->overdue.since > kLongestOverrun) {
      static_cast<void>(device->turns->yield(&at_once));
    }
  }
}

void Broker::State::handle_turns(std::uint8_t number, Device& device, const BrokerRequest& request) {
  BrokerAnswer answer;
  answer.number = request.number;
  const auto duration = std::clamp<turns::Ns>(request.duration, 0, kLongestOverrun);
  turns::Turns* const turns = device.turns.get();
  if (turns != nullptr) {
    switch (request.op) {
      case BrokerOp::should_yield:
        answer.result = turns->should_yield() ? 1 : 0;
        break;
      case BrokerOp::interrupt:
        device.interrupt = 1;
        break;
      case BrokerOp::end:
        turns->credit(time_since(request));
        turns->end(duration);
        break;
      case BrokerOp::credit:
        turns->credit(duration);
        break;
      case BrokerOp::weigh:
        device.weight.divisor =
            static_cast<unsigned>(std::clamp<std::uint64_t>(request.divisor, 1, turns::kMaxWeight));
        device.weight.is_changed = true;  // apply_weights()
        break;
      case BrokerOp::leave:
        turns->leave();
        break;
      default:
        break;
    }
  }
  if (request.number != 0) send(answer, number, device);
}

// Of the last weights that have been sent. Returns when there is another one to apply.
base::RateLimit::Clock::time_point Broker::State::apply_weights() {
  const auto now = base::RateLimit::Clock::now();
  auto next = base::RateLimit::Clock::time_point::max();
  for (const auto& device : devices_) {
    if (!device->weight.is_changed) continue;
    if (device->weight.limit.next() > now) {
      next = std::min(next, device->weight.limit.next());
      continue;
    }
    device->weight.limit.count(now);
    device->weight.is_changed = false;
    device->turns->set_weight(live_.weight(), device->weight.divisor);
  }
  return next;
}

// The limit is that of the settings here, whatever the other process takes it for.
void Broker::State::book(std::uint8_t number, Device& device, const BrokerRequest& request) {
  using Answer = limits::MemoryLedger::Answer;
  const bool is_limited = live_.memory() != 0;
  std::string problem;
  if (!device.ledger && !device.ledger_failed) {
    device.ledger = limits::MemoryLedger::open(settings_.registry, std::to_string(device.identity),
                                               live_.tenant(), problem, device.name);
  }
  BrokerAnswer answer;
  answer.number = request.number;
  const Answer booked = device.ledger ? device.ledger->book(request.bytes, live_.memory()) : Answer::unusable;
  if (booked == Answer::unusable && !std::exchange(device.ledger_failed, true)) {
    base::log_line((is_limited ? "no memory, since its limit cannot be kept: " : "memory is not booked: ") +
                   (device.ledger ? device.ledger->problem() : problem));
    device.ledger.reset();
  }
  answer.result = booked == Answer::booked || (booked == Answer::unusable && !is_limited) ? 1 : 0;
  answer.excess = booked == Answer::beyond ? device.ledger->excess() : request.bytes;
  send(answer, number, device);
}

// False: no message of the other side's that there may be.
bool Broker::State::handle(const BrokerRequest& request) {
  if (request.op > kLastBrokerOp) return false;
  if (request.op == BrokerOp::declare) {
    if (sealed_ || devices_.size() == kMostBrokeredDevices) return false;
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->identity = request.identity;
    devices_.back()->name = text_in(request.name);
    return true;
  }
  if (request.op == BrokerOp::seal) return !std::exchange(sealed_, true);
  if (!sealed_ || request.device >= devices_.size()) return false;
  Device& device = *devices_[request.device];
  const auto now = base::RateLimit::Clock::now();
  device.requests.count(now);
  if (wakes_others(request.op)) device.calls.count(now);
  receives_at_ = std::max({receives_at_, device.requests.next(), device.calls.next()});
  switch (request.op) {
    case BrokerOp::join:
      join(request.device, device, request);
      return true;
    case BrokerOp::begin:
    case BrokerOp::yield:
      return wait_for_turn(request.device, device, request);
    case BrokerOp::book:
      book(request.device, device, request);
      return true;
    case BrokerOp::release:
      if (device.ledger) device.ledger->release(request.bytes);
      return true;
    default:
      handle_turns(request.device, device, request);
      return true;
  }
}

// Descriptors that come with a message the kernel drops.
bool Broker::State::receive() {
  BrokerRequest request;
  const ssize_t got = ::recv(channel_, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got == static_cast<ssize_t>(sizeof request) && handle(request)) return true;
  if (got > 0) base::log_line("the broker of a worker ends: the worker has sent it what is no message");
  return false;
}

// Until there is something to do, at the latest for the period. A request is read only while earlier answers are being
// read, so a process that reads no answers gets none, and waits. True: the channel is to be read.
bool Broker::State::wait() {
  auto until = apply_weights();
  const bool can_send = this->can_send();
  if (can_send) send_news();
  const auto now = base::RateLimit::Clock::now();
  const bool may_receive = can_send && receives_at_ <= now;
  if (can_send && !may_receive) until = std::min(until, receives_at_);
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  const int events = !can_send ? POLLOUT : may_receive ? POLLIN : 0;
  const int most = static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, kPeriodMs));
  std::array<pollfd, 2> watched{pollfd{channel_, static_cast<short>(events), 0},
                                pollfd{news_.descriptor(), POLLIN, 0}};
  if (::poll(watched.data(), watched.size(), most) <= 0) return false;
  if (watched[1].revents != 0) news_.drain();
  return (watched[0].revents & ~POLLOUT) != 0;
}

// The other process sees no registry.
void Broker::State::count_peers() {
  const auto before = peers_.last_count();
  peers_.step(base::Clock::system().now());
  const auto count = peers_.last_count();
  if (count && (!before || count->at != before->at)) page_.put_peers(count->vms);
}

void Broker::State::follow_settings() {
  if (live_.poll()) {
    for (const auto& device : devices_) {
      if (!device->turns) continue;
      device->turns->set_weight(live_.weight(), device->weight.divisor);
      device->turns->set_cap(static_cast<std::uint16_t>(live_.cap().permille), live_.cap().borrow);
    }
  }
  page_.copy_to(entry_, [this](std::uint64_t identity) {
    return std::any_of(devices_.begin(), devices_.end(),
                       [&](const auto& each) { return each->identity == identity; });
  });
  if (settings_.sources.peers) count_peers();
}

std::string Broker::State::run(const std::function<void()>& show_life) {
  bool open = true;
  turns::Ns looked = 0;
  turns::Ns looked_for_overruns = 0;
  while (open && !failed_) {
    if (wait()) open = receive();
    const turns::Ns now = turns::monotonic_now();
    if (now - looked_for_overruns >= kBetweenLooks) {
      looked_for_overruns = now;
      end_overruns(now);
    }
    if (now - looked < turns::Ns{kPeriodMs} * 1'000'000) continue;
    looked = now;
    follow_settings();
    if (show_life) show_life();
  }
  entry_.withdraw();
  for (const auto& device : devices_) {
    if (device->turns) device->turns->leave_at_exit();
    device->ledger.reset();
  }
  const base::MutexLock lock(mutex_);
  return why_;
}

Broker::Broker(int channel) : channel_(channel), is_open_(page_.send(channel)) {}

std::string Broker::run(const base::Configuration& configuration, const std::function<void()>& show_life) {
  if (!is_open_) return {};
  state_ = new State(channel_, page_, configuration);
  return state_->run(show_life);
}

}  // namespace cleave::interpose
