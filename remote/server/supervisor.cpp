#include "remote/server/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "remote/server/control.h"
#include "remote/server/count_file.h"
#include "remote/server/metrics.h"
#include "remote/server/privileges.h"
#include "remote/server/say.h"
#include "remote/server/spawn.h"
#include "remote/server/tally.h"
#include "remote/transport/descriptors.h"
#include "remote/transport/listen.h"
#include "remote/transport/tls.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// So many connections may be at their beginning at a time; more are closed at once.
constexpr std::size_t kMostNew = 32;
// Workers that end before they are ready, one after the other: the driver is broken, and trying on would burn
// the machine. Twice as long each time.
constexpr std::chrono::seconds kAfterFailure{1};
constexpr std::chrono::seconds kLongestPause{60};
// A worker that has closed its end is about to end; a driver may hold it up for so long.
constexpr std::chrono::milliseconds kToEnd{200};
// Not even that ends one within a driver that hangs in the kernel.
constexpr std::chrono::seconds kToBeKilled{2};

// sd_notify(3), where there is somebody to hear it.
void tell_service_manager(const char* words) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un name{};
  if (path == nullptr || std::strlen(path) >= sizeof name.sun_path) return;
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path, std::strlen(path));
  if (name.sun_path[0] == '@') name.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  ::sendto(socket, words, std::strlen(words), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&name),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path)));
  ::close(socket);
}

struct Child {
  enum class State : std::uint8_t { spare, fresh, visitor, client };
  State state = State::spare;
  pid_t process = -1;
  int control = -1;  // -1: it has closed its end
  std::string peer;
  std::string name;
  std::string last_words;
  Time since;
  Time killed_at = Time::max();  // if it has not ended by then
  bool is_killed = false;
  bool is_over = false;
};

// What would let no worker begin is a mistake in the options, to be known before anybody connects.
void check_for_workers(const Options& options) {
  check_user(options.user);
  if (options.tls.certificate.empty()) return;
  std::string problem;
  if (TlsServer::make(options.tls, problem) == nullptr) throw OptionError("TLS: " + problem);
}

class Supervisor {
 public:
  Supervisor(const Options& options, std::span<const char* const> arguments)
      : options_(options), arguments_(arguments), count_(options.state) {
    tally_.most_clients = options.most_clients;
  }

  int run();

 private:
  bool listen();
  void keep_spares();
  void step();
  void accept_from(const Listening& listening);
  void assign(const Listening& listening, int socket);
  void hear(Child& worker);
  bool admit(Child& worker, Child::State as);
  void let_end(Child& worker);
  void reap();
  void bury(Child& worker, int status);
  void end_all();
  [[nodiscard]] std::size_t unkillable() const;
  [[nodiscard]] int patience() const;
  void note_clients();
  [[nodiscard]] std::size_t count(Child::State state) const;
  bool hear_signal();

  const Options& options_;
  const std::span<const char* const> arguments_;
  CountFile count_;
  Tally tally_;
  std::vector<Listening> listening_;
  std::list<Child> workers_;
  int signals_ = -1;
  bool ending_ = false;
  Time no_spares_before_{};
  std::chrono::seconds pause_ = kAfterFailure;
};

bool Supervisor::listen() {
  for (const Endpoint& endpoint : options_.listen) {
    Listening one = listen_on(endpoint, options_.socket_mode);
    if (one.socket < 0) {
      say("--listen " + as_text(endpoint) + ": " + one.problem);
      return false;
    }
    one.endpoint.tls = endpoint.tls;
    say("listening on " + as_text(one.endpoint));
    listening_.push_back(std::move(one));
  }
  if (options_.metrics.empty()) return true;
  const auto endpoint = read_endpoint(options_.metrics);
  if (!endpoint || !is_private(*endpoint)) {
    say("--metrics: \"" + options_.metrics +
        "\" is not understood; expected a loopback address, such as tcp:127.0.0.1:9461");
    return false;
  }
  const Listening one = listen_on(*endpoint, options_.socket_mode);
  if (one.socket < 0) {
    say("--metrics " + options_.metrics + ": " + one.problem);
    return false;
  }
  say("metrics on " + as_text(one.endpoint));
  serve_metrics(one.socket, tally_);
  return true;
}

