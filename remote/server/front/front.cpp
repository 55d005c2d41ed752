#include "remote/server/front/front.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <map>
#include <memory>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "daemon/listening_socket.h"
#include "daemon/peer_key.h"
#include "remote/protocol/limits.h"
#include "remote/server/front/arrivals.h"
#include "remote/server/front/credentials.h"
#include "remote/server/front/greeter.h"
#include "remote/server/front/peer_desk.h"
#include "remote/server/front/refusal_log.h"
#include "remote/server/processes/front_counters.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/privileges.h"
#include "remote/server/processes/received_options.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;
using Id = Arrivals::Id;

constexpr std::chrono::seconds kHelloTime{kHelloSeconds};
// What a connection that has spoken has beyond that until its handshake begins.
constexpr std::chrono::seconds kTurnTime{10};
// A handshake counts for so long, whatever its thread does.
constexpr std::chrono::seconds kGreetingTime{3 * kHelloSeconds};
// Connections that are accepted before others are served.
constexpr unsigned kAcceptedAtATime = 64;
// The pause when the system has no descriptor for another connection.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

struct Listener {
  base::FileDescriptor socket;
  ListenerKind kind;
};

struct Waiting {
  Arrival arrival;
  Time deadline;  // for its first bytes; then, for its turn
  bool has_spoken = false;
};

class Front {
 public:
  Front(const Options& options, base::FileDescriptor control)
      : options_(options),
        control_(std::move(control)),
        peers_(options, control_.get()),
        greeter_(options, control_.get(), peers_) {}

  // Until the supervisor has ended.
  void run();

 private:
  bool step();
  bool read_control();
  bool read_credentials(const ipc::Credentials& sent, std::vector<base::FileDescriptor>& descriptors);
  void accept_from(const Listener& listener);
  void admit(base::FileDescriptor socket, ListenerKind kind);
  void look_at(Id id);
  void end_expired();
  void end_waiting(Id id, const std::string& why);
  void greet_those_who_are_next();
  void greeting_ended(Id id, const std::string& peer, const std::string& why) CLEAVE_EXCLUDES(mutex_);
  void log_refusal(const std::string& peer, const std::string& why) CLEAVE_EXCLUDES(mutex_);
  [[nodiscard]] int poll_timeout() const;

  const Options& options_;
  const base::FileDescriptor control_;
  const base::FileDescriptor wakes_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  PeerDesk peers_;
  Greeter greeter_;
  std::unique_ptr<SharedCounters> counters_;
  std::vector<Listener> listeners_;
  std::map<Id, Waiting> waiting_;
  std::deque<std::pair<Id, Time>> greeted_;  // in this order, and until when each counts; some have ended
  Id latest_ = 0;
  Time accepts_from_{};

  base::Mutex mutex_;
  Arrivals arrivals_ CLEAVE_GUARDED_BY(mutex_);
  RefusalLog refusals_ CLEAVE_GUARDED_BY(mutex_);
};

// False: the supervisor has ended.
bool Front::read_control() {
  PacketReader reader;
  if (reader.read_socket(control_.get(), MSG_DONTWAIT) == ReadStatus::timeout) return true;
  std::vector<base::FileDescriptor>& descriptors = reader.descriptors;
  if (const auto* const verdict = reader.get<ipc::Verdict>(); verdict != nullptr)
    return greeter_.judge(*verdict), true;
  if (const auto* const message = reader.get<ipc::PeerMessage>(); message != nullptr)
    return peers_.handle(decode(*message)), true;
  if (const auto* const sent = reader.get<ipc::Credentials>(); sent != nullptr)
    return read_credentials(*sent, descriptors);
  if (descriptors.empty()) return false;
  if (const auto* const kind = reader.get<ipc::Listener>(); kind != nullptr) {
    Listener listener{std::move(descriptors.front()), {kind->tls(), kind->is_unix()}};
    ::fcntl(listener.socket.get(), F_SETFL, ::fcntl(listener.socket.get(), F_GETFL) | O_NONBLOCK);
    listeners_.push_back(std::move(listener));
    return true;
  }
  if (reader.get<ipc::Counters>() == nullptr) return false;
  counters_ = SharedCounters::map(std::move(descriptors.front()));
  if (counters_ != nullptr) peers_.count_in(**counters_);
  return counters_ != nullptr;
}

// The supervisor has found no mistake in them.
bool Front::read_credentials(const ipc::Credentials& sent,
                             std::vector<base::FileDescriptor>& descriptors) try {
  if (descriptors.size() != std::size_t{sent.tokens()} + std::size_t{sent.clients()}) return false;
  CredentialFiles files;
  if (sent.tokens()) files.tokens = std::move(descriptors.front());
  if (sent.clients()) files.clients = std::move(descriptors.back());
  greeter_.set_credentials(std::make_shared<const Credentials>(options_, files));
  return true;
} catch (const OptionError& error) {
  log_line(error.what());
  return false;
}

void Front::log_refusal(const std::string& peer, const std::string& why) {
  ++(*counters_)->refused;
  base::MutexLock lock(mutex_);
  const auto line = refusals_.admit("client " + peer + ": refused: " + why, steady_clock::now());
  lock.unlock();
  if (line) log_line(*line);
}

