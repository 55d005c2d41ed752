// The workers as the supervisor sees them: starts one for each client, and some to spare, hears what they report, and ends those
// whose clients have gone. It reads nothing from clients.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/files/discard.h"
#include "base/files/file_descriptor.h"
#include "base/rate_limit.h"
#include "remote/server/options/options.h"
#include "remote/server/sandbox/sandbox.h"
#include "remote/server/supervisor/client_count_file.h"
#include "remote/server/supervisor/front_process.h"
#include "remote/server/supervisor/front_requests.h"
#include "remote/server/supervisor/places.h"
#include "remote/server/supervisor/statistics.h"
#include "remote/server/supervisor/worker_brokers.h"
#include "remote/server/supervisor/worker_text.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

class Workers {
 public:
  // All must outlive this.
  Workers(const Options& options, Sandbox& sandbox, ClientCountFile& count, ServerStatistics& statistics,
          FrontProcess& front);

  // Starts as many spare ones as the options want. Problems are logged.
  void keep_spares();
  // For an admitted client. If no worker can be had, its connection is closed, which is logged.
  void assign(Newcomer newcomer);

  // Ends those whose clients' names are not among these. The others keep what they have been granted.
  void end_removed(const NamedGrants& named);

  // A message of the front's, if its worker is still there.
  void forward(MessageForWorker message);

  // Adds the descriptors to be polled; and, after poll(), handles what has happened on them.
  void add_to(std::vector<pollfd>& polled);
  void handle(const std::vector<pollfd>& polled);
  // Reaps workers that have ended, and kills those that should have. Does not wait.
  void reap();
  // When the next worker has to be killed, or messages of one may be read again.
  [[nodiscard]] Time next_deadline() const;
  // Ends all, and waits for that for a short time.
  void stop();

  // The clients that are served, without those that are about to end.
  [[nodiscard]] std::vector<Occupant> served() const;
  // Whether workers of clients with other names are about to end.
  [[nodiscard]] bool others_are_ending(const std::string& tenant) const;
  // The number of workers that have been killed and do not end.
  [[nodiscard]] std::size_t unkillable() const;

 private:
  // An admitted client's. Its descriptors are kept until a worker has taken them: another worker gets them if that one ends
  // first.
  struct Connection {
    Newcomer newcomer;
    unsigned assignments = 0;

    [[nodiscard]] bool is_open() const { return !newcomer.descriptors.empty(); }
    // What the client has sent may wait in its socket.
    void close() {
      discard(std::move(newcomer.descriptors));
      newcomer.descriptors.clear();
    }
  };

  // How fast a worker's messages and its standard error are read. A worker may run anybody's code, and each message
  // costs the supervisor, and often the front, processor time. What comes faster waits in the pipe, and once that is
  // full its sender waits, too; nothing is lost. The burst exceeds what a client's transfers from server to server
  // need: each takes some messages, with connections to be made in between.
  struct MessageRate : base::RateLimit {
    MessageRate() : RateLimit(std::chrono::milliseconds(1), 128) {}
  };

  // From a worker; not open: it has ended.
  struct Pipe {
    base::FileDescriptor end;
    MessageRate rate{};
  };

  // How a worker ends.
  struct Ending {
    std::string reason;
    std::string late_reason;      // if it has to be killed at the deadline
    Time deadline = Time::max();  // it is killed if it has not exited by then
    bool is_counted = false;      // what it has said of its client's end
    bool is_killed = false;
    bool has_exited = false;
  };

  // Of all processes of a worker.
  struct Memory {
    std::uint64_t most = UINT64_MAX;
    bool is_large = false;  // when it was measured
  };

  struct Worker {
    enum class State : std::uint8_t { spare, query, client };
    std::unique_ptr<WorkerWalls> walls;
    std::uint64_t number = 0;  // by which the front knows it
    FrontRequests requests{};  // that it has not answered
    State state = State::spare;
    pid_t process = -1;
    int control = -1;  // to it; -1: the worker has closed its reports
    Pipe reports{};
    Pipe errors{};                // its standard error
    WorkerText text{};            // that has come from there
    WorkerBroker broker{};        // in a sandbox
    Introduction introduction{};  // its client's
    Connection connection;        // that it has not taken yet
    base::FileDescriptor client;  // the connection that it has taken, until the client's end has been seen
    Ending ending{};
    Memory memory{};
  };

  // A worker's pipe, and its place in the list of what is polled.
  struct Polled {
    std::size_t place;
    Worker* worker;
    Pipe* pipe;
  };

  void assign(Connection connection);
  Worker* start_worker();
  // Not open: none is wanted, or it cannot be written, which is logged.
  [[nodiscard]] base::FileDescriptor trace_file(const Worker& worker) const;
  void read_message(Worker& worker);
  void forward(Worker& worker, PeerMessage message);
  void note_report(Worker& worker, const ipc::Report& report);
  void read_last_messages(Worker& worker);
  static void read_errors(Worker& worker);
  static void read_last_errors(Worker& worker);
  void check_broker(Worker& worker);
  void end_silent_brokers();
  void watch_clients(const std::vector<pollfd>& polled);
  void close_control(Worker& worker);
  void end_worker(Worker& worker);
  [[nodiscard]] static bool has_too_much(const Worker& worker);
  void end_large();
  static void count_end(Worker& worker, std::atomic<std::uint64_t>& counter);
  void log_and_forget(Worker& worker, int status);
  void update_client_count();
  [[nodiscard]] std::size_t count(Worker::State state) const;

  const Options& options_;
  const std::vector<daemon::GivenValue> given_;  // of the options, for workers
  Sandbox& sandbox_;
  ClientCountFile& count_;
  ServerStatistics& statistics_;
  FrontProcess& front_;
  std::uint64_t latest_ = 0;  // worker
  std::list<Worker> workers_;
  WorkerBrokers brokers_;
  std::vector<Polled> polled_;
  Time next_heard_ = Time::max();  // when messages of one that is not in the list may be read again
  Time next_measure_{};            // of their memory
  Time next_look_{};               // at their brokers
  bool stopping_ = false;
  Time next_spawn_{};
  std::chrono::seconds spawn_retry_delay_;
};

}  // namespace cleave::remote::server
