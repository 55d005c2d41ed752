#include "remote/server/supervisor/supervisor.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <sys/signalfd.h>

#include "base/files/discard.h"
#include "base/files/file_descriptor.h"
#include "daemon/listening_socket.h"
#include "daemon/service_manager.h"
#include "remote/server/front/printable.h"
#include "remote/server/processes/front_counters.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/privileges.h"
#include "remote/server/sandbox/sandbox.h"
#include "remote/server/supervisor/client_count_file.h"
#include "remote/server/supervisor/front_process.h"
#include "remote/server/supervisor/metrics_server.h"
#include "remote/server/supervisor/places.h"
#include "remote/server/supervisor/statistics.h"
#include "remote/server/supervisor/surroundings.h"
#include "remote/server/supervisor/workers.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// Clients that wait for a place, for each that there is.
constexpr std::size_t kWaitingPerPlace = 1;
constexpr const char* kRemoved = "it is no longer in the clients file";

struct EndpointListener {
  daemon::ListeningSocket socket;
  Endpoint endpoint;  // with the port that the system chose
};

daemon::ListeningSocket open_socket(const char* option, const Endpoint& endpoint,
                                    const Options& options) try {
  return daemon::listen_on(endpoint.address, {options.socket_mode, ""});
} catch (const daemon::ListenError& error) {
  throw daemon::ListenError(std::string(option) + " " + as_text(endpoint) + ": " + error.what());
}

class Supervisor {
 public:
  explicit Supervisor(const Options& options)
      : options_(options),
        count_(options.state),
        sandbox_(options.sandbox, options.user, shared_files(options, count_.path())),
        front_(options.given, front_counters_),
        workers_(options, sandbox_, count_, statistics_, front_),
        waiting_(kWaitingPerPlace * options.max_clients) {
    statistics_.max_clients = options.max_clients;
  }

  int run();

 private:
  void raise_walls();
  void listen();
  void step();
  void read_front();
  [[nodiscard]] Obstacle obstacle_now(const Introduction& newcomer) const;
  void admit(Newcomer newcomer);
  void refuse(Newcomer newcomer, std::string why);
  void serve_those_who_wait();
  [[nodiscard]] int poll_timeout() const;
  void handle_signals();
  void read_credentials();
  void renew_grants();

  const Options& options_;
  ClientCountFile count_;
  Sandbox sandbox_;
  SharedCounters front_counters_ = SharedCounters::make();
  ServerStatistics statistics_{*front_counters_};
  std::vector<EndpointListener> listeners_;
  FrontProcess front_;
  Workers workers_;
  WaitingList waiting_;
  NamedGrants named_;
  std::unique_ptr<MetricsServer> metrics_;
  int signals_ = -1;
  bool stopping_ = false;
};

// Some of the isolation may be missing if the operator has not required it.
void Supervisor::raise_walls() {
  const std::vector<std::string> missing = sandbox_.raise();
  const bool must_have = options_.sandbox.use == SandboxSettings::Use::on;
  if (must_have && !sandbox_.has_sandbox())
    throw OptionError("--sandbox: " + missing.front() + "; install or permit it, or say --sandbox auto");
  for (const std::string& each : missing) log_line("workers have " + each);
  const bool knows_names = !options_.clients_file.empty() || !options_.tls.authority.empty();
  if (knows_names && !sandbox_.has_sandbox() && !options_.mixed_tenants) {
    log_line(
        "clients of different names are not served at the same time, since nothing keeps their workers "
        "apart; install or permit the sandbox, or say --mixed-tenants");
  }
  if (!sandbox_.has_sandbox() && !options_.sandbox.users) check_cache(options_.user);
}

