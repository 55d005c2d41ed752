#include "interpose/broker/broker_client.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "base/log.h"
#include "base/threads/scoped_thread_state.h"
#include "interpose/broker/figures_page.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How often a waiting thread checks for interruptions, and the broker.
constexpr auto kLook = 20ms;
// After this many checks without a message from the broker a heartbeat is requested, and after this many it counts as
// silent: it reads requests in far less time, and no step of its own takes more than 0.1 s.
constexpr unsigned kLooksUntilAsked = 5;
constexpr unsigned kLooksUntilSilent = 50;

}  // namespace

void BrokerClient::declare(std::vector<Device> devices) {
  figures_ = FiguresPage::receive(channel_);
  devices_ = std::move(devices);
  if (devices_.size() > kMostBrokeredDevices) devices_.resize(kMostBrokeredDevices);
  for (const Device& each : devices_) {
    BrokerRequest request;
    request.op = BrokerOp::declare;
    request.identity = each.identity;
    put_text(request.name, each.name);
    tell(request);
  }
  tell(BrokerRequest{});
  const base::ScopedSignalBlock blocked;
  std::thread([this] { receive(); }).detach();
}

std::optional<std::uint8_t> BrokerClient::number_of(const std::string& identity) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const Device& each) {
    return std::to_string(each.identity) == identity;
  });
  if (found == devices_.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - devices_.begin());
}

void BrokerClient::tell(const BrokerRequest& request) noexcept {
  Silence silence{heard_};
  while (!lost_ && ::send(channel_, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return lose("it has ended");
    pollfd room{channel_, POLLOUT, 0};
    if (::poll(&room, 1, kLook.count()) == 0) note_look(silence);
  }
}

void BrokerClient::note_look(Silence& silence) noexcept {
  if (const std::uint64_t heard = heard_; heard != silence.heard) silence = {heard};
  if (++silence.looks % kLooksUntilAsked == 0) {
    BrokerRequest request;
    request.op = BrokerOp::show_life;
    request.number = UINT32_MAX;
    static_cast<void>(::send(channel_, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  if (silence.looks >= kLooksUntilSilent && !waits_for_end_) lose("it sends no heartbeat");
}

std::optional<BrokerAnswer> BrokerClient::call(BrokerRequest request,
                                               const std::function<void()>& look) noexcept try {
  Call call;
  base::MutexLock lock(mutex_);
  if (lost_) return std::nullopt;
  latest_ = latest_ + 1 < UINT32_MAX ? latest_ + 1 : 1;
  request.number = latest_;
  calls_.emplace(request.number, &call);
  lock.unlock();
  Silence silence{heard_};
  tell(request);
  lock.lock();
  while (!call.answer && !lost_) {
    if (call.answered.wait_for(lock, kLook)) continue;
    lock.unlock();
    if (look) look();
    note_look(silence);
    lock.lock();
  }
  calls_.erase(request.number);
  return call.answer;
} catch (...) {  // out of memory
  return std::nullopt;
}

void BrokerClient::lose(const char* why) noexcept {
  if (lost_.exchange(true)) return;
  problem_ = why;
  base::log_line(std::string("no turns and no memory any more by the broker: ") + why);
  ::shutdown(channel_, SHUT_RDWR);  // one that goes on later ends, and so does the thread that receives
  const base::MutexLock lock(mutex_);
  for (const auto& [number, call] : calls_) call->answered.notify_all();
}

void BrokerClient::receive() noexcept {
  BrokerAnswer answer;
  while (!lost_) {
    const ssize_t got = ::recv(channel_, &answer, sizeof answer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof answer)) return lose("it has ended");
    ++heard_;
    if (answer.device < kMostBrokeredDevices) {
      const base::MutexLock lock(following_);
      if (followers_[answer.device]) followers_[answer.device](answer);
    }
    const base::MutexLock lock(mutex_);
    const auto found = calls_.find(answer.number);
    if (found == calls_.end()) continue;
    found->second->answer = answer;
    found->second->answered.notify_all();
  }
}

void BrokerClient::set_follower(std::uint8_t device, Follow follow) {
  const base::MutexLock lock(following_);
  followers_[device] = std::move(follow);
}

}  // namespace cleave::interpose
