#include "remote/server/supervisor/workers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/files/discard.h"
#include "remote/server/front/printable.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/supervisor/process_end.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/trace_folder.h"
#include "remote/server/supervisor/worker_memory.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// So many workers may end before they take a connection, until it is closed: a driver that crashes when it is loaded would
// crash in every further one.
constexpr unsigned kMaxAssignments = 3;
// The pause after a worker has ended before it was ready, doubled each time: the driver is broken, and restarting workers
// constantly would keep the processors busy.
constexpr std::chrono::seconds kSpawnRetryDelay{1};
constexpr std::chrono::seconds kMaxSpawnRetryDelay{60};
// A worker that has closed its reports is about to exit. If a driver delays it for longer, it is killed.
constexpr std::chrono::milliseconds kExitGrace{200};
// A worker whose client has gone ends within this time, or is killed: its kernels may keep it from noticing.
constexpr std::chrono::seconds kClientGrace{4};
// After that time a killed worker counts as unkillable: its driver hangs in the kernel.
constexpr std::chrono::seconds kKillGrace{2};
// In front of what a worker says of its client's end.
constexpr const char* kWord = "its worker says: ";
// How often the memory of workers is measured, and their brokers' heartbeats are checked.
constexpr std::chrono::seconds kMeasurePeriod{1};
// And again where one has too much: a child that has not executed its program yet may have been counted as another of the same size.
constexpr std::chrono::milliseconds kMeasureAgain{200};

// For what it writes to standard error.
WorkerText::Log log_of(pid_t worker) {
  return [worker](std::string_view line) {
    log_line("worker " + std::to_string(worker) + ": " + std::string(line));
  };
}

}  // namespace

Workers::Workers(const Options& options, Sandbox& sandbox, ClientCountFile& count,
                 ServerStatistics& statistics, FrontProcess& front)
    : options_(options),
      given_(options_of_workers(options.given)),
      sandbox_(sandbox),
      count_(count),
      statistics_(statistics),
      front_(front),
      spawn_retry_delay_(kSpawnRetryDelay) {}

std::size_t Workers::count(Worker::State state) const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return worker.control >= 0 && worker.state == state;
  }));
}

std::size_t Workers::unkillable() const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) {
    return worker.ending.is_killed && steady_clock::now() >= worker.ending.deadline + kKillGrace;
  }));
}

void Workers::keep_spares() {
  if (steady_clock::now() < next_spawn_) return;
  while (count(Worker::State::spare) < options_.spare) {
    if (start_worker() != nullptr) continue;
    next_spawn_ = steady_clock::now() + kSpawnRetryDelay;
    return;
  }
}

// A spare one; null where it cannot be started, which is logged.
Workers::Worker* Workers::start_worker() {
  std::string problem;
  std::unique_ptr<WorkerWalls> walls = sandbox_.make_walls(problem);
  Spawned spawned;
  WorkerBroker broker;
  if (walls && sandbox_.has_sandbox()) {
    broker = WorkerBrokers::start(given_, sandbox_.outside());
    if (!broker.control.is_open()) {
      log_line(std::string("cannot start a worker's broker (") + std::strerror(errno) + ")");
      return nullptr;
    }
  }
  if (walls) {
    spawned = spawn(kWorkerArgument, given_, count_.path(), &walls->launch());
    if (spawned.process < 0) problem = std::strerror(errno);
  }
  if (spawned.process < 0) {
    log_line("cannot start a worker (" + problem + ")");
    brokers_.end(std::move(broker));
    return nullptr;
  }
  WorkerBrokers::connect(broker, spawned.control);
  Worker& worker = workers_.emplace_back();
  worker.walls = std::move(walls);
  worker.number = ++latest_;
  worker.process = spawned.process;
  worker.control = spawned.control;
  worker.reports.end = base::FileDescriptor(spawned.reports);
  worker.errors.end = base::FileDescriptor(spawned.errors);
  worker.broker = std::move(broker);
  return &worker;
}

void Workers::update_client_count() {
  const auto clients = static_cast<unsigned>(count(Worker::State::client));
  if (statistics_.clients.exchange(clients) != clients) count_.write(clients);
}

void Workers::assign(Newcomer newcomer) { assign(Connection{std::move(newcomer)}); }

