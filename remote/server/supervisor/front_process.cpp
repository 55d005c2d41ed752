#include "remote/server/supervisor/front_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/discard.h"
#include "remote/server/log.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/worker_messages.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

using namespace std::chrono_literals;

// The pause before it is started again, doubled each time; none for one that has run for a while.
constexpr std::chrono::milliseconds kFirstDelay = 100ms;
constexpr std::chrono::milliseconds kMaxDelay = 60s;
constexpr std::chrono::seconds kWhile = 60s;

bool send(int control, FrontMessage kind, const std::string& body, const std::vector<int>& descriptors) {
  const std::string packet = static_cast<char>(kind) + body;
  return send_with_descriptors(control, std::as_bytes(std::span(packet)), descriptors);
}

}  // namespace

FrontProcess::~FrontProcess() { stop(); }

void FrontProcess::keep_running() {
  if (control_.is_open() || Clock::now() < next_start_) return;
  if (!start()) {
    log_line(std::string("cannot start the front (") + std::strerror(errno) + ")");
    end();
  }
}

bool FrontProcess::start() {
  started_ = Clock::now();
  const Spawned spawned = spawn(kFrontArgument, options_, "");
  if (spawned.process < 0) return false;
  process_ = spawned.process;
  ++latest_;
  control_ = base::FileDescriptor(spawned.control);
  bool sent =
      send(control_.get(), FrontMessage::counters, "", {counters_.descriptor()}) && send_credentials();
  for (const FrontListener& one : listeners_)
    sent = sent && send(control_.get(), FrontMessage::listener, encode(one.kind), {one.socket});
  return sent;
}

void FrontProcess::set_credentials(CredentialFiles files) {
  credentials_ = std::move(files);
  if (!control_.is_open()) return;
  // One that does not read is stuck, and the server must not be.
  if (wait_for(control_.get(), POLLOUT, Clock::now()) && send_credentials()) return;
  log_line("the front does not take the clients' secrets; it is started again");
  end();
}

bool FrontProcess::send_credentials() {
  std::vector<int> descriptors;
  for (const base::FileDescriptor* each : {&credentials_.tokens, &credentials_.clients}) {
    if (each->is_open()) descriptors.push_back(each->get());
  }
  return send(control_.get(), FrontMessage::credentials,
              encode(CredentialsSent{credentials_.tokens.is_open(), credentials_.clients.is_open()}),
              descriptors);
}

FrontProcess::Said FrontProcess::read() {
  std::string text(kMaxPacket, '\0');
  Newcomer newcomer;
  newcomer.front = latest_;
  const auto bytes = std::as_writable_bytes(std::span(text));
  const long got = receive_with_descriptors(control_.get(), bytes, newcomer.descriptors, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  PacketForWorker for_worker;
  if (got > 0 && decode(text, for_worker.packet)) {
    for_worker.descriptors = std::move(newcomer.descriptors);
    return for_worker;
  }
  if (got > 0 && decode(text, newcomer.introduction)) {
    if (!newcomer.descriptors.empty()) return newcomer;
    answer(newcomer, Verdict::Answer::refused, "too many clients");  // this process has no descriptors left
    return {};
  }
  log_line("the front has ended; it is started again");
  end();
  return {};
}

// One that does not read its answers is stuck, and the server must not be.
void FrontProcess::answer(const Newcomer& newcomer, Verdict::Answer answer, std::string why) {
  if (newcomer.front != latest_ || !control_.is_open()) return;
  const std::string packet = static_cast<char>(FrontMessage::verdict) +
                             encode(Verdict{newcomer.introduction.id, answer, std::move(why)});
  if (::send(control_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  log_line("the front does not answer; it is started again");
  end();
}

bool FrontProcess::forward(const WorkerPacket& packet) {
  const std::string text = encode(packet);
  // Most of the socket's buffer is left for verdicts: a worker may send as much as it likes.
  return control_.is_open() && wait_for(control_.get(), POLLOUT, Clock::now()) &&
         ::send(control_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void FrontProcess::end() {
  stop();
  if (Clock::now() - started_ > kWhile) delay_ = {};
  next_start_ = Clock::now() + delay_;
  delay_ = std::clamp(2 * delay_, kFirstDelay, kMaxDelay);
}

void FrontProcess::stop() {
  discard(std::move(control_));  // connections may wait in it
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace cleave::remote::server
