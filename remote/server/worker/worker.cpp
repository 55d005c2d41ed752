#include "remote/server/worker/worker.h"

#include <algorithm>
#include <array>
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

#include "interpose/broker/participation.h"
#include "interpose/calls/table.h"
#include "interpose/drivers/device_queries.h"
#include "remote/protocol/features.h"
#include "remote/server/builds/build_trials.h"
#include "remote/server/options/options.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/packets.h"
#include "remote/server/processes/privileges.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/sandbox/inside.h"
#include "remote/server/sandbox/system_calls.h"
#include "remote/server/sending/refusal.h"
#include "remote/server/session/request_trace.h"
#include "remote/server/worker/client_session.h"
#include "remote/server/worker/opencl_loader.h"
#include "remote/server/worker/welcome.h"

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
// A client that only queries the devices has this time to read the answer and to leave.
constexpr std::chrono::seconds kQueryTime{10};
// The front's relay has buffers of its own, whose progress is not seen here, and ends the connection itself.
constexpr Duration kRelaysStallTime = std::chrono::hours(24 * 365);
constexpr const char* kNoDevice = "no device to offer";

class Worker {
 public:
  explicit Worker(const Options& options) : options_(options) {}

  int run();

 private:
  bool prepare();
  void connect_broker() const;
  bool await_connection();
  bool welcome(Stream& stream, std::uint64_t features);
  void serve(Stream& stream, std::uint64_t features);
  void watch_connection(Stream& stream, Outbox& outbox, ClientSession& session);
  bool read_control(ClientSession& session) const;
  bool notify_supervisor(const Packet& packet) const;
  [[noreturn]] void exit_worker(ipc::ReportKind kind, const std::string& why);

  const Options& options_;
  int control_ = -1;
  int reports_ = -1;
  int socket_ = -1;
  Assignment assignment_;
  ClientLimits limits_;            // the client's
  const Table* driver_ = nullptr;  // the loader's
  const Table* cl_ = nullptr;      // the same until there is a client, then with the splitter
  std::vector<OfferedPlatform> platforms_;
  std::unique_ptr<DeviceCatalog> catalog_;
  KernelOutput kernel_output_;
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<RequestTrace> trace_;  // null: nothing is traced
  std::atomic<bool> exiting_{false};
};

// Standard input comes from the supervisor, and standard output leads there; later kernels print to it.
bool Worker::prepare() {
  control_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  reports_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (control_ < 0 || reports_ < 0 || nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) return false;
  ::close(nothing);
  std::string problem;
  drop_privileges("");  // the supervisor has made this process its user's
  settle_inside(options_.sandbox);
  if (!kernel_output_.redirect_stdout()) return false;
  driver_ = cl_ = load_opencl(options_.opencl, problem);
  if (cl_ == nullptr) {
    log_line("OpenCL cannot be loaded: " + problem);
    return false;
  }
  platforms_ = find_platforms(*cl_, options_.devices);
  catalog_ = std::make_unique<DeviceCatalog>(*cl_, platforms_);
  connect_broker();
  return true;
}

// In a sandbox there is no registry, and another process takes part for this one.
void Worker::connect_broker() const {
  PacketReader reader;
  reader.read_socket(control_, 0);
  if (reader.get<ipc::BrokerChannel>() == nullptr || reader.descriptors.empty()) return;
  // Lives as long as the process, as the interposer does.
  auto* const client = new interpose::BrokerClient(reader.descriptors.front().release());
  std::vector<interpose::BrokerClient::Device> devices;
  for (const OfferedPlatform& platform : platforms_) {
    for (const OfferedDevice& each : platform.devices) {
      std::array<char, 256> name{};
      cl_->clGetDeviceInfo(each.handle, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr);
      devices.push_back({interpose::identity_of(*cl_, each.handle), name.data()});
    }
  }
  client->declare(std::move(devices));
  interpose::set_broker(client);
}

bool Worker::await_connection() {
  PacketReader reader;
  while (reader.read_socket(control_, 0) == ReadStatus::timeout) {
  }
  const auto* const assignment = reader.get<ipc::Assignment>();
  if (assignment == nullptr || reader.descriptors.empty()) return false;
  assignment_ = decode(*assignment);
  socket_ = reader.descriptors.front().release();
  std::string trace;
  if (assignment_.is_traced && reader.descriptors.size() > 1)
    trace = "/proc/self/fd/" + std::to_string(reader.descriptors.back().release());
  limits_ = options_.limits;
  limits_.peer_silence = std::max<std::chrono::milliseconds>(options_.timeout, 3 * kContentsHeartbeat);
  if (limits_.memory == UINT64_MAX)
    limits_.memory = default_memory(memory_of(*cl_, platforms_), options_.max_clients);
  limits_.memory = assignment_.grant.memory.value_or(limits_.memory);
  limits_.growth = growth_for(limits_.memory);
  // Not before: its settings are the client's. Handles stay the driver's.
  cl_ = &split_launches(*cl_, options_.opencl, assignment_.grant, trace);
  if (observe::TraceWriter* const file = interpose::trace_file();
      file != nullptr && !assignment_.client.is_query)
    trace_ = std::make_unique<RequestTrace>(*file);
  return true;
}

bool Worker::notify_supervisor(const Packet& packet) const {
  return ::write(reports_, packet.data(), packet.size()) >= 0;
}

// What comes there while a client is served is the front's. False: the server has ended.
bool Worker::read_control(ClientSession& session) const {
  PacketReader reader;
  const ReadStatus got = reader.read_socket(control_, MSG_DONTWAIT);
  if (const auto* const message = reader.get<ipc::PeerMessage>(); message != nullptr) {
    session.handle_front(decode(*message), reader.descriptors.empty()
                                               ? base::FileDescriptor()
                                               : std::move(reader.descriptors.front()));
  }
  return got != ReadStatus::closed;
}

