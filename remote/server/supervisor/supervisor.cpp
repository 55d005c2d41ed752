#include "remote/server/supervisor/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <memory>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file_descriptor.h"
#include "daemon/listening_socket.h"
#include "daemon/service_manager.h"
#include "remote/server/log.h"
#include "remote/server/sandbox/sandbox.h"
#include "remote/server/supervisor/client_count_file.h"
#include "remote/server/supervisor/front_counters.h"
#include "remote/server/supervisor/front_process.h"
#include "remote/server/supervisor/metrics_server.h"
#include "remote/server/supervisor/places.h"
#include "remote/server/supervisor/process_end.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/statistics.h"
#include "remote/server/supervisor/surroundings.h"
#include "remote/server/supervisor/worker_messages.h"
#include "remote/server/worker/privileges.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// So many workers may end before they take a connection, until it is closed: a driver that crashes when it is loaded would
// crash in every further one.
constexpr unsigned kMaxAssignments = 3;
// Clients that wait for a place, for each that there is.
constexpr std::size_t kWaitingPerPlace = 1;
// The pause after a worker has ended before it was ready, doubled each time: the driver is broken, and restarting workers
// constantly would keep the processors busy.
constexpr std::chrono::seconds kSpawnRetryDelay{1};
constexpr std::chrono::seconds kMaxSpawnRetryDelay{60};
// A worker that has closed its control socket is about to exit. If a driver delays it for longer, it is killed.
constexpr std::chrono::milliseconds kExitGrace{200};
// A worker whose client has gone ends within this time, or is killed: its kernels may keep it from noticing.
constexpr std::chrono::seconds kClientGrace{4};
// After that time a killed worker counts as unkillable: its driver hangs in the kernel.
constexpr std::chrono::seconds kKillGrace{2};

// An admitted client's. The supervisor keeps its descriptors until a worker has taken them: another worker gets them if that
// one ends first.
struct Connection {
  Introduction introduction;
  std::vector<base::FileDescriptor> descriptors;
  unsigned assignments = 0;

  [[nodiscard]] bool is_open() const { return !descriptors.empty(); }
  // What the client has sent may wait in its socket.
  void close() {
    discard(std::move(descriptors));
    descriptors.clear();
  }
};

struct WorkerProcess {
  enum class State : std::uint8_t { spare, query, client };
  std::unique_ptr<WorkerWalls> walls;
  State state = State::spare;
  pid_t process = -1;
  int control = -1;             // -1: closed by the worker
  Connection connection;        // that it has not taken yet
  base::FileDescriptor client;  // the connection that it has taken, until the client's end has been seen
  std::string peer;
  std::string peer_key;
  std::string tenant;
  std::string name;
  std::string end_reason;
  Time kill_deadline = Time::max();  // if it has not exited by then
  bool is_killed = false;
  bool has_exited = false;
};

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
        workers_options_(options_of_workers(options.given)),
        count_(options.state),
        sandbox_(options.sandbox, options.user, shared_files(options, count_.path())),
        front_(options.given, front_counters_),
        waiting_(kWaitingPerPlace * options.max_clients) {
    statistics_.max_clients = options.max_clients;
  }

  int run();

 private:
  void raise_walls();
  void listen();
  void keep_spares();
  WorkerProcess* start_worker();
  void step();
  void read_front();
  [[nodiscard]] std::string reason_against_now(const Introduction& newcomer) const;
  void admit(Newcomer newcomer);
  void refuse(Newcomer newcomer, std::string why);
  void serve_those_who_wait();
  void assign(Connection connection);
  void end_worker(WorkerProcess& worker);
  void read_message(WorkerProcess& worker);
  void read_last_messages(WorkerProcess& worker);
  void watch_clients(const std::vector<pollfd>& watched);
  void close_control(WorkerProcess& worker);
  void reap();
  void log_and_forget(WorkerProcess& worker, int status);
  void stop_workers();
  [[nodiscard]] std::size_t unkillable_workers() const;
  [[nodiscard]] int poll_timeout() const;
  void update_client_count();
  [[nodiscard]] std::size_t count(WorkerProcess::State state) const;
  void handle_signals();
  void read_credentials();

  const Options& options_;
  const std::vector<daemon::GivenValue> workers_options_;
  ClientCountFile count_;
  Sandbox sandbox_;
  SharedCounters front_counters_ = SharedCounters::make();
  ServerStatistics statistics_{*front_counters_};
  std::vector<EndpointListener> listeners_;
  FrontProcess front_;
  WaitingList waiting_;
  std::unique_ptr<MetricsServer> metrics_;
  std::list<WorkerProcess> workers_;
  int signals_ = -1;
  bool stopping_ = false;
  Time next_spawn_{};
  std::chrono::seconds spawn_retry_delay_ = kSpawnRetryDelay;
};