// Inherited TCP sockets speak TLS if the server has a certificate.
void Supervisor::listen() {
  for (daemon::ListeningSocket& socket : daemon::inherited_sockets()) {
    Endpoint endpoint{daemon::bound_address(socket.socket.get())};
    endpoint.tls = endpoint.address.kind == base::Address::Kind::tcp && !options_.tls.certificate.empty();
    check_access(options_, endpoint);
    listeners_.push_back({std::move(socket), endpoint});
  }
  std::vector<Endpoint> endpoints = options_.listen;
  if (endpoints.empty() && listeners_.empty()) endpoints.push_back(default_endpoint());
  for (const Endpoint& endpoint : endpoints) {
    daemon::ListeningSocket socket = open_socket("--listen", endpoint, options_);
    EndpointListener& listener = listeners_.emplace_back(EndpointListener{std::move(socket), endpoint});
    if (endpoint.address.kind == base::Address::Kind::tcp)
      listener.endpoint.address.port = daemon::bound_address(listener.socket.socket.get()).port;
  }
  for (const EndpointListener& one : listeners_) {
    const bool is_unix = one.endpoint.address.kind == base::Address::Kind::unix_socket;
    front_.listen_on({one.socket.socket.get(), {one.endpoint.tls, is_unix}});
    log_line("listening on " + as_text(one.endpoint));
  }
  if (!options_.metrics) return;
  metrics_ =
      std::make_unique<MetricsServer>(open_socket("--metrics", *options_.metrics, options_), statistics_);
  log_line("metrics on " + metrics_->address());
}

// Unkillable workers count as clients; workers that have just been killed do not, but for their name: they still run.
Obstacle Supervisor::obstacle_now(const Introduction& newcomer) const {
  const bool mixes = options_.mixed_tenants || sandbox_.has_sandbox();
  const Obstacle obstacle = obstacle_for(newcomer, workers_.served(), workers_.unkillable(),
                                         {options_.max_clients, options_.clients_per_peer, mixes});
  const bool must_be_alone = !mixes && !newcomer.client.is_query;
  return must_be_alone && workers_.others_are_ending(newcomer.grant.tenant) ? Obstacle::other_names
                                                                            : obstacle;
}

void Supervisor::read_front() {
  FrontProcess::Said said = front_.read();
  if (auto* const message = std::get_if<MessageForWorker>(&said))
    return workers_.forward(std::move(*message));
  auto* const newcomer = std::get_if<Newcomer>(&said);
  if (newcomer == nullptr) return;
  const Introduction& introduction = newcomer->introduction;
  // The file may have been read again since the front checked.
  if (!named_.has(introduction.grant.tenant)) {
    front_.answer(*newcomer, ipc::Answer::refused, kRemoved);
    return discard(std::move(newcomer->descriptors));
  }
  named_.renew(newcomer->introduction.grant);
  Obstacle obstacle = obstacle_now(introduction);
  const bool somebody_is_held_up =
      !introduction.client.is_query &&
      std::any_of(waiting_.all().begin(), waiting_.all().end(), [this](const WaitingList::Entry& each) {
        return obstacle_now(each.newcomer.introduction) == Obstacle::other_names;
      });
  if (obstacle == Obstacle::none && somebody_is_held_up) obstacle = Obstacle::other_names;
  if (obstacle == Obstacle::none) return admit(std::move(*newcomer));
  const std::string why = text_of(obstacle, introduction.grant.tenant);
  const bool may_wait = options_.queue_time.count() > 0 && !introduction.client.is_query;
  const bool waits = may_wait && waiting_.has_place_for(introduction);
  front_.answer(*newcomer, waits ? ipc::Answer::waits : ipc::Answer::refused, why);
  if (!waits) return discard(std::move(newcomer->descriptors));
  log_line("client " + introduction.peer + " " + quoted(introduction.client.name) +
           ": waits for a place: " + why);
  waiting_.add(std::move(*newcomer), steady_clock::now() + options_.queue_time);
  statistics_.waiting = waiting_.all().size();
}

void Supervisor::admit(Newcomer newcomer) {
  front_.answer(newcomer, ipc::Answer::admitted);
  ++(newcomer.introduction.client.is_query ? statistics_.queries : statistics_.admitted);
  workers_.assign(std::move(newcomer));
}

