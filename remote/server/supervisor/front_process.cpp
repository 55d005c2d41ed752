#include "remote/server/supervisor/front_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/files/discard.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

using namespace std::chrono_literals;

// The pause before it is started again, doubled each time; none for one that has run for a while.
constexpr std::chrono::milliseconds kFirstDelay = 100ms;
constexpr std::chrono::milliseconds kMaxDelay = 60s;
constexpr std::chrono::seconds kWhile = 60s;

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
  const int counters = counters_.descriptor();
  return send_packet(control_.get(), packet_of(ipc::CreateCounters), std::span(&counters, 1)) &&
         send_credentials() &&
         std::all_of(listeners_.begin(), listeners_.end(), [&](const FrontListener& one) {
           return send_packet(control_.get(), packet_of([&](auto& builder) {
                                return ipc::CreateListener(builder, one.kind.tls, one.kind.is_unix);
                              }),
                              std::span(&one.socket, 1));
         });
}

void FrontProcess::set_credentials(CredentialFiles files) {
  credentials_ = std::move(files);
  if (!control_.is_open()) return;
  // One that does not read is stuck, and the server must not be.
  if (wait_for(control_.get(), POLLOUT, kNoWait) && send_credentials()) return;
  log_line("the front does not accept the clients' secrets and is restarted");
  end();
}

bool FrontProcess::send_credentials() {
  std::vector<int> descriptors;
  for (const base::FileDescriptor* each : {&credentials_.tokens, &credentials_.clients}) {
    if (each->is_open()) descriptors.push_back(each->get());
  }
  const Packet packet = packet_of([&](auto& builder) {
    return ipc::CreateCredentials(builder, credentials_.tokens.is_open(), credentials_.clients.is_open());
  });
  return send_packet(control_.get(), packet, descriptors);
}

FrontProcess::Said FrontProcess::read() {
  PacketReader reader;
  if (reader.read_socket(control_.get(), MSG_DONTWAIT) == ReadStatus::timeout) return {};
  if (const auto* const message = reader.get<ipc::PeerMessage>(); message != nullptr) {
    MessageForWorker for_worker{decode(*message), std::move(reader.descriptors)};
    if (!for_worker.message.is_request()) return for_worker;
  }
  if (const auto* const introduction = reader.get<ipc::Introduction>(); introduction != nullptr) {
    Newcomer newcomer{decode(*introduction), std::move(reader.descriptors), latest_};
    if (!newcomer.descriptors.empty()) return newcomer;
    answer(newcomer, ipc::Answer::refused, "too many clients");  // this process has no descriptors left
    return {};
  }
  log_line("the front has ended; it is started again");
  end();
  return {};
}

// One that does not read its answers is stuck, and the server must not be.
void FrontProcess::answer(const Newcomer& newcomer, ipc::Answer answer, std::string why) {
  if (newcomer.front != latest_ || !control_.is_open()) return;
  const Packet verdict = packet_of([&](auto& builder) {
    return ipc::CreateVerdict(builder, newcomer.introduction.id, answer, builder.CreateString(why));
  });
  if (send_packet_now(control_.get(), verdict)) return;
  log_line("the front does not answer and is restarted");
  end();
}

bool FrontProcess::forward(const PeerMessage& message) {
  // Most of the socket's buffer is left for verdicts: a worker may send as much as it likes.
  return control_.is_open() && wait_for(control_.get(), POLLOUT, kNoWait) &&
         send_packet_now(control_.get(), encode(message));
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
