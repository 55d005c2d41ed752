#include "interpose/broker/broker_client.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "base/log.h"
#include "base/scoped_thread_state.h"
#include "interpose/broker/figures_page.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How often a call that waits looks at what may interrupt it.
constexpr auto kLook = 20ms;

}  // namespace

void BrokerClient::declare(std::vector<Device> devices) {
  figures_ = FiguresPage::receive(channel_);
  devices_ = std::move(devices);
  if (devices_.size() > kMostBrokeredDevices) devices_.resize(kMostBrokeredDevices);
  for (const Device& each : devices_) {
    BrokerRequest request;
    request.op = BrokerOp::declare;
    request.a = each.identity;
    put_text(request.text, each.name);
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

void BrokerClient::tell(BrokerRequest request) noexcept {
  if (lost_) return;
  if (::send(channel_, &request, sizeof request, MSG_NOSIGNAL) < 0) lose();
}

std::optional<BrokerAnswer> BrokerClient::call(BrokerRequest request,
                                               const std::function<void()>& look) noexcept try {
  Call call;
  base::MutexLock lock(mutex_);
  if (lost_) return std::nullopt;
  request.number = ++latest_ != 0 ? latest_ : ++latest_;
  calls_.emplace(request.number, &call);
  lock.unlock();
  tell(request);
  lock.lock();
  while (!call.answer && !lost_) {
    if (!call.answered.wait_for(lock, kLook) && look) {
      lock.unlock();
      look();
      lock.lock();
    }
  }
  calls_.erase(request.number);
  return call.answer;
} catch (...) {  // out of memory
  return std::nullopt;
}

void BrokerClient::lose() noexcept {
  if (lost_.exchange(true)) return;
  base::log_line("no turns and no memory any more by the broker: it has ended");
  const base::MutexLock lock(mutex_);
  for (const auto& [number, call] : calls_) call->answered.notify_all();
}

void BrokerClient::receive() noexcept {
  BrokerAnswer answer;
  while (!lost_) {
    const ssize_t got = ::recv(channel_, &answer, sizeof answer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof answer)) return lose();
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