std::size_t Supervisor::count(Child::State state) const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [&](const Child& worker) {
    return worker.control >= 0 && worker.state == state;
  }));
}

std::size_t Supervisor::unkillable() const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [](const Child& worker) {
    return worker.is_killed && steady_clock::now() >= worker.killed_at + kToBeKilled;
  }));
}

void Supervisor::keep_spares() {
  if (steady_clock::now() < no_spares_before_) return;
  while (count(Child::State::spare) < options_.spare) {
    const Spawned spawned = spawn_worker(arguments_, count_.path());
    if (spawned.process < 0) {
      say(std::string("no process for a client (") + std::strerror(errno) + ")");
      no_spares_before_ = steady_clock::now() + kAfterFailure;
      return;
    }
    workers_.push_back(
        {Child::State::spare, spawned.process, spawned.control, {}, {}, {}, steady_clock::now()});
  }
}

void Supervisor::note_clients() {
  const auto clients = static_cast<unsigned>(count(Child::State::client));
  if (tally_.clients.exchange(clients) != clients) count_.write(clients);
}

void Supervisor::accept_from(const Listening& listening) {
  const int socket = ::accept4(listening.socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return;
  ++tally_.connections;
  if (count(Child::State::fresh) >= kMostNew) {
    ++tally_.turned_away;
  } else {
    assign(listening, socket);
  }
  ::close(socket);
}

void Supervisor::assign(const Listening& listening, int socket) {
  auto worker = std::find_if(workers_.begin(), workers_.end(), [](const Child& one) {
    return one.control >= 0 && one.state == Child::State::spare;
  });
  if (worker == workers_.end()) {
    const Spawned spawned = spawn_worker(arguments_, count_.path());
    if (spawned.process < 0)
      return say(std::string("no process for a client (") + std::strerror(errno) + ")");
    worker = workers_.insert(
        workers_.end(),
        {Child::State::spare, spawned.process, spawned.control, {}, {}, {}, steady_clock::now()});
  }
  Assignment assignment;
  assignment.tls = listening.endpoint.tls;
  assignment.is_unix = listening.endpoint.address.kind == base::Address::Kind::unix_socket;
  assignment.peer = peer_of(socket);
  const std::string packet = encode(assignment);
  send_with_descriptor(worker->control, std::as_bytes(std::span(packet)), socket);
  worker->state = Child::State::fresh;
  worker->peer = assignment.peer;
  worker->since = steady_clock::now();
}

// Says whether there is room, which workers that cannot be killed take, too; one that has been killed is
// given some time to go. A visitor needs none.
bool Supervisor::admit(Child& worker, Child::State as) {
  Admission admission;
  admission.admitted =
      as == Child::State::visitor || count(Child::State::client) + unkillable() < options_.most_clients;
  if (admission.admitted) worker.state = as;
  pause_ = kAfterFailure;  // it has begun well
  note_clients();
  admission.clients = static_cast<unsigned>(count(Child::State::client));
  const std::string packet = encode(admission);
  ::send(worker.control, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return admission.admitted;
}

void Supervisor::hear(Child& worker) {
  std::array<char, kMostPacket> packet;
  const ssize_t got = ::recv(worker.control, packet.data(), packet.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return let_end(worker);
  const std::string text(packet.data() + 1, static_cast<std::size_t>(got) - 1);
  switch (static_cast<Word>(packet[0])) {
    case Word::client:
      worker.name = text;
      if (!admit(worker, Child::State::client)) return;
      ++tally_.admitted;
      return say("client " + worker.peer + " " + worker.name + ": came (process " +
                 std::to_string(worker.process) + ")");
    case Word::visitor:
      ++tally_.visitors;
      admit(worker, Child::State::visitor);
      return;
    case Word::refused:
      ++tally_.refused;
      worker.last_words = "refused: " + text;
      return;
    case Word::hostile:
      ++tally_.hostile;
      worker.last_words = "sent away: " + text;
      return;
    case Word::gone:
      worker.last_words = "went: " + text;
      return;
  }
}

void Supervisor::let_end(Child& worker) {
  ::close(std::exchange(worker.control, -1));
  worker.killed_at = steady_clock::now() + kToEnd;
  note_clients();
  if (worker.state != Child::State::spare) return;
  no_spares_before_ = steady_clock::now() + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

// Waits for none of them: a driver may hold one up for ever, and the others' clients go on.
void Supervisor::reap() {
  for (Child& worker : workers_) {
    if (worker.control >= 0) continue;
    int status = 0;
    if (::waitpid(worker.process, &status, WNOHANG) != 0) {
      bury(worker, status);
    } else if (!worker.is_killed && steady_clock::now() >= worker.killed_at) {
      ::kill(worker.process, SIGKILL);
      worker.is_killed = true;
    }
  }
  workers_.remove_if([](const Child& worker) { return worker.is_over; });
}

void Supervisor::bury(Child& worker, int status) {
  worker.is_over = true;
  std::string words = worker.last_words;
  if (WIFSIGNALED(status) && words.empty()) {
    ++tally_.crashed;
    words = std::string("its worker crashed: ") + ::strsignal(WTERMSIG(status));
  }
  if (worker.state == Child::State::spare) {
    if (!ending_) say("a worker could not begin" + (words.empty() ? "" : ": " + words));
  } else if (worker.state != Child::State::visitor) {
    say("client " + worker.peer + (worker.name.empty() ? "" : " " + worker.name) + ": " +
        (words.empty() ? "its worker ended" : words));
  }
}

// Their sockets close with ours, and then they go.
void Supervisor::end_all() {
  const Time until = steady_clock::now() + kToBeKilled;
  for (Child& worker : workers_) {
    if (worker.control >= 0) let_end(worker);
  }
  for (reap(); !workers_.empty() && steady_clock::now() < until; reap()) ::usleep(1000);
}

// Whether it is to end. The others are for reap().
bool Supervisor::hear_signal() {
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof signal) != sizeof signal) return false;
  return signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT;
}

// In ms, until something is to be done that nothing tells of.
int Supervisor::patience() const {
  constexpr std::chrono::milliseconds kMost{1000};
  Time until = steady_clock::now() + kMost;
  for (const Child& worker : workers_) {
    if (!worker.is_killed) until = std::min(until, worker.killed_at);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

void Supervisor::step() {
  std::vector<pollfd> waited{{signals_, POLLIN, 0}};
  for (const Listening& one : listening_) waited.push_back({one.socket, POLLIN, 0});
  std::vector<Child*> heard;
  for (Child& worker : workers_) {
    if (worker.control < 0) continue;
    heard.push_back(&worker);
    waited.push_back({worker.control, POLLIN, 0});
  }
  ::poll(waited.data(), waited.size(), patience());
  if (waited[0].revents != 0 && hear_signal()) {
    ending_ = true;
    return;
  }
  for (std::size_t i = 0; i < heard.size(); ++i) {
    if (waited[1 + listening_.size() + i].revents != 0) hear(*heard[i]);
  }
  reap();
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    if (waited[1 + i].revents != 0) accept_from(listening_[i]);
  }
}

int Supervisor::run() {
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGTERM);
  ::sigaddset(&handled, SIGINT);
  ::sigaddset(&handled, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0 || !listen()) return EXIT_FAILURE;
  tell_service_manager("READY=1");
  while (!ending_) {
    keep_spares();
    step();
  }
  for (const Listening& one : listening_) {
    const base::Address& address = one.endpoint.address;
    const bool is_file = address.kind == base::Address::Kind::unix_socket && address.path.front() != '@';
    if (is_file) ::unlink(address.path.c_str());
  }
  end_all();
  return EXIT_SUCCESS;
}

}  // namespace

int run_supervisor(const Options& options, std::span<const char* const> arguments) {
  ::signal(SIGPIPE, SIG_IGN);
  check_for_workers(options);
  if (::geteuid() == 0 && options.user.empty())
    say("workers run as root; name a user of their own with --user");
  Supervisor supervisor(options, arguments);
  return supervisor.run();
}

}  // namespace cleave::remote::server
