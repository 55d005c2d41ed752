#include "remote/server/worker/worker.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "interpose/calls/table.h"
#include "remote/protocol/features.h"
#include "remote/server/log.h"
#include "remote/server/options.h"
#include "remote/server/session/session.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/worker_messages.h"
#include "remote/server/worker/handshake.h"
#include "remote/server/worker/opencl_loader.h"
#include "remote/server/worker/privileges.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/tls.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// A driver's call that takes longer counts as stuck. Heartbeats stop then, so that the client notices.
constexpr std::chrono::seconds kStuckCallTime{120};
constexpr std::chrono::milliseconds kWatchPeriod{100};
// Cached staging memory is returned to the system after this time without use.
constexpr std::chrono::seconds kUnusedMemoryTime{5};
// The exit writes statistics; it is forced after this time.
constexpr unsigned kExitSeconds = 2;

// The first message, which the supervisor has sent before it started this process.
Options receive_options() {
  const ssize_t size = ::recv(STDIN_FILENO, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::vector<daemon::GivenValue> given;
  if (::recv(STDIN_FILENO, text.data(), text.size(), MSG_DONTWAIT) <= 0 || !decode(text, given))
    throw OptionError(std::string(kWorkerArgument) + ": is only for processes that the server starts");
  return options_from(std::move(given));
}

class Worker {
 public:
  explicit Worker(const Options& options) : options_(options) {}

  int run();

 private:
  bool prepare();
  bool await_connection();
  std::unique_ptr<Stream> open(Time until, std::string& why);
  void serve(Stream& stream, FrameReader& input, const ClientInfo& client);
  void watch_connection(Stream& stream, Outbox& outbox, ClientSession& session);
  void notify_supervisor(WorkerMessage word, const std::string& text) const;
  [[nodiscard]] Admission admit(const ClientInfo& client) const;
  [[noreturn]] void exit_worker(WorkerMessage word, const std::string& why);

  const Options& options_;
  int control_ = -1;
  int socket_ = -1;
  Assignment assignment_;
  std::string certificate_name_;  // of the client; empty: it has none
  std::vector<std::string> tokens_;
  std::unique_ptr<TlsServer> tls_;
  const Table* cl_ = nullptr;
  std::vector<OfferedPlatform> platforms_;
  std::unique_ptr<DeviceCatalog> catalog_;
  KernelOutput kernel_output_;
  std::unique_ptr<SharedMemory> shared_;
  std::atomic<bool> exiting_{false};
};

// Standard input leads to the supervisor; kernels print to standard output.
bool Worker::prepare() {
  control_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (control_ < 0 || nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) return false;
  ::close(nothing);
  std::string problem;
  if (!options_.token_file.empty()) tokens_ = read_tokens(options_.token_file);
  if (!options_.tls.certificate.empty()) {
    tls_ = TlsServer::make(options_.tls, problem);
    if (!tls_) throw OptionError("TLS: " + problem);
  }
  drop_privileges(options_.user);
  if (!kernel_output_.redirect_stdout()) return false;
  cl_ = load_opencl(options_.opencl, problem);
  if (cl_ == nullptr) {
    log_line("OpenCL cannot be loaded: " + problem);
    return false;
  }
  platforms_ = find_platforms(*cl_, options_.devices);
  catalog_ = std::make_unique<DeviceCatalog>(*cl_, platforms_);
  return true;
}

bool Worker::await_connection() {
  std::string text(kMaxPacket, '\0');
  while (true) {
    const long got = receive_with_descriptor(control_, std::as_writable_bytes(std::span(text)), socket_, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || socket_ < 0) return false;
    text.resize(static_cast<std::size_t>(got));
    return decode(text, assignment_);
  }
}

std::unique_ptr<Stream> Worker::open(Time until, std::string& why) {
  if (assignment_.tls) {
    std::string name;
    ConnectResult connected = tls_->accept(socket_, until, name);
    certificate_name_ = name;
    why = connected.problem;
    return std::move(connected.stream);
  }
  if (assignment_.is_unix && wait_for(socket_, POLLIN, until)) {
    const int descriptor = peek_descriptor(socket_);
    if (descriptor >= 0) shared_ = SharedMemory::map(descriptor);
  }
  return make_socket_stream(socket_);
}

void Worker::notify_supervisor(WorkerMessage word, const std::string& text) const {
  const std::string packet = static_cast<char>(word) + text.substr(0, kMaxPacket - 1);
  ::send(control_, packet.data(), packet.size(), MSG_NOSIGNAL);
}

Admission Worker::admit(const ClientInfo& client) const {
  const std::string name =
      certificate_name_.empty() ? client.name : client.name + " (" + certificate_name_ + ")";
  notify_supervisor(client.is_query ? WorkerMessage::query : WorkerMessage::client, name);
  std::string text(kMaxPacket, '\0');
  const ssize_t got = ::recv(control_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  Admission admission;
  return decode(text, admission) ? admission : Admission{};
}

void Worker::exit_worker(WorkerMessage word, const std::string& why) {
  if (exiting_.exchange(true)) {
    while (true) ::pause();
  }
  ::alarm(kExitSeconds);
  notify_supervisor(word, why);
  interpose::at_exit();
  std::_Exit(EXIT_SUCCESS);
}

// Sends heartbeats while nothing else is sent, and watches for the ends of the connection and of the supervisor. Runs in a
// detached thread that ends with the process: the objects it uses are never destroyed, since exit_worker() does not return.
void Worker::watch_connection(Stream& stream, Outbox& outbox, ClientSession& session) {
  while (true) {
    pollfd descriptors[] = {{control_, POLLIN, 0}, {stream.descriptor(), POLLRDHUP, 0}};
    ::poll(descriptors, 2, static_cast<int>(kWatchPeriod.count()));
    if (descriptors[0].revents != 0) exit_worker(WorkerMessage::ended, "the server stops");
    if ((descriptors[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      // Time for the reading thread to read what was sent before.
      std::this_thread::sleep_for(kWatchPeriod);
      exit_worker(WorkerMessage::ended, "disconnected");
    }
    session.trim(kUnusedMemoryTime);
    const auto now = steady_clock::now();
    const Time busy = session.busy_since();
    const bool stuck = busy != Time() && now - busy > kStuckCallTime;
    if (stuck || now - outbox.last_sent() < options_.heartbeat / 2) continue;
    EventsFrame nothing;
    outbox.send(nothing);
  }
}

void Worker::serve(Stream& stream, FrameReader& input, const ClientInfo& client) {
  ClientLimits limits = options_.limits;
  limits.silence = client.heartbeat.count() > 0 ? std::max(options_.timeout, 3 * client.heartbeat)
                                                : std::chrono::milliseconds(std::chrono::hours(24));
  input.set_stall_timeout(limits.silence);
  kernel_output_.take();  // drops what drivers have printed while they were loaded
  Outbox outbox(stream, kernel_output_, options_.timeout,
                [this] { exit_worker(WorkerMessage::ended, "disconnected"); });
  ObjectTable objects;
  register_platforms(platforms_, objects);
  const bool shares = (client.features & bit(Feature::shared_memory)) != 0;
  ClientSession session(*cl_, input, outbox, objects, limits, shares ? shared_.get() : nullptr);
  std::thread([&] { watch_connection(stream, outbox, session); }).detach();
  // Sends what kernels print while nothing else is sent. As with watch_connection(): the worker's, and ends with the process.
  std::thread([&] {
    while (true) {
      kernel_output_.wait();
      outbox.send_kernel_output();
    }
  }).detach();
  const std::string why = session.run();
  if (session.had_violation()) outbox.send_goodbye(why);
  exit_worker(session.had_violation() ? WorkerMessage::violation : WorkerMessage::ended,
              why + " (" + std::to_string(session.commands()) + " commands)");
}

int Worker::run() {
  if (!prepare()) return EXIT_FAILURE;
  if (!await_connection()) return EXIT_SUCCESS;
  notify_supervisor(WorkerMessage::taken, "");
  std::string why;
  const Time until = steady_clock::now() + std::chrono::seconds(kHelloSeconds);
  const std::unique_ptr<Stream> stream = open(until, why);
  if (!stream) exit_worker(WorkerMessage::refused, why);
  const auto input = std::make_unique<FrameReader>(*stream, std::chrono::seconds(kHelloSeconds));
  std::uint64_t features =
      bit(Feature::svm) | bit(Feature::pipes) | bit(Feature::includes) | bit(Feature::end_answers);
  if (shared_) features |= bit(Feature::shared_memory) | bit(Feature::shared_ring);
  const HandshakeParams params{options_, until, tokens_, features,
                               [this](const ClientInfo& client) { return admit(client); }};
  const auto client = handshake(params, *catalog_, *stream, *input, why);
  if (!client) exit_worker(WorkerMessage::refused, why);
  serve(*stream, *input, *client);
  return EXIT_SUCCESS;
}

}  // namespace

int run_worker() {
  ::signal(SIGPIPE, SIG_IGN);
  const Options options = receive_options();
  interpose::at_load();
  Worker worker(options);
  return worker.run();
}

}  // namespace cleave::remote::server