// Some walls may be missing where the operator has not insisted.
void Supervisor::raise_walls() {
  const std::vector<std::string> missing = sandbox_.raise();
  const bool must_have = options_.sandbox.use == SandboxSettings::Use::on;
  if (must_have && !sandbox_.has_sandbox())
    throw OptionError("--sandbox: " + missing.front() + "; install or permit it, or say --sandbox auto");
  for (const std::string& each : missing) log_line("workers have " + each);
  const bool knows_names = !options_.clients_file.empty() || !options_.tls.authority.empty();
  if (knows_names && !sandbox_.has_sandbox() && !options_.mixed_tenants)
    log_line(
        "clients of different names are not served at the same time, since nothing keeps their workers "
        "apart; "
        "install or permit the sandbox, or say --mixed-tenants");
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

std::size_t Supervisor::count(WorkerProcess::State state) const {
  return static_cast<std::size_t>(std::count_if(
      workers_.begin(), workers_.end(),
      [&](const WorkerProcess& worker) { return worker.control >= 0 && worker.state == state; }));
}

std::size_t Supervisor::unkillable_workers() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const WorkerProcess& worker) {
        return worker.is_killed && steady_clock::now() >= worker.kill_deadline + kKillGrace;
      }));
}

void Supervisor::keep_spares() {
  if (steady_clock::now() < next_spawn_) return;
  while (count(WorkerProcess::State::spare) < options_.spare) {
    if (start_worker() != nullptr) continue;
    next_spawn_ = steady_clock::now() + kSpawnRetryDelay;
    return;
  }
}

// A spare one; null where it cannot be started, which is logged.
WorkerProcess* Supervisor::start_worker() {
  std::string problem;
  std::unique_ptr<WorkerWalls> walls = sandbox_.make_walls(problem);
  Spawned spawned;
  if (walls) {
    spawned = spawn(kWorkerArgument, workers_options_, count_.path(), &walls->launch());
    if (spawned.process < 0) problem = std::strerror(errno);
  }
  if (spawned.process < 0) {
    log_line("cannot start a worker (" + problem + ")");
    return nullptr;
  }
  WorkerProcess& worker = workers_.emplace_back();
  worker.walls = std::move(walls);
  worker.process = spawned.process;
  worker.control = spawned.control;
  return &worker;
}

void Supervisor::update_client_count() {
  const auto clients = static_cast<unsigned>(count(WorkerProcess::State::client));
  if (statistics_.clients.exchange(clients) != clients) count_.write(clients);
}

// Unkillable workers count as clients; workers that have just been killed do not, but for their name: they still run.
std::string Supervisor::reason_against_now(const Introduction& newcomer) const {
  std::vector<Occupant> served;
  bool others_end = false;
  for (const WorkerProcess& worker : workers_) {
    if (worker.state == WorkerProcess::State::spare) continue;
    const bool is_query = worker.state == WorkerProcess::State::query;
    if (worker.control >= 0) {
      served.push_back({is_query, worker.peer_key, worker.tenant});
    } else {
      others_end = others_end || (!is_query && worker.tenant != newcomer.grant.tenant);
    }
  }
  const bool mixes = options_.mixed_tenants || sandbox_.has_sandbox();
  std::string why = reason_against(newcomer, served, unkillable_workers(),
                                   {options_.max_clients, options_.clients_per_peer, mixes});
  if (why.empty() && others_end && !mixes && !newcomer.client.is_query)
    why = "a client of another name is ending";
  return why;
}