void Supervisor::serve_those_who_wait() {
  using Entry = WaitingList::Entry;
  const auto has_left = [](const Entry& each) {
    return wait_for(each.newcomer.descriptors.front().get(), POLLRDHUP, kNoWait);
  };
  while (auto left = waiting_.take_first(has_left)) refuse(std::move(*left), "it has left");
  const auto obstacle = [this](const Introduction& each) { return obstacle_now(each); };
  while (auto next = waiting_.take_next(obstacle)) admit(std::move(*next));
  const Time now = steady_clock::now();
  while (auto late = waiting_.take_first([&](const Entry& each) { return each.until <= now; }))
    refuse(std::move(*late), "no place in the time that clients may wait");
  statistics_.waiting = waiting_.all().size();
}

// One that has waited.
void Supervisor::refuse(Newcomer newcomer, std::string why) {
  ++front_counters_->refused;
  front_.answer(newcomer, ipc::Answer::refused, std::move(why));
  discard(std::move(newcomer.descriptors));
}

// SIGCHLD only ends poll().
void Supervisor::handle_signals() {
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) stopping_ = true;
  if (signal.ssi_signo != SIGHUP) return;
  if (options_.token_file.empty() && options_.clients_file.empty())
    return log_line("nothing to read again: neither --token-file nor --clients-file is given");
  try {
    read_credentials();
    log_line("the clients have been read again");
    renew_grants();
  } catch (const OptionError& error) {
    log_line(std::string(error.what()) + "; who may connect is as before");
  }
}

// Which clients may connect. This process checks for mistakes, and keeps the names and their grants: the secrets are
// for the front.
void Supervisor::read_credentials() {
  CredentialFiles files = CredentialFiles::read(options_);
  named_ = Credentials(options_, files).named();
  front_.set_credentials(std::move(files));
}

// For clients that have proved their names before.
void Supervisor::renew_grants() {
  const auto is_removed = [this](const WaitingList::Entry& each) {
    return !named_.has(each.newcomer.introduction.grant.tenant);
  };
  while (auto removed = waiting_.take_first(is_removed)) refuse(std::move(*removed), kRemoved);
  waiting_.renew(named_);
  workers_.end_removed(named_);
}

// Until the next worker has to be killed, and at most a second.
int Supervisor::poll_timeout() const {
  constexpr std::chrono::milliseconds kMax{1000};
  Time until = std::min(steady_clock::now() + kMax, workers_.next_deadline());
  if (front_.control() < 0) until = std::min(until, front_.next_start());
  for (const WaitingList::Entry& each : waiting_.all()) until = std::min(until, each.until);
  return milliseconds_until(until);
}

void Supervisor::step() {
  std::vector<pollfd> descriptors{{signals_, POLLIN, 0}, {front_.control(), POLLIN, 0}};  // -1 is skipped
  workers_.add_to(descriptors);
  ::poll(descriptors.data(), descriptors.size(), poll_timeout());
  if (descriptors[0].revents != 0) handle_signals();
  if (stopping_) return;
  workers_.handle(descriptors);
  workers_.reap();
  serve_those_who_wait();
  if (descriptors[1].revents != 0) read_front();
}

int Supervisor::run() {
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGTERM);
  ::sigaddset(&handled, SIGINT);
  ::sigaddset(&handled, SIGHUP);
  ::sigaddset(&handled, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return EXIT_FAILURE;
  read_credentials();
  raise_walls();
  listen();
  front_.keep_running();
  daemon::notify("READY=1");
  while (!stopping_) {
    front_.keep_running();
    workers_.keep_spares();
    step();
  }
  daemon::notify("STOPPING=1");
  listeners_.clear();
  workers_.stop();
  front_.stop();
  return EXIT_SUCCESS;
}

}  // namespace

int run_supervisor(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  check_for_workers(options);
  hide_memory();
  raise_file_limit();
  Supervisor supervisor(options);
  return supervisor.run();
}

}  // namespace cleave::remote::server