void Front::accept_from(const Listener& listener) {
  for (unsigned i = 0; i < kAcceptedAtATime; ++i) {
    base::FileDescriptor socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) {
      admit(std::move(socket), listener.kind);
    } else {
      const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_full) accepts_from_ = steady_clock::now() + kAcceptRetryDelay;
      if (errno != ECONNABORTED && errno != EINTR) return;
    }
  }
}

void Front::admit(base::FileDescriptor socket, ListenerKind kind) {
  ++(*counters_)->connections;
  const std::string key = daemon::peer_key(socket.get());
  const Id id = ++latest_;
  base::MutexLock lock(mutex_);
  const Arrivals::Place place = arrivals_.add(id, key);
  lock.unlock();
  if (!place.may_wait || place.instead) ++(*counters_)->rejected;
  if (place.instead) waiting_.erase(*place.instead);
  if (!place.may_wait) return;
  const std::string peer = daemon::peer_text(socket.get());
  waiting_.emplace(id, Waiting{{std::move(socket), kind, peer, key}, steady_clock::now() + kHelloTime});
}

// The socket of a silent connection is ready.
void Front::look_at(Id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  char byte = 0;
  const ssize_t got = ::recv(found->second.arrival.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return end_waiting(id, "disconnected, or not a Hello");
  found->second.has_spoken = true;
  found->second.deadline += kTurnTime;
  const base::MutexLock lock(mutex_);
  arrivals_.has_spoken(id);
}

void Front::end_expired() {
  const Time now = steady_clock::now();
  std::vector<Id> expired;
  for (const auto& [id, each] : waiting_) {
    if (each.deadline <= now) expired.push_back(id);
  }
  for (const Id id : expired)
    end_waiting(id, waiting_.at(id).has_spoken ? "too many others of its address" : "no Hello in time");
  const base::MutexLock lock(mutex_);
  for (; !greeted_.empty() && greeted_.front().second <= now; greeted_.pop_front())
    arrivals_.remove(greeted_.front().first);
}

void Front::end_waiting(Id id, const std::string& why) {
  const auto found = waiting_.find(id);
  log_refusal(found->second.arrival.peer, why);
  waiting_.erase(found);
  const base::MutexLock lock(mutex_);
  arrivals_.remove(id);
}

void Front::greet_those_who_are_next() {
  for (;;) {
    base::MutexLock lock(mutex_);
    const std::optional<Id> id = arrivals_.next();
    lock.unlock();
    if (!id) return;
    greeted_.emplace_back(*id, steady_clock::now() + kGreetingTime);
    Arrival arrival = std::move(waiting_.at(*id).arrival);
    waiting_.erase(*id);
    const std::string peer = arrival.peer;
    const auto ended = [this, id = *id, peer](const std::string& why) { greeting_ended(id, peer, why); };
    if (!greeter_.start(std::move(arrival), ended)) greeting_ended(*id, peer, "no memory for a thread");
  }
}

// In any thread.
void Front::greeting_ended(Id id, const std::string& peer, const std::string& why) {
  if (!why.empty()) log_refusal(peer, why);
  const base::MutexLock lock(mutex_);
  arrivals_.remove(id);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wakes_.get(), &one, sizeof one);
}

int Front::poll_timeout() const {
  Time until = accepts_from_ > steady_clock::now() ? accepts_from_ : Time::max();
  for (const auto& [id, each] : waiting_) until = std::min(until, each.deadline);
  if (!greeted_.empty()) until = std::min(until, greeted_.front().second);
  return until == Time::max() ? -1 : milliseconds_until(until);
}

bool Front::step() {
  std::vector<pollfd> polled{{control_.get(), POLLIN, 0}, {wakes_.get(), POLLIN, 0}};
  const bool accepts = steady_clock::now() >= accepts_from_;
  for (const Listener& one : listeners_)
    polled.push_back({one.socket.get(), static_cast<short>(accepts ? POLLIN : 0), 0});
  const std::size_t first = polled.size();
  std::vector<Id> silent;
  for (const auto& [id, each] : waiting_) {
    if (each.has_spoken) continue;
    silent.push_back(id);
    polled.push_back({each.arrival.socket.get(), POLLIN, 0});
  }
  ::poll(polled.data(), polled.size(), poll_timeout());
  for (std::size_t i = 0; i < silent.size(); ++i) {
    if (polled[first + i].revents != 0) look_at(silent[i]);
  }
  end_expired();
  std::uint64_t woken = 0;
  [[maybe_unused]] const ssize_t taken = ::read(wakes_.get(), &woken, sizeof woken);
  // The listeners first: a message may add one.
  for (std::size_t i = 2; i < first; ++i) {
    if (polled[i].revents != 0) accept_from(listeners_[i - 2]);
  }
  greet_those_who_are_next();
  return polled[0].revents == 0 || read_control();
}

void Front::run() {
  while (step()) {
  }
}

}  // namespace

int run_front() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);  // it may be the whole process group's
  hide_memory();
  raise_file_limit();
  const Options options = receive_options(kFrontArgument);
  base::FileDescriptor control(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!control.is_open()) return EXIT_FAILURE;
  Front front(options, std::move(control));
  // Two for each client with TLS, three for each that waits for a place, two for each of a few transfers from or to other
  // servers, and those that are not admitted yet.
  drop_privileges(options.user, kMaxWorkerFiles + rlim_t{21} * options.max_clients);
  front.run();
  std::_Exit(EXIT_SUCCESS);  // with its threads
}

}  // namespace cleave::remote::server