void Supervisor::read_front() {
  auto newcomer = front_.read();
  if (!newcomer) return;
  const std::string why = reason_against_now(newcomer->introduction);
  if (why.empty()) return admit(std::move(*newcomer));
  const Introduction& introduction = newcomer->introduction;
  const bool waits = options_.queue_time.count() > 0 && !introduction.client.is_query && !waiting_.is_full();
  front_.answer(*newcomer, waits ? Verdict::Answer::waits : Verdict::Answer::refused, why);
  if (!waits) return discard(std::move(newcomer->descriptors));
  log_line("client " + introduction.peer + " " + introduction.client.name + ": waits for a place: " + why);
  waiting_.add(std::move(*newcomer), steady_clock::now() + options_.queue_time);
  statistics_.waiting = waiting_.all().size();
}

void Supervisor::admit(Newcomer newcomer) {
  front_.answer(newcomer, Verdict::Answer::admitted);
  ++(newcomer.introduction.client.is_query ? statistics_.queries : statistics_.admitted);
  assign({std::move(newcomer.introduction), std::move(newcomer.descriptors)});
}

// Who has come first is served first, but keeps nobody waiting for whom there is a place that it may not have itself.
void Supervisor::serve_those_who_wait() {
  using Entry = WaitingList::Entry;
  const auto has_left = [](const Entry& each) {
    pollfd connection{each.newcomer.descriptors.front().get(), POLLRDHUP, 0};
    return ::poll(&connection, 1, 0) > 0;
  };
  const auto has_place = [this](const Entry& each) {
    return reason_against_now(each.newcomer.introduction).empty();
  };
  while (auto left = waiting_.take_first(has_left)) refuse(std::move(*left), "it has left");
  while (auto next = waiting_.take_first(has_place)) admit(std::move(*next));
  const Time now = steady_clock::now();
  while (auto late = waiting_.take_first([&](const Entry& each) { return each.until <= now; })) {
    std::string why = reason_against_now(late->introduction);
    refuse(std::move(*late), why + ", for as long as clients may wait");
  }
  statistics_.waiting = waiting_.all().size();
}

// One that has waited.
void Supervisor::refuse(Newcomer newcomer, std::string why) {
  ++front_counters_->refused;
  front_.answer(newcomer, Verdict::Answer::refused, std::move(why));
  discard(std::move(newcomer.descriptors));
}

void Supervisor::assign(Connection connection) {
  const ClientInfo& client = connection.introduction.client;
  const auto clients = static_cast<unsigned>(count(WorkerProcess::State::client));
  const std::string packet =
      encode(Assignment{client, connection.introduction.grant, clients + (client.is_query ? 0 : 1)});
  std::vector<int> descriptors;
  for (const base::FileDescriptor& each : connection.descriptors) descriptors.push_back(each.get());
  while (connection.assignments++ < kMaxAssignments) {
    const auto spare = std::find_if(workers_.begin(), workers_.end(), [](const WorkerProcess& one) {
      return one.control >= 0 && one.state == WorkerProcess::State::spare;
    });
    WorkerProcess* const worker = spare != workers_.end() ? &*spare : start_worker();
    if (worker == nullptr) break;
    if (!send_with_descriptors(worker->control, std::as_bytes(std::span(packet)), descriptors)) {
      if (errno != EPIPE && errno != ECONNRESET) break;
      close_control(*worker);  // it has died
      continue;
    }
    worker->state = client.is_query ? WorkerProcess::State::query : WorkerProcess::State::client;
    worker->peer = connection.introduction.peer;
    worker->peer_key = connection.introduction.peer_key;
    worker->tenant = connection.introduction.grant.tenant;
    worker->name = client.name;
    worker->connection = std::move(connection);
    return update_client_count();
  }
  log_line("client " + connection.introduction.peer + ": there is no worker for it");
  connection.close();
}

