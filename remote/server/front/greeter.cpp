#include "remote/server/front/greeter.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "remote/protocol/limits.h"
#include "remote/server/front/greeting.h"
#include "remote/server/front/relay.h"
#include "remote/server/log.h"
#include "remote/server/memory/shared_memory.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

struct SocketPair {
  SocketPair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "no socket that leads to a worker");
    ours = base::FileDescriptor(ends[0]);
    theirs = base::FileDescriptor(ends[1]);
  }
  base::FileDescriptor ours;
  base::FileDescriptor theirs;
};

}  // namespace

Greeter::Greeter(const Options& options, int control) : options_(options), control_(control) {
  if (!options.token_file.empty()) tokens_ = read_tokens(options.token_file);
  if (options.tls.certificate.empty()) return;
  std::string problem;
  tls_ = TlsServer::make(options.tls, problem);
  if (!tls_) throw OptionError("TLS: " + problem);
}

bool Greeter::start(Arrival arrival, Ended ended) noexcept try {
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  std::thread([this, shared = std::move(shared), ended = std::move(ended)] {
    Arrival own = std::move(*shared);
    greet(own, ended);
  }).detach();
  return true;
} catch (...) {
  return false;
}

void Greeter::greet(Arrival& arrival, const Ended& ended) noexcept {
  Streams streams;
  std::string why;
  try {
    why = let_in(arrival, streams);
  } catch (const std::exception& error) {
    why = error.what();
  }
  ended(why);
  if (!why.empty() || !streams.inside) return;
  try {
    relay(*streams.outside, *streams.inside, options_.timeout);
  } catch (const std::exception&) {  // no thread: both ends see that the connection ends
  }
  const std::string reason = streams.outside->close_reason();
  if (!reason.empty()) log_line("client " + arrival.peer + ": " + reason);
}

std::unique_ptr<Stream> Greeter::open(Arrival& arrival, Time until, std::string& certificate,
                                      std::string& why) const {
  if (!arrival.kind.tls) return make_socket_stream(arrival.socket.release());
  if (!tls_) return why = "TLS: the server has no certificate", nullptr;
  ConnectResult connected = tls_->accept(arrival.socket.release(), until, certificate);
  why = connected.problem;
  return std::move(connected.stream);
}

// Returns why the client is refused.
std::string Greeter::let_in(Arrival& arrival, Streams& streams) {
  const Time until = std::chrono::steady_clock::now() + std::chrono::seconds(kHelloSeconds);
  // They come with the first byte, and are lost when that is read.
  if (arrival.kind.is_unix) streams.received = peek_descriptors(arrival.socket.get());
  std::string certificate;
  std::string why;
  streams.outside = open(arrival, until, certificate, why);
  if (!streams.outside) return why;
  auto client = read_hello(*streams.outside, tokens_, until, why);
  if (!client) return why;
  if (!certificate.empty()) client->name += " (" + printable(certificate) + ")";
  bool admitted = false;
  if (arrival.kind.tls) {
    SocketPair pair;
    streams.inside = make_socket_stream(pair.ours.release());
    client->is_relayed = true;
    admitted = introduce(arrival, *client, {pair.theirs.get()});
  } else {
    std::vector<int> descriptors{streams.outside->descriptor()};
    // Nothing else may reach the supervisor: it could not close it without waiting.
    const auto memory =
        std::find_if(streams.received.begin(), streams.received.end(),
                     [](const base::FileDescriptor& each) { return is_sealed_memory(each.get()); });
    if (memory != streams.received.end()) descriptors.push_back(memory->get());
    admitted = introduce(arrival, *client, descriptors);
  }
  if (admitted) return {};
  why = "too many clients";
  send_refusal(*streams.outside, wire::Refusal::full, why);
  return why;
}

bool Greeter::introduce(const Arrival& arrival, const ClientInfo& client,
                        const std::vector<int>& descriptors) {
  Introduction introduction{0, arrival.peer, arrival.peer_key, client};
  base::MutexLock lock(mutex_);
  introduction.id = ++latest_;
  verdicts_.emplace(introduction.id, std::nullopt);
  lock.unlock();
  const std::string packet = encode(introduction);
  const bool sent = send_with_descriptors(control_, std::as_bytes(std::span(packet)), descriptors);
  lock.lock();
  const auto verdict = verdicts_.find(introduction.id);
  while (sent && !verdict->second) judged_.wait(lock);  // or the process ends with the supervisor
  const bool admitted = verdict->second.value_or(false);
  verdicts_.erase(verdict);
  return admitted;
}

void Greeter::judge(const Verdict& verdict) {
  const base::MutexLock lock(mutex_);
  const auto found = verdicts_.find(verdict.id);
  if (found != verdicts_.end()) found->second = verdict.admitted;
  judged_.notify_all();
}

}  // namespace cleave::remote::server
