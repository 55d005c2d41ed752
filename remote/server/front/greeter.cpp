#include "remote/server/front/greeter.h"

#include <exception>
#include <poll.h>
#include <thread>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/front/greeting.h"
#include "remote/server/front/relay.h"
#include "remote/server/front/socket_pair.h"
#include "remote/server/processes/log.h"
#include "remote/server/sending/refusal.h"

namespace cleave::remote::server {
namespace {

// How often it is looked whether a client that waits is still there.
constexpr std::chrono::milliseconds kLookPeriod{500};

}  // namespace

Greeter::Greeter(const Options& options, int control, PeerDesk& peers)
    : options_(options), control_(control), peers_(peers) {
  if (options.tls.certificate.empty()) return;
  std::string problem;
  tls_ = TlsServer::make(options.tls, problem);
  if (!tls_) throw OptionError("TLS: " + problem);
}

void Greeter::set_credentials(std::shared_ptr<const Credentials> credentials) {
  const base::MutexLock lock(mutex_);
  credentials_ = std::move(credentials);
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
  streams.stall_timeout = options_.timeout;
  std::string why;
  bool has_ended = false;
  const auto waits = [&] {
    if (!has_ended) ended({});
    has_ended = true;
    const bool has_left = wait_for(streams.outside->descriptor(), POLLRDHUP, kNoWait);
    if (has_left) streams.inside.reset();  // tells the supervisor, too
  };
  try {
    why = let_in(arrival, streams, waits);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!has_ended) {
    ended(why);
  } else if (!why.empty()) {
    log_line("client " + arrival.peer + ": refused after it has waited: " + why);
  }
  if (why.empty() && streams.inside) pass_on(arrival, streams);
  if (streams.supplier) peers_.end_relay(*streams.supplier);
}

void Greeter::pass_on(const Arrival& arrival, const Streams& streams) {
  try {
    relay(*streams.outside, *streams.inside, streams.stall_timeout,
          streams.supplier ? Duration(kPeerStallTime) : Duration(kLastReadTime));
  } catch (const std::exception&) {  // no thread: both ends see that the connection ends
  }
  const std::string reason = streams.outside->close_reason();
  if (!reason.empty()) log_line("client " + arrival.peer + ": " + reason);
}

// Returns why there is no stream to the outside.
std::string Greeter::open(Arrival& arrival, Streams& streams, Time until, std::string& certificate) const {
  if (arrival.kind.is_unix) {
    auto stream = std::make_unique<UnknownPeer>(std::move(arrival.socket));
    streams.on_this_machine = stream.get();
    streams.outside = std::move(stream);
    return {};
  }
  if (!arrival.kind.tls) {
    streams.outside = make_socket_stream(arrival.socket.release());
    return {};
  }
  if (!tls_) return "TLS: the server has no certificate";
  ConnectResult connected = tls_->accept(arrival.socket.release(), until, certificate);
  streams.outside = std::move(connected.stream);
  return connected.problem;
}

// Returns why the client is refused. Calls `waits` when it has to wait for a place, and from then on again and again.
std::string Greeter::let_in(Arrival& arrival, Streams& streams, const std::function<void()>& waits) {
  const Time until = std::chrono::steady_clock::now() + std::chrono::seconds(kHelloSeconds);
  std::string certificate;
  std::string why = open(arrival, streams, until, certificate);
  if (!streams.outside) return why;
  const auto input = std::make_unique<FrameReader>(*streams.outside, std::chrono::seconds(kHelloSeconds));
  auto opening = read_opening(*input, until, why);
  if (!opening) return why;
  if (opening->peer) return let_in(*opening->peer, arrival, streams, *input, until);
  // Not before: they may have been read again since it has connected.
  base::MutexLock lock(mutex_);
  const std::shared_ptr<const Credentials> credentials = credentials_;
  lock.unlock();
  auto greeted = check_hello(*streams.outside, *opening->hello, *credentials, certificate, why);
  if (!greeted) return why;
  Introduction introduction{0, arrival.peer, arrival.peer_key, std::move(greeted->client),
                            std::move(greeted->grant)};
  const std::string& tenant = introduction.grant.tenant;
  if (!tenant.empty()) introduction.peer += " (" + tenant + ")";
  if (arrival.kind.tls) {
    SocketPair pair;
    streams.inside = make_socket_stream(pair.ours.release());
    introduction.client.is_relayed = true;
    why = introduce(std::move(introduction), pair.theirs.get(), waits);
  } else {
    if (streams.on_this_machine != nullptr) {
      streams.on_this_machine->leave();
      introduction.client.left_in_socket = streams.on_this_machine->left_in_socket();
    }
    why = introduce(std::move(introduction), streams.outside->descriptor(), waits);
  }
  if (!why.empty()) send_refusal(*streams.outside, wire::Refusal::full, why);
  return why;
}

// A server that fetches contents. Returns why it is refused.
std::string Greeter::let_in(const PeerOpening& opening, const Arrival& arrival, Streams& streams,
                            FrameReader& input, Time until) {
  std::string why;
  const auto contents = peers_.admit(*streams.outside, input, opening, until, why);
  if (!contents) return why;
  if (streams.on_this_machine != nullptr && streams.on_this_machine->left_in_socket() > 0)
    return "a server has sent descriptors";
  if (!arrival.kind.tls) {
    peers_.deliver(*contents, streams.outside->descriptor());
    return {};
  }
  SocketPair pair;
  if (!peers_.begin_relay(contents->worker)) return "too many servers fetch its contents at a time";
  streams.supplier = contents->worker;
  streams.inside = make_socket_stream(pair.ours.release());
  streams.stall_timeout = kPeerStallTime;
  peers_.deliver(*contents, pair.theirs.get());
  return {};
}

// Returns why the client is refused.
std::string Greeter::introduce(Introduction introduction, int descriptor,
                               const std::function<void()>& waits) {
  base::MutexLock lock(mutex_);
  const std::uint32_t id = introduction.id = ++latest_;
  verdicts_.emplace(id, std::nullopt);
  lock.unlock();
  const bool sent = send_packet(control_, encode(introduction), std::span(&descriptor, 1));
  lock.lock();
  const auto found = verdicts_.find(id);
  bool has_to_wait = false;
  while (sent) {  // until there is a verdict, or the process ends with the supervisor
    if (found->second && found->second->answer != ipc::Answer::waits) break;
    if (found->second) has_to_wait = true;
    found->second.reset();
    if (!has_to_wait) {
      judged_.wait(lock);
      continue;
    }
    lock.unlock();
    waits();
    lock.lock();
    if (!found->second) judged_.wait_for(lock, kLookPeriod);
  }
  const Verdict verdict = found->second.value_or(Verdict{ipc::Answer::refused, "the server stops"});
  verdicts_.erase(found);
  return verdict.answer == ipc::Answer::admitted ? "" : verdict.why;
}

void Greeter::judge(const ipc::Verdict& verdict) {
  const base::MutexLock lock(mutex_);
  const auto found = verdicts_.find(verdict.id());
  if (found != verdicts_.end()) found->second = {verdict.answer(), verdict.why()->str()};
  judged_.notify_all();
}

}  // namespace cleave::remote::server
