#include "remote/server/worker.h"

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

#include "interpose/table.h"
#include "remote/protocol/features.h"
#include "remote/server/control.h"
#include "remote/server/driver.h"
#include "remote/server/privileges.h"
#include "remote/server/say.h"
#include "remote/server/session.h"
#include "remote/server/welcome.h"
#include "remote/transport/descriptors.h"
#include "remote/transport/tls.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// A driver's call that does not return for so long is stuck, and the client should not be told that all is
// well.
constexpr std::chrono::seconds kStuck{120};
constexpr std::chrono::milliseconds kPulse{100};
// Memory beyond a modest share is kept for so long.
constexpr std::chrono::seconds kUnused{5};
// Statistics are written at the end; nothing else may hold it up.
constexpr unsigned kSecondsToEnd = 2;

class Worker {
 public:
  explicit Worker(const Options& options) : options_(options) {}

  int run();

 private:
  bool prepare();
  bool await_connection();
  std::unique_ptr<Stream> open(Time until, std::string& why);
  void serve(Stream& stream, FrameInput& input, const Guest& guest);
  void pulse(Stream& stream, Outbox& outbox, Session& session);
  void tell(Word word, const std::string& text) const;
  [[nodiscard]] Admission admit(const Guest& guest) const;
  [[noreturn]] void leave(Word word, const std::string& why);

  const Options& options_;
  int control_ = -1;
  int socket_ = -1;
  Assignment assignment_;
  std::string certified_;  // the name in the client's certificate
  std::vector<std::string> tokens_;
  std::unique_ptr<TlsServer> tls_;
  const Table* cl_ = nullptr;
  std::vector<OfferedPlatform> platforms_;
  std::unique_ptr<Offer> offer_;
  Printed printed_;
  std::unique_ptr<SharedMemory> shared_;
  std::atomic<bool> leaving_{false};
};

// Standard input is the supervisor, standard output is what kernels print.
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
  if (!printed_.catch_output()) return false;
  cl_ = load_opencl(options_.opencl, problem);
  if (cl_ == nullptr) {
    say("no OpenCL: " + problem);
    return false;
  }
  platforms_ = find_platforms(*cl_, options_.devices);
  offer_ = std::make_unique<Offer>(*cl_, platforms_);
  return true;
}

bool Worker::await_connection() {
  std::string text(kMostPacket, '\0');
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
    Connected connected = tls_->accept(socket_, until, name);
    certified_ = name;
    why = connected.problem;
    return std::move(connected.stream);
  }
  if (assignment_.is_unix && wait_for(socket_, POLLIN, until)) {
    const int descriptor = descriptor_waiting_on(socket_);
    if (descriptor >= 0) shared_ = SharedMemory::map(descriptor);
  }
  return stream_on(socket_);
}

void Worker::tell(Word word, const std::string& text) const {
  const std::string packet = static_cast<char>(word) + text.substr(0, kMostPacket - 1);
  ::send(control_, packet.data(), packet.size(), MSG_NOSIGNAL);
}

Admission Worker::admit(const Guest& guest) const {
  const std::string name = certified_.empty() ? guest.name : guest.name + " (" + certified_ + ")";
  tell(guest.is_visitor ? Word::visitor : Word::client, name);
  std::string text(kMostPacket, '\0');
  const ssize_t got = ::recv(control_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  Admission admission;
  return decode(text, admission) ? admission : Admission{};
}

void Worker::leave(Word word, const std::string& why) {
  if (leaving_.exchange(true)) {
    while (true) ::pause();
  }
  ::alarm(kSecondsToEnd);
  tell(word, why);
  interpose::at_exit();
  std::_Exit(EXIT_SUCCESS);
}

// A sign of life where there is nothing else to say; and an eye on those at the other ends.
void Worker::pulse(Stream& stream, Outbox& outbox, Session& session) {
  while (true) {
    pollfd ends[] = {{control_, POLLIN, 0}, {stream.descriptor(), POLLRDHUP, 0}};
    ::poll(ends, 2, static_cast<int>(kPulse.count()));
    if (ends[0].revents != 0) leave(Word::gone, "the server ends");
    if ((ends[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      // Give the reading thread a moment to come to the end of what was sent.
      std::this_thread::sleep_for(kPulse);
      leave(Word::gone, "it is gone");
    }
    session.trim(kUnused);
    const auto now = steady_clock::now();
    const Time busy = session.busy_since();
    const bool stuck = busy != Time() && now - busy > kStuck;
    if (stuck || now - outbox.last_sent() < options_.heartbeat / 2) continue;
    EventsFrame nothing;
    outbox.send(nothing);
  }
}

void Worker::serve(Stream& stream, FrameInput& input, const Guest& guest) {
  SessionLimits limits = options_.limits;
  limits.silence = guest.heartbeat.count() > 0 ? std::max(options_.timeout, 3 * guest.heartbeat)
                                               : std::chrono::milliseconds(std::chrono::hours(24));
  input.set_patience(limits.silence);
  printed_.take();  // what drivers have said while they were loaded is nobody's
  Outbox outbox(stream, printed_, options_.timeout, [this] { leave(Word::gone, "it is gone"); });
  Objects objects;
  enter(platforms_, objects);
  const bool shares = (guest.features & bit(Feature::shared_memory)) != 0;
  Session session(*cl_, input, outbox, objects, limits, shares ? shared_.get() : nullptr);
  std::thread([&] { pulse(stream, outbox, session); }).detach();
  std::thread([&] {
    while (true) {
      printed_.wait();
      outbox.send_printed();
    }
  }).detach();
  const std::string why = session.run();
  if (session.was_hostile()) outbox.say_goodbye(why);
  leave(session.was_hostile() ? Word::hostile : Word::gone,
        why + " (" + std::to_string(session.commands()) + " commands)");
}

int Worker::run() {
  if (!prepare()) return EXIT_FAILURE;
  if (!await_connection()) return EXIT_SUCCESS;
  std::string why;
  const Time until = steady_clock::now() + std::chrono::seconds(kHelloSeconds);
  const std::unique_ptr<Stream> stream = open(until, why);
  if (!stream) leave(Word::refused, why);
  const auto input = std::make_unique<FrameInput>(*stream, std::chrono::seconds(kHelloSeconds));
  std::uint64_t features =
      bit(Feature::svm) | bit(Feature::pipes) | bit(Feature::includes) | bit(Feature::end_answers);
  if (shared_) features |= bit(Feature::shared_memory) | bit(Feature::shared_ring);
  const Door door{options_, until, tokens_, features, [this](const Guest& guest) { return admit(guest); }};
  const auto guest = let_in(door, *offer_, *stream, *input, why);
  if (!guest) leave(Word::refused, why);
  serve(*stream, *input, *guest);
  return EXIT_SUCCESS;
}

}  // namespace

int run_worker(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  interpose::at_load();
  Worker worker(options);
  return worker.run();
}

}  // namespace cleave::remote::server
