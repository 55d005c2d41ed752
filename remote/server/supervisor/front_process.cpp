#include "remote/server/supervisor/front_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/wait.h>

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

bool send(int control, FrontMessage kind, const std::string& body, int descriptor) {
  const std::string packet = static_cast<char>(kind) + body;
  return send_with_descriptor(control, std::as_bytes(std::span(packet)), descriptor);
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
  control_ = base::FileDescriptor(spawned.control);
  bool sent = send(control_.get(), FrontMessage::counters, "", counters_.descriptor());
  for (const FrontListener& one : listeners_)
    sent = sent && send(control_.get(), FrontMessage::listener, encode(one.kind), one.socket);
  return sent;
}

std::optional<FrontProcess::Newcomer> FrontProcess::read() {
  std::string text(kMaxPacket, '\0');
  Newcomer newcomer;
  const auto bytes = std::as_writable_bytes(std::span(text));
  const long got = receive_with_descriptors(control_.get(), bytes, newcomer.descriptors, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (got > 0 && decode(text, newcomer.introduction)) {
    if (!newcomer.descriptors.empty()) return newcomer;
    answer({newcomer.introduction.id, false});  // this process has no descriptors left
    return std::nullopt;
  }
  log_line("the front has ended; it is started again");
  end();
  return std::nullopt;
}

// One that does not read its answers is stuck, and the server must not be.
void FrontProcess::answer(const Verdict& verdict) {
  const std::string packet = static_cast<char>(FrontMessage::verdict) + encode(verdict);
  if (::send(control_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  log_line("the front does not answer; it is started again");
  end();
}

void FrontProcess::end() {
  stop();
  if (Clock::now() - started_ > kWhile) delay_ = {};
  next_start_ = Clock::now() + delay_;
  delay_ = std::clamp(2 * delay_, kFirstDelay, kMaxDelay);
}

void FrontProcess::stop() {
  control_.close();
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace cleave::remote::server