void Worker::exit_worker(ipc::ReportKind kind, const std::string& why) {
  if (exiting_.exchange(true)) {
    while (true) ::pause();
  }
  // With a handler, since the first process of a namespace ignores signals without one.
  ::signal(SIGALRM, [](int) { std::_Exit(EXIT_FAILURE); });
  ::alarm(kExitSeconds);
  notify_supervisor(encode(kind, why));
  interpose::at_exit();
  std::_Exit(EXIT_SUCCESS);
}

// Sends heartbeats while nothing else is sent, and watches for the ends of the connection and of the supervisor. Runs in a
// detached thread that ends with the process: the objects it uses are never destroyed, since exit_worker() does not return.
void Worker::watch_connection(Stream& stream, Outbox& outbox, ClientSession& session) {
  while (true) {
    pollfd descriptors[] = {{control_, POLLIN, 0}, {stream.descriptor(), POLLRDHUP, 0}};
    ::poll(descriptors, 2, static_cast<int>(kWatchPeriod.count()));
    if (descriptors[0].revents != 0 && !read_control(session))
      exit_worker(ipc::ReportKind::ended, "the server stops");
    if ((descriptors[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      // Time for the reading thread to read what was sent before.
      std::this_thread::sleep_for(kWatchPeriod);
      exit_worker(ipc::ReportKind::ended, "disconnected");
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

// False: the client is gone.
bool Worker::welcome(Stream& stream, std::uint64_t features) {
  const std::string session = trace_ ? trace_->session() : std::string();
  const auto text = catalog_->welcome(options_, limits_, assignment_, features, session);
  return write_frame(stream, FrameKind::welcome, text, {}, std::chrono::seconds(kHelloSeconds));
}

void Worker::serve(Stream& stream, std::uint64_t features) {
  const std::chrono::milliseconds heartbeat(assignment_.client.heartbeat);
  limits_.silence = heartbeat.count() > 0 ? std::max(options_.timeout, 3 * heartbeat)
                                          : std::chrono::milliseconds(std::chrono::hours(24));
  const auto input = std::make_unique<FrameReader>(stream, limits_.silence);
  kernel_output_.take();  // drops what drivers have printed while they were loaded
  const Duration stall_timeout = assignment_.client.is_relayed ? kRelaysStallTime : options_.timeout;
  Outbox outbox(stream, kernel_output_, stall_timeout,
                [this] { exit_worker(ipc::ReportKind::ended, "disconnected"); });
  if ((features & bit(Feature::compression)) != 0) {
    input->accept_blocks();
    outbox.compress();
  }
  ObjectTable objects;
  register_platforms(platforms_, objects);
  const bool shares = (features & bit(Feature::shared_memory)) != 0;
  BuildTrials trials(options_.given, limits_.build);
  ClientSession session(*cl_, *driver_, *input, outbox, objects, limits_, shares ? shared_.get() : nullptr,
                        trials.are_wanted() ? &trials : nullptr, trace_.get(),
                        [this](const PeerMessage& message) { return notify_supervisor(encode(message)); });
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
  exit_worker(session.had_violation() ? ipc::ReportKind::violation : ipc::ReportKind::ended,
              why + " (" + std::to_string(session.commands()) + " commands)");
}

int Worker::run() {
  if (!prepare()) return EXIT_FAILURE;
  if (!await_connection()) return EXIT_SUCCESS;
  const std::string problem = refuse_system_calls(options_.sandbox.system_calls);
  if (!problem.empty()) log_line("no filter for system calls: " + problem);
  notify_supervisor(encode(ipc::ReportKind::taken, ""));
  const std::uint32_t left = assignment_.client.left_in_socket;
  if (left > 0 && !receive_memory(socket_, left, shared_))
    exit_worker(ipc::ReportKind::refused, "it has sent descriptors that are not one of memory");
  const std::unique_ptr<Stream> stream = make_socket_stream(socket_);
  if (catalog_->empty()) {
    send_refusal(*stream, wire::Refusal::no_device, kNoDevice);
    exit_worker(ipc::ReportKind::refused, kNoDevice);
  }
  std::uint64_t features = bit(Feature::svm) | bit(Feature::pipes) | bit(Feature::includes) |
                           bit(Feature::end_answers) | bit(Feature::offers) | bit(Feature::trials) |
                           bit(Feature::judgements);
  if (!options_.peers.empty()) features |= bit(Feature::fetches);
  if (shared_)
    features |= bit(Feature::shared_memory) | bit(Feature::shared_ring) | bit(Feature::kept_shared);
  // What cannot be measured is local, or ends TLS in the front.
  if (!shared_ && stream->measure()) features |= bit(Feature::compression);
  features &= assignment_.client.features;
  if (!welcome(*stream, features)) exit_worker(ipc::ReportKind::ended, "disconnected during the handshake");
  if (assignment_.client.is_query) {
    wait_for(stream->descriptor(), POLLIN, steady_clock::now() + kQueryTime);
    exit_worker(ipc::ReportKind::ended, "it has its answer");
  }
  serve(*stream, features);
  return EXIT_SUCCESS;
}

}  // namespace

int run_worker() {
  ::signal(SIGPIPE, SIG_IGN);
  const Options options = receive_options(kWorkerArgument);
  interpose::at_load();
  Worker worker(options);
  return worker.run();
}

}  // namespace cleave::remote::server