void Supervisor::read_message(WorkerProcess& worker) {
  std::array<char, kMaxPacket> packet;
  // It may be anybody's code, and sends none that are wanted.
  std::vector<base::FileDescriptor> unwanted;
  const long got = receive_with_descriptors(worker.control, std::as_writable_bytes(std::span(packet)),
                                            unwanted, MSG_DONTWAIT);
  discard(std::move(unwanted));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return end_worker(worker);
  const std::string text(packet.data() + 1, static_cast<std::size_t>(got) - 1);
  switch (static_cast<WorkerMessage>(packet[0])) {
    case WorkerMessage::taken:
      if (!worker.connection.is_open()) return;  // it has said so before
      worker.client = std::move(worker.connection.descriptors.front());
      worker.connection.close();
      spawn_retry_delay_ = kSpawnRetryDelay;
      if (worker.state == WorkerProcess::State::client) {
        log_line("client " + worker.peer + " " + worker.name + ": connected (process " +
                 std::to_string(worker.process) + ")");
      }
      return;
    case WorkerMessage::refused:
      ++front_counters_->refused;
      worker.end_reason = "refused: " + text;
      return;
    case WorkerMessage::violation:
      ++statistics_.violations;
      worker.end_reason = "protocol violation: " + text;
      return;
    case WorkerMessage::ended:
      worker.end_reason = "disconnected: " + text;
      return;
  }
}

void Supervisor::close_control(WorkerProcess& worker) {
  discard(base::FileDescriptor(std::exchange(worker.control, -1)));
  discard(std::move(worker.client));
  worker.kill_deadline = steady_clock::now() + kExitGrace;
  update_client_count();
  if (worker.state != WorkerProcess::State::spare) return;
  next_spawn_ = steady_clock::now() + spawn_retry_delay_;
  spawn_retry_delay_ = std::min(2 * spawn_retry_delay_, kMaxSpawnRetryDelay);
}

// A worker that has not taken its connection was a spare one until its end.
void Supervisor::end_worker(WorkerProcess& worker) {
  Connection connection = std::exchange(worker.connection, {});
  if (connection.is_open()) worker.state = WorkerProcess::State::spare;
  close_control(worker);
  if (connection.is_open()) assign(std::move(connection));
}