void Workers::assign(Connection connection) {
  const Introduction& introduction = connection.newcomer.introduction;
  const ClientInfo& client = introduction.client;
  const auto clients = static_cast<unsigned>(count(Worker::State::client));
  Assignment assignment{client, introduction.grant, clients + (client.is_query ? 0 : 1)};
  while (connection.assignments++ < kMaxAssignments) {
    const auto spare = std::find_if(workers_.begin(), workers_.end(), [](const Worker& one) {
      return one.control >= 0 && one.state == Worker::State::spare;
    });
    Worker* const worker = spare != workers_.end() ? &*spare : start_worker();
    if (worker == nullptr) break;
    std::vector<int> descriptors;
    for (const base::FileDescriptor& each : connection.newcomer.descriptors)
      descriptors.push_back(each.get());
    const base::FileDescriptor trace = client.is_query ? base::FileDescriptor() : trace_file(*worker);
    assignment.is_traced = trace.is_open();
    if (trace.is_open()) descriptors.push_back(trace.get());
    // First the broker: without one that has the limits the worker gets nothing to do.
    if (!WorkerBrokers::assign(worker->broker, assignment)) {
      close_control(*worker);
      continue;
    }
    if (!send_packet(worker->control, encode(assignment), descriptors)) {
      if (errno != EPIPE && errno != ECONNRESET) break;
      close_control(*worker);  // it has died
      continue;
    }
    worker->state = client.is_query ? Worker::State::query : Worker::State::client;
    worker->introduction = introduction;
    worker->memory.most =
        most_of_worker(introduction.grant.memory.value_or(options_.limits.memory), options_.limits);
    worker->connection = std::move(connection);
    return update_client_count();
  }
  log_line("client " + introduction.peer + ": there is no worker for it");
  connection.close();
}

void Workers::end_removed(const NamedGrants& named) {
  for (Worker& worker : workers_) {
    if (worker.control < 0 || named.has(worker.introduction.grant.tenant)) continue;
    worker.ending.reason = "disconnected: it is no longer in the clients file";
    close_control(worker);
  }
}

// The worker gets it open, and no access to the folder: there are other clients' traces.
base::FileDescriptor Workers::trace_file(const Worker& worker) const {
  if (options_.trace.empty()) return {};
  base::FileDescriptor file = create_trace_file(options_.trace, worker.process);
  if (!file.is_open()) {
    log_line("--trace " + options_.trace + ": no file for process " + std::to_string(worker.process) + " (" +
             std::strerror(errno) + "); its client is not traced");
  }
  return file;
}

void Workers::read_message(Worker& worker) {
  PacketReader reader;
  const ReadStatus got = reader.read_pipe(worker.reports.end.get());
  if (got == ReadStatus::timeout) return;
  if (got == ReadStatus::closed) return end_worker(worker);
  if (const auto* const report = reader.get<ipc::Report>(); report != nullptr)
    return note_report(worker, *report);
  if (const auto* const message = reader.get<ipc::PeerMessage>(); message != nullptr) {
    PeerMessage request = decode(*message);
    if (request.is_request()) return forward(worker, std::move(request));
  }
  worker.ending.reason = "its worker has sent what is no message";
  close_control(worker);
}

void Workers::note_report(Worker& worker, const ipc::Report& report) {
  const std::string text = report.text()->str();
  switch (report.kind()) {
    case ipc::ReportKind::taken:
      if (!worker.connection.is_open()) return;  // it has said so before
      worker.client = std::move(worker.connection.newcomer.descriptors.front());
      worker.connection.close();
      spawn_retry_delay_ = kSpawnRetryDelay;
      if (worker.state == Worker::State::client) {
        log_line("client " + worker.introduction.peer + " " + quoted(worker.introduction.client.name) +
                 ": connected (process " + std::to_string(worker.process) + ")");
      }
      return;
    case ipc::ReportKind::refused:
      count_end(worker, statistics_.refused_by_workers);
      worker.ending.reason = std::string(kWord) + "refused: " + text;
      return;
    case ipc::ReportKind::violation:
      count_end(worker, statistics_.violations);
      worker.ending.reason = std::string(kWord) + "protocol violation: " + text;
      return;
    case ipc::ReportKind::ended:
      worker.ending.reason = std::string(kWord) + "disconnected: " + text;
      return;
  }
}

// It is the worker's word, which may be anybody's code: no worker can raise the server's counters by more than one client that has
// been admitted.
void Workers::count_end(Worker& worker, std::atomic<std::uint64_t>& counter) {
  if (worker.state == Worker::State::spare || std::exchange(worker.ending.is_counted, true)) return;
  ++counter;
}

// The worker may run its client's code, and the front judges its requests.
void Workers::forward(Worker& worker, PeerMessage message) {
  if (worker.state != Worker::State::client || !worker.requests.begin(front_.number())) {
    worker.ending.reason = "its worker asks for too much";
    return close_control(worker);
  }
  message.worker = worker.number;
  if (!front_.forward(message)) worker.requests.lose();
}

