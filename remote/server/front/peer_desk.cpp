#include "remote/server/front/peer_desk.h"

#include <algorithm>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "remote/server/front/relay.h"
#include "remote/server/front/socket_pair.h"
#include "remote/server/processes/log.h"
#include "remote/transport/connect.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// To reach a source, with TLS's handshake, and to make ours as well; all of its addresses together. A server that cannot be reached
// says nothing, and the contents' way through the program's machine waits for that.
constexpr std::chrono::seconds kReachTime{2};
constexpr std::chrono::seconds kConnectTime{kHelloSeconds};

}  // namespace

bool PeerDesk::send(const PeerMessage& message, int descriptor) const {
  return send_packet(control_, encode(message), std::span(&descriptor, descriptor >= 0 ? 1 : 0));
}

bool PeerDesk::fail(const PeerMessage& request, std::string why) const {
  return send({.kind = PeerMessage::Kind::failed,
               .worker = request.worker,
               .number = request.number,
               .why = std::move(why)});
}

void PeerDesk::handle(const PeerMessage& request) {
  if (request.kind == PeerMessage::Kind::offer) offer(request);
  if (request.kind == PeerMessage::Kind::fetch) begin_fetch(request);
}

void PeerDesk::offer(const PeerMessage& request) {
  base::MutexLock lock(mutex_);
  const auto ticket = tickets_.add({request.worker, request.number}, steady_clock::now());
  lock.unlock();
  if (!ticket) return void(fail(request, "no random numbers"));
  send({.kind = PeerMessage::Kind::offered,
        .worker = request.worker,
        .number = request.number,
        .ticket = as_bytes(*ticket)});
}

std::optional<OfferedContents> PeerDesk::admit(Stream& stream, FrameReader& input, const PeerOpening& opening,
                                               Time until, std::string& why) {
  if (!check_version(stream, opening, why)) return std::nullopt;
  base::MutexLock lock(mutex_);
  const auto ticket = tickets_.find(opening.ticket, steady_clock::now());
  lock.unlock();
  if (!ticket) return why = "a server has a ticket that is unknown, used or too old", std::nullopt;
  if (!check_target(stream, input, *ticket, opening, until, why)) return std::nullopt;
  lock.lock();
  const auto contents = tickets_.redeem(opening.ticket, steady_clock::now());
  if (!contents) {
    why = "a server's ticket has just been used";
  } else if (counters_ != nullptr) {
    ++counters_->fetched_from;
  }
  return contents;
}

bool PeerDesk::begin_relay(std::uint64_t worker) {
  const base::MutexLock lock(mutex_);
  if (all_relays_ >= kMaxRelaysOfAll || relays_[worker] >= kMaxRelays) return false;
  ++relays_[worker];
  ++all_relays_;
  return true;
}

void PeerDesk::end_relay(std::uint64_t worker) {
  const base::MutexLock lock(mutex_);
  --all_relays_;
  if (--relays_[worker] == 0) relays_.erase(worker);
}

bool PeerDesk::deliver(const OfferedContents& contents, int descriptor) const {
  return send({.kind = PeerMessage::Kind::arrived, .worker = contents.worker, .number = contents.number},
              descriptor);
}

void PeerDesk::begin_fetch(const PeerMessage& request) {
  constexpr const char* kTooMany = "too many transfers are under way";
  const std::uint64_t worker = request.worker;
  if (!count_fetch(worker)) return void(fail(request, kTooMany));
  try {
    std::thread([this, worker, request] {
      try {
        fetch(request);
      } catch (const std::exception& error) {  // no memory, or no descriptors
        fail(request, error.what());
      }
      end_fetch(worker);
    }).detach();
  } catch (const std::exception&) {
    end_fetch(worker);
    fail(request, kTooMany);
  }
}

// False: there are too many.
bool PeerDesk::count_fetch(std::uint64_t worker) {
  const base::MutexLock lock(mutex_);
  const auto of_worker = fetches_.find(worker);
  if (all_fetches_ >= kMaxFetchesOfAll || (of_worker != fetches_.end() && of_worker->second >= kMaxFetches))
    return false;
  ++fetches_[worker];
  ++all_fetches_;
  return true;
}

void PeerDesk::end_fetch(std::uint64_t worker) {
  const base::MutexLock lock(mutex_);
  --all_fetches_;
  const auto found = fetches_.find(worker);
  if (--found->second == 0) fetches_.erase(found);
}

std::unique_ptr<Stream> PeerDesk::connect(const PeerMessage& request, bool& is_tls, std::string& why) const {
  const auto ticket = read_ticket(std::as_bytes(std::span(request.ticket)));
  if (!ticket) return why = "no ticket", nullptr;
  const Time begin = steady_clock::now();
  const Time until = begin + kConnectTime;
  const TlsFiles files{options_.peer_authority, options_.tls.certificate, options_.tls.key};
  why = "none of its addresses is of a server that --peers names";
  std::vector<Endpoint> endpoints;
  for (const std::string& address : request.addresses) {
    const auto endpoint = read_endpoint(address);
    if (endpoint && options_.peers.permits(*endpoint)) endpoints.push_back(*endpoint);
  }
  std::size_t left = endpoints.size();
  for (const Endpoint& endpoint : endpoints) {
    // One that does not answer leaves the others their part of the time.
    const Time now = steady_clock::now();
    const Time reached = now + (std::max(begin + kReachTime, now) - now) / left--;
    ConnectResult connected = connect_to(endpoint, files, reached);
    why = as_text(endpoint) + ": " + connected.problem;
    if (!connected.stream) continue;
    if (present_ticket(*connected.stream, *ticket, until, why)) {
      is_tls = endpoint.tls;
      return std::move(connected.stream);
    }
    why.insert(0, as_text(endpoint) + ": ");
  }
  return nullptr;
}

// A client may request as much as it likes.
void PeerDesk::log_failure(std::string line) {
  base::MutexLock lock(mutex_);
  const auto admitted = failures_.admit(std::move(line), steady_clock::now());
  lock.unlock();
  if (admitted) log_line(*admitted);
}

// The connection itself goes to the worker where it is plain. Where it is TLS this thread passes the bytes on.
void PeerDesk::fetch(const PeerMessage& request) {
  bool is_tls = false;
  std::string why;
  const std::unique_ptr<Stream> source = connect(request, is_tls, why);
  if (!source) {
    log_failure("contents are not fetched from another server: " + why);
    return void(fail(request, why));
  }
  const PeerMessage answer{
      .kind = PeerMessage::Kind::connected, .worker = request.worker, .number = request.number};
  if (!is_tls) return void(send(answer, source->descriptor()));
  std::unique_ptr<Stream> inside;
  {
    SocketPair pair;
    inside = make_socket_stream(pair.ours.release());
    if (!send(answer, pair.theirs.get())) return;
  }
  relay(*source, *inside, kPeerStallTime, kPeerStallTime);
}

}  // namespace cleave::remote::server