// Of a worker that has ended, and does so for the supervisor.
void Supervisor::read_last_messages(WorkerProcess& worker) {
  char byte = 0;
  while (worker.control >= 0 && ::recv(worker.control, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
    read_message(worker);
  if (worker.control >= 0) end_worker(worker);
}

// Does not wait: a driver may delay a worker's exit forever, and the other clients must still be served.
void Supervisor::reap() {
  for (WorkerProcess& worker : workers_) {
    if (has_ended(worker.process)) {
      worker.walls->kill(worker.process);  // what it has left behind, which may hold the control socket open
      if (worker.control >= 0) read_last_messages(worker);
      int status = 0;
      ::waitpid(worker.process, &status, 0);
      log_and_forget(worker, status);
    } else if (!worker.is_killed && steady_clock::now() >= worker.kill_deadline) {
      worker.walls->kill(worker.process);
      worker.is_killed = true;
    }
  }
  workers_.remove_if([](const WorkerProcess& worker) { return worker.has_exited; });
}

void Supervisor::log_and_forget(WorkerProcess& worker, int status) {
  worker.has_exited = true;
  std::string text = worker.end_reason;
  const int signal = signal_in(status);
  if (signal != 0 && text.empty()) {
    ++statistics_.crashed;
    text = std::string("its worker crashed: ") + ::strsignal(signal);
  }
  if (worker.state == WorkerProcess::State::spare) {
    if (!stopping_) log_line("a worker could not start" + (text.empty() ? "" : ": " + text));
  } else if (worker.state != WorkerProcess::State::query) {
    log_line("client " + worker.peer + (worker.name.empty() ? "" : " " + worker.name) + ": " +
             (text.empty() ? "its worker ended" : text));
  }
}

// Workers exit when their control sockets close.
void Supervisor::stop_workers() {
  const Time until = steady_clock::now() + kKillGrace;
  for (WorkerProcess& worker : workers_) {
    if (worker.control >= 0) close_control(worker);
  }
  for (reap(); !workers_.empty() && steady_clock::now() < until; reap()) ::usleep(1000);
}

// SIGCHLD is handled by reap().
void Supervisor::handle_signals() {
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) stopping_ = true;
  if (signal.ssi_signo != SIGHUP) return;
  try {
    read_credentials();
    log_line("the clients have been read again");
  } catch (const OptionError& error) {
    log_line(std::string(error.what()) + "; who may connect is as before");
  }
}

// Who may connect. This process only looks for mistakes: the secrets are for the front.
void Supervisor::read_credentials() {
  CredentialFiles files = CredentialFiles::open(options_);
  static_cast<void>(Credentials(options_, files));  // finds mistakes
  front_.set_credentials(std::move(files));
}

// In ms: until the next worker has to be killed, and at most a second.
int Supervisor::poll_timeout() const {
  constexpr std::chrono::milliseconds kMax{1000};
  Time until = steady_clock::now() + kMax;
  if (front_.control() < 0) until = std::min(until, front_.next_start());
  for (const WaitingList::Entry& each : waiting_.all()) until = std::min(until, each.until);
  for (const WorkerProcess& worker : workers_) {
    if (!worker.is_killed) until = std::min(until, worker.kill_deadline);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

void Supervisor::step() {
  std::vector<pollfd> descriptors{{signals_, POLLIN, 0}, {front_.control(), POLLIN, 0}};  // -1 is skipped
  std::vector<WorkerProcess*> polled;
  for (WorkerProcess& worker : workers_) {
    if (worker.control < 0) continue;
    polled.push_back(&worker);
    descriptors.push_back({worker.control, POLLIN, 0});
  }
  for (const WorkerProcess& worker : workers_) {
    if (worker.client.is_open()) descriptors.push_back({worker.client.get(), POLLRDHUP, 0});
  }
  ::poll(descriptors.data(), descriptors.size(), poll_timeout());
  if (descriptors[0].revents != 0) handle_signals();
  if (stopping_) return;
  watch_clients(descriptors);
  for (std::size_t i = 0; i < polled.size(); ++i) {
    const bool is_open = polled[i]->control >= 0;  // one that cannot get a connection is closed meanwhile
    if (is_open && descriptors[2 + i].revents != 0) read_message(*polled[i]);
  }
  reap();
  serve_those_who_wait();
  if (descriptors[1].revents != 0) read_front();
}

// Once the client is gone its worker has little time.
void Supervisor::watch_clients(const std::vector<pollfd>& watched) {
  for (WorkerProcess& worker : workers_) {
    const auto found = std::find_if(watched.begin(), watched.end(), [&](const pollfd& each) {
      return each.events == POLLRDHUP && each.fd == worker.client.get() && each.revents != 0;
    });
    if (!worker.client.is_open() || found == watched.end()) continue;
    discard(std::move(worker.client));
    worker.kill_deadline = std::min(worker.kill_deadline, steady_clock::now() + kClientGrace);
  }
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
    keep_spares();
    step();
  }
  daemon::notify("STOPPING=1");
  listeners_.clear();
  stop_workers();
  front_.stop();
  return EXIT_SUCCESS;
}

}  // namespace

int run_supervisor(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  check_for_workers(options);
  raise_file_limit();
  Supervisor supervisor(options);
  return supervisor.run();
}

}  // namespace cleave::remote::server