// To a worker that does not read it is lost.
void Workers::forward(MessageForWorker message) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return worker.number == message.message.worker && worker.control >= 0;
  });
  if (found == workers_.end()) return discard(std::move(message.descriptors));
  if (message.message.kind != PeerMessage::Kind::arrived) found->requests.end(front_.number());
  std::vector<int> descriptors;
  for (const base::FileDescriptor& each : message.descriptors) descriptors.push_back(each.get());
  if (wait_for(found->control, POLLOUT, kNoWait))
    send_packet(found->control, encode(message.message), descriptors);
  discard(std::move(message.descriptors));
}

void Workers::close_control(Worker& worker) {
  discard(base::FileDescriptor(std::exchange(worker.control, -1)));
  worker.reports.end.close();
  discard(std::move(worker.client));
  worker.connection.close();  // not by a destructor
  worker.ending.deadline = steady_clock::now() + kExitGrace;
  update_client_count();
  if (worker.state != Worker::State::spare) return;
  next_spawn_ = steady_clock::now() + spawn_retry_delay_;
  spawn_retry_delay_ = std::min(2 * spawn_retry_delay_, kMaxSpawnRetryDelay);
}

// A worker that has not taken its connection was a spare one until its end.
void Workers::end_worker(Worker& worker) {
  Connection connection = std::exchange(worker.connection, {});
  if (connection.is_open()) worker.state = Worker::State::spare;
  close_control(worker);
  if (connection.is_open()) assign(std::move(connection));
}

// Of a worker that has ended, and does so for the supervisor. What it has left behind may go on sending, where it cannot be killed,
// and the other clients must still be served.
void Workers::read_last_messages(Worker& worker) {
  constexpr int kMost = 1024;  // more than a pipe holds
  for (int i = 0; i < kMost && worker.control >= 0; ++i) {
    if (!wait_for(worker.reports.end.get(), POLLIN, kNoWait)) break;
    read_message(worker);
  }
  if (worker.control >= 0) end_worker(worker);
}

// It is anybody's word: a kernel that is native code may write there.
void Workers::read_errors(Worker& worker) {
  std::array<char, 1U << 16U> bytes;
  const ssize_t got = ::read(worker.errors.end.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return worker.errors.end.close();
  worker.text.add({bytes.data(), static_cast<std::size_t>(got)}, steady_clock::now(), log_of(worker.process));
}

// As of its reports.
void Workers::read_last_errors(Worker& worker) {
  constexpr int kMost = 16;  // as much as a pipe holds
  for (int i = 0; i < kMost && worker.errors.end.is_open(); ++i) {
    if (!wait_for(worker.errors.end.get(), POLLIN, kNoWait)) break;
    read_errors(worker);
  }
  worker.errors.end.close();
  worker.text.end(log_of(worker.process));
}

// What limits a client is not lost with the process that keeps it. Others go on without turns.
void Workers::check_broker(Worker& worker) {
  const WorkerBrokers::End end = WorkerBrokers::new_end(worker.broker);
  if (end == WorkerBrokers::End::none || worker.control < 0 || !has_limits(worker.introduction.grant)) return;
  worker.ending.deadline = std::min(worker.ending.deadline, steady_clock::now() + kClientGrace);
  if (end == WorkerBrokers::End::closed) {  // as of one that is about to end
    worker.ending.late_reason =
        "disconnected: its worker has lost the broker that keeps its limits, and has not ended";
    return;
  }
  worker.ending.reason = "disconnected: its limits cannot be kept";
  worker.connection.close();
  worker.walls->kill(worker.process);
  close_control(worker);
}

void Workers::end_silent_brokers() {
  const Time now = steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kMeasurePeriod;
  for (Worker& worker : workers_) {
    if (worker.state == Worker::State::spare || !WorkerBrokers::end_if_silent(worker.broker)) continue;
    log_line("client " + worker.introduction.peer + ": its worker's broker sends no heartbeat, and is ended");
  }
}

// A driver may delay a worker's exit forever, and the other clients must still be served.
void Workers::reap() {
  brokers_.reap();
  end_silent_brokers();
  for (Worker& worker : workers_) {
    check_broker(worker);
    if (has_ended(worker.process)) {
      worker.walls->kill(worker.process);  // what it has left behind, which may hold its reports open
      if (worker.control >= 0) read_last_messages(worker);
      read_last_errors(worker);
      int status = 0;
      ::waitpid(worker.process, &status, 0);
      log_and_forget(worker, status);
    } else if (!worker.ending.is_killed && steady_clock::now() >= worker.ending.deadline) {
      worker.walls->kill(worker.process);
      worker.ending.is_killed = true;
      if (worker.ending.reason.empty()) worker.ending.reason = worker.ending.late_reason;
    }
  }
  workers_.remove_if([](const Worker& worker) { return worker.ending.has_exited; });
  end_large();
}

bool Workers::has_too_much(const Worker& worker) {
  return worker.control >= 0 && memory_of_tree(worker.process) > worker.memory.most &&
         own_memory_of_tree(worker.process) > worker.memory.most;
}

// Code that runs in a worker can allocate memory without the worker's help.
void Workers::end_large() {
  const Time now = steady_clock::now();
  if (now < next_measure_) return;
  next_measure_ = now + kMeasurePeriod;
  for (Worker& worker : workers_) {
    const bool was_large = std::exchange(worker.memory.is_large, has_too_much(worker));
    if (!worker.memory.is_large) continue;
    next_measure_ = now + kMeasureAgain;
    if (!was_large) continue;
    worker.ending.reason = "disconnected: its worker has taken more memory than it may";
    close_control(worker);
    worker.ending.deadline = now;
  }
}

void Workers::log_and_forget(Worker& worker, int status) {
  worker.ending.has_exited = true;
  brokers_.end(std::move(worker.broker));
  std::string text = worker.ending.reason;
  const int signal = signal_in(status);
  if (signal != 0 && text.empty()) {
    ++statistics_.crashed;
    text = std::string("its worker crashed: ") + ::strsignal(signal);
  }
  if (worker.state == Worker::State::spare) {
    if (!stopping_) log_line("a worker could not start" + (text.empty() ? "" : ": " + text));
  } else if (worker.state != Worker::State::query) {
    const std::string& name = worker.introduction.client.name;
    log_line("client " + worker.introduction.peer + (name.empty() ? "" : " " + quoted(name)) + ": " +
             (text.empty() ? "its worker ended" : text));
  }
}

// Workers exit when their control sockets close.
void Workers::stop() {
  stopping_ = true;
  const Time until = steady_clock::now() + kKillGrace;
  for (Worker& worker : workers_) {
    if (worker.control >= 0) close_control(worker);
  }
  for (reap(); !workers_.empty() && steady_clock::now() < until; reap()) ::usleep(1000);
}

// Once the client is gone its worker has little time.
void Workers::watch_clients(const std::vector<pollfd>& watched) {
  for (Worker& worker : workers_) {
    const auto found = std::find_if(watched.begin(), watched.end(), [&](const pollfd& each) {
      return each.events == POLLRDHUP && each.fd == worker.client.get() && each.revents != 0;
    });
    if (!worker.client.is_open() || found == watched.end()) continue;
    discard(std::move(worker.client));
    worker.ending.deadline = std::min(worker.ending.deadline, steady_clock::now() + kClientGrace);
  }
}

void Workers::add_to(std::vector<pollfd>& polled) {
  polled_.clear();
  next_heard_ = Time::max();
  const Time now = steady_clock::now();
  const auto add = [&](Worker& worker, Pipe& pipe) {
    if (pipe.rate.next() > now) return void(next_heard_ = std::min(next_heard_, pipe.rate.next()));
    polled_.push_back({polled.size(), &worker, &pipe});
    polled.push_back({pipe.end.get(), POLLIN, 0});
  };
  for (Worker& worker : workers_) {
    if (worker.control >= 0) add(worker, worker.reports);
    if (worker.errors.end.is_open()) add(worker, worker.errors);
  }
  for (const Worker& worker : workers_) {
    if (worker.client.is_open()) polled.push_back({worker.client.get(), POLLRDHUP, 0});
  }
}

void Workers::handle(const std::vector<pollfd>& polled) {
  watch_clients(polled);
  for (const auto& [place, worker, pipe] : polled_) {
    const bool are_errors = pipe == &worker->errors;
    // One that cannot get a connection is closed meanwhile.
    const bool is_open = are_errors || worker->control >= 0;
    if (!is_open || polled[place].revents == 0) continue;
    pipe->rate.count(steady_clock::now());
    if (are_errors) {
      read_errors(*worker);
    } else {
      read_message(*worker);
    }
  }
  polled_.clear();
}

Time Workers::next_deadline() const {
  Time until = workers_.empty() ? next_heard_ : std::min(next_heard_, next_measure_);
  for (const Worker& worker : workers_) {
    if (!worker.ending.is_killed) until = std::min(until, worker.ending.deadline);
  }
  return until;
}

std::vector<Occupant> Workers::served() const {
  std::vector<Occupant> clients;
  for (const Worker& worker : workers_) {
    if (worker.state == Worker::State::spare || worker.control < 0) continue;
    const Introduction& introduction = worker.introduction;
    clients.push_back({introduction.client.is_query, introduction.peer_key, introduction.grant.tenant});
  }
  return clients;
}

bool Workers::others_are_ending(const std::string& tenant) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return worker.state == Worker::State::client && worker.control < 0 &&
           worker.introduction.grant.tenant != tenant;
  });
}

}  // namespace cleave::remote::server
