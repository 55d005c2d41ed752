// Connecting, the reader role, the watcher, and fork.
#include "remote/client/link/connection.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <ctime>
#include <exception>
#include <poll.h>
#include <pthread.h>
#include <system_error>
#include <thread>

#include "base/files/regular_file.h"
#include "base/threads/scoped_thread_state.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/objects/client.h"
#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"
#include "remote/transport/connect.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often the watcher checks whether other threads still read.
constexpr milliseconds kMinRest{1};
constexpr milliseconds kMaxRest{8};
constexpr long kNanosecondsPerSecond = 1'000'000'000;
constexpr std::size_t kMaxToken = 4096;
constexpr std::size_t kMaxSessionName = 64;
// Of a connection in the trace: the first exchanges follow one another, the others this period.
constexpr unsigned kFirstExchanges = 8;
constexpr milliseconds kExchangePeriod{50};
// After this time an exchange's answer is not waited for any longer.
constexpr std::chrono::seconds kExchangeTime{1};
constexpr std::size_t kMaxTokenFile = 64 << 10;
// Shared virtual memory needs addresses of one size on both sides.
constexpr std::uint64_t kSupportedFeatures =
    bit(Feature::pipes) | bit(Feature::includes) | bit(Feature::end_answers) | bit(Feature::offers) |
    bit(Feature::fetches) | bit(Feature::trials) | bit(Feature::judgements) |
    (sizeof(void*) == sizeof(std::uint64_t) ? bit(Feature::svm) : 0);
constexpr std::uint64_t kSharedMemoryFeatures =
    bit(Feature::shared_memory) | bit(Feature::shared_ring) | bit(Feature::kept_shared);
// Messages are converted, the results of queries within them are not: a connection to a server ends in the handshake where they
// would have to be (docs/decisions/0016-little-endian-clients.md).
constexpr bool kIsBigEndian = std::endian::native == std::endian::big;
constexpr auto kByteOrder = kIsBigEndian ? wire::ByteOrder::big : wire::ByteOrder::little;

std::string first_line(const std::string& path, std::string& problem) {
  if (path.empty()) return {};
  const base::FileText file = base::read_regular_file(path, kMaxTokenFile);
  if (!file.text) {
    problem =
        "remote.token_file: " + path + " " + file.problem + ": name a file whose first line is the token";
    return {};
  }
  std::string line = file.text->substr(0, file.text->find('\n'));
  if (file.text->empty() || line.size() > kMaxToken) problem = "cannot read a token from " + path;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

std::string program_name() {
  const std::string text = base::read_regular_file("/proc/self/comm", kMaxToken).text.value_or("");
  return text.substr(0, text.find('\n'));
}

// It is written into the trace, and nothing but a name.
std::string session_name(const flatbuffers::String& text) {
  std::string name = text.str().substr(0, kMaxSessionName);
  std::erase_if(name, [](unsigned char each) { return std::isalnum(each) == 0; });
  return name;
}

steady_clock::time_point at(steady_clock::rep ticks) {
  return steady_clock::time_point(steady_clock::duration(ticks));
}

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, const base::RemoteSettings& settings)
    : stream_(std::move(stream)),
      timeout_(settings.timeout),
      heartbeat_(settings.timeout / 4),
      input_(*stream_, settings.timeout) {}

std::shared_ptr<Connection> Connection::open(const std::string& address, const base::RemoteSettings& settings,
                                             bool query, Time until, std::string& problem) {
  const auto endpoint = read_endpoint(address);
  if (!endpoint) return problem = "not a valid address", nullptr;
  ConnectResult connected =
      connect_to(*endpoint, {settings.authorities, settings.certificate, settings.key}, until);
  if (connected.stream == nullptr) return problem = connected.problem, nullptr;
  std::shared_ptr<Connection> made(new Connection(std::move(connected.stream), settings));
  made->address_ = address;
  // The server of a unix socket is on this machine. Without shared memory everything goes over the socket.
  if (endpoint->address.kind == base::Address::Kind::unix_socket && !query) made->share_memory();
  if (!made->handshake(settings, query, until, problem)) return nullptr;
  if (!made->wake_.open()) return problem = "too many open files", nullptr;
  try {
    std::thread([made] { made->watch(); }).detach();
  } catch (const std::system_error&) {
    return problem = "cannot start a thread", nullptr;
  }
  return made;
}

// Where there is a limit, or the system refuses, without memory for maps.
void Connection::share_memory() {
  shared_ = SharedArea::make(SharedArea::kSize, MapRegions::kSize);
  if (shared_ != nullptr) regions_ = MapRegions::map(shared_->file(), SharedArea::kSize);
  if (shared_ == nullptr) shared_ = SharedArea::make();
}

// The descriptor of the shared memory goes with the first byte.
bool Connection::send_hello(std::span<const std::byte> message) {
  if (shared_ == nullptr) return write_frame(*stream_, FrameKind::hello, message, {}, timeout_);
  const HeaderBytes header = encode({FrameKind::hello, static_cast<std::uint32_t>(message.size()), 0});
  std::vector<std::byte> all(header.begin(), header.end());
  all.insert(all.end(), message.begin(), message.end());
  return send_with_descriptor(stream_->descriptor(), all, shared_->descriptor());
}

bool Connection::handshake(const base::RemoteSettings& settings, bool query, Time until,
                           std::string& problem) {
  const std::string token = first_line(settings.token_file, problem);
  if (!problem.empty()) return false;
  Builder builder;
  const auto token_text = builder.CreateString(token);
  const auto name = builder.CreateString(program_name());
  const bool compresses = settings.compression && shared_ == nullptr && stream_->measure().has_value();
  const std::uint64_t features = kSupportedFeatures | (shared_ == nullptr ? 0 : kSharedMemoryFeatures) |
                                 (compresses ? bit(Feature::compression) : 0);
  builder.Finish(wire::CreateHello(builder, kVersion, kOldestVersion, features, kByteOrder, token_text, name,
                                   static_cast<std::uint32_t>(heartbeat_.count()), query));
  const auto begin = steady_clock::now();
  const std::span message(reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize());
  if (!send_hello(message)) return problem = "the connection was closed", false;
  FrameHeader header;
  input_.set_deadline(until);
  const ReadStatus status = input_.next(header, until);
  input_.set_deadline(Time::max());
  if (status == ReadStatus::timeout || (status == ReadStatus::closed && steady_clock::now() >= until))
    return problem = "no answer in time", false;
  if (status == ReadStatus::closed) {
    problem = stream_->close_reason();
    if (problem.empty()) problem = "the connection was closed during the handshake";
    return false;
  }
  round_trip_ = steady_clock::now() - begin;
  if (!accept_welcome(header, problem)) return false;
  if (compresses && supports(Feature::compression)) {
    input_.accept_blocks();
    payload_writer_.emplace(*stream_);
  }
  const std::chrono::nanoseconds half_way(begin.time_since_epoch() + round_trip_ / 2);
  clock_ahead_ = welcome_->time() - static_cast<std::uint64_t>(half_way.count());
  if (call_trace != nullptr && !query) begin_trace(begin);
  last_sent_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  return true;
}

// Servers that do not trace, or do not know how, are sent nothing that others are not.
void Connection::begin_trace(Time begin) {
  if (welcome_->trace_session() != nullptr) trace_session_ = session_name(*welcome_->trace_session());
  if (trace_session_.empty())
    return call_trace->add_untraced(printable(welcome_->name() == nullptr ? "" : welcome_->name()->str()));
  const std::chrono::nanoseconds sent = begin.time_since_epoch();
  call_trace->add_session(trace_session_);
  call_trace->add_exchange(trace_session_, {sent.count(), static_cast<std::int64_t>(welcome_->time()),
                                            (sent + round_trip_).count()});
}

bool Connection::accept_welcome(const FrameHeader& header, std::string& problem) {
  const std::span<const std::byte> answer = input_.message();
  welcome_bytes_.assign(answer.begin(), answer.end());
  welcome_ = header.kind == FrameKind::welcome ? verified_welcome(welcome_bytes_) : nullptr;
  if (welcome_ == nullptr) return problem = "the peer is not a cleave-serverd", false;
  if (welcome_->refusal() != wire::Refusal::none) {
    problem = "the server refused: " + printable(welcome_->text() == nullptr ? "" : welcome_->text()->str());
    return false;
  }
  if (kIsBigEndian) return problem = "clients on big-endian machines are not supported", false;
  if (welcome_->version() < kOldestVersion || welcome_->version() > kVersion)
    return problem = "the server uses another version of the protocol", false;
  if (welcome_->window_commands() == 0 || welcome_->window_bytes() == 0)
    return problem = "the server announced a flow-control window of 0", false;
  features_ = welcome_->features();
  if (!supports(Feature::shared_memory)) {
    regions_.reset();
    shared_.reset();
  }
  // A server that sends pings rarely gets a longer timeout.
  timeout_ = std::max(timeout_, milliseconds(3 * std::min(welcome_->heartbeat(), 600'000U)));
  input_.set_stall_timeout(timeout_);
  outbox_.emplace(*stream_, timeout_, [this] { return start_sender(); });
  return true;
}

bool Connection::start_sender() try {
  const base::ScopedSignalBlock blocked;  // the thread inherits it
  std::thread([self = shared_from_this()] { self->outbox_->send_until_closed(); }).detach();
  return true;
} catch (const std::exception&) {  // no thread, or no memory
  return false;
}

// The thread may be reading for others, which would wait for ever if it were cancelled then.
void Connection::wait_with(Condition done, void* function) {
  const base::ScopedCancelDisable uncancelled;
  wait_calls_.fetch_add(1, std::memory_order_relaxed);
  if (call_trace != nullptr && CallTrace::Call::current() != nullptr) CallTrace::Call::current()->waits();
  base::MutexLock lock(reader_mutex_);
  // Until ended_ rather than closed_: what is waited for may be failed by end_connection().
  while (!ended_ && !done(function)) {
    if (has_reader_) {
      // Counted before done() is called once more. This and the reader's check of the count are ordered: either
      // this thread sees what has been read, or the reader sees this sleeper.
      sleepers_.fetch_add(1, std::memory_order_acq_rel);
      if (!ended_ && !done(function)) reader_changed_.wait(lock);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    has_reader_ = true;
    lock.unlock();
    bool going = true;
    while (going && !done(function)) {
      input_.spin();
      going = read_frame();
      if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) continue;
      const base::MutexLock again(reader_mutex_);  // it may have been for one of the sleepers
      reader_changed_.notify_all();
    }
    if (!going) end_connection();
    lock.lock();
    release_reader_role();
  }
}

// What is left to be read, or still expected, is for a sleeper to read, or for the watcher.
void Connection::release_reader_role() {
  const bool is_buffered = input_.has_buffered();  // input_ is the next reader's from here on
  has_reader_ = false;
  if (sleepers_.load(std::memory_order_relaxed) != 0) {
    reader_changed_.notify_all();
    return;
  }
  const ScopedUnlock unlock(reader_mutex_);
  if (unawaited_.load(std::memory_order_relaxed) != 0 || is_buffered || stream_->has_data()) wake_to_read();
}

void Connection::wake_to_read() {
  should_read_.store(true);
  wake_.wake();
}

void Connection::read_as_watcher() {
  base::MutexLock lock(reader_mutex_);
  if (has_reader_ || !alive()) return;
  has_reader_ = true;
  lock.unlock();
  bool going = true;
  while (going && input_.has_more() && sleepers_.load(std::memory_order_relaxed) == 0) going = read_frame();
  if (!stream_->is_ours()) going = false;
  // Readable although nothing has come: the end of the stream.
  if (going && !input_.has_more() && at_end_of_stream()) going = false;
  if (!going) end_connection();
  lock.lock();
  has_reader_ = false;
  if (sleepers_.load(std::memory_order_relaxed) != 0 || !going) reader_changed_.notify_all();
}

bool Connection::at_end_of_stream() {
  pollfd hung{stream_->descriptor(), POLLIN | POLLRDHUP, 0};
  if (poll(&hung, 1, 0) <= 0) return false;
  return (hung.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0 && !input_.has_more();
}

// Returns whether there is something to read. Flushes meanwhile.
bool Connection::sleep_until_readable(bool others_read, milliseconds most) {
  const auto until = steady_clock::now() + most;
  while (true) {
    if (!stream_->is_ours()) {
      // The reading thread still has the old socket, and ends the connection when something arrives.
      if (others_read) std::this_thread::sleep_for(std::min(most, kMinRest));
      return true;
    }
    const std::chrono::nanoseconds left = until - steady_clock::now();
    if (left.count() <= 0) return false;
    const bool can_be_woken = wake_.is_valid() || wake_.open();
    const auto limit = until_flush(can_be_woken ? left : std::min<std::chrono::nanoseconds>(left, kMinRest));
    const timespec sleep{limit.count() / kNanosecondsPerSecond, limit.count() % kNanosecondsPerSecond};
    std::array<pollfd, 2> waited{{{wake_.descriptor(), POLLIN, 0}, {stream_->descriptor(), POLLIN, 0}}};
    const int ready = ppoll(waited.data(), others_read ? 1 : 2, &sleep, nullptr);
    if (ready > 0 && waited[0].revents != 0) wake_.drain();
    flush_if_due();
    if (ready > 0 && (should_read_.exchange(false) || waited[1].revents != 0)) return true;
  }
}

void Connection::watch() {
  const base::ScopedSignalBlock blocked;
  const base::ScopedPreciseSleep undisturbed;  // kFlushDelay is of the order of a timer's slack
  std::uint64_t before = 0;
  milliseconds rest = kMinRest;
  milliseconds calm = std::max(heartbeat_ / 2, milliseconds(10));
  if (!trace_session_.empty()) calm = std::min(calm, kExchangePeriod);
  while (alive()) {
    const std::uint64_t waits = wait_calls_.load(std::memory_order_relaxed);
    bool others_read = waits != before;
    if (!others_read) {
      const base::MutexLock lock(reader_mutex_);
      others_read = has_reader_;
    }
    before = waits;
    rest = others_read ? std::min(2 * rest, kMaxRest) : kMinRest;
    if (sleep_until_readable(others_read, others_read ? rest : calm)) read_as_watcher();
    check_liveness();
    if (!trace_session_.empty()) begin_exchange();
    if (shared_ != nullptr) shared_->trim(kTrimAfter);
    trim_regions();
  }
  end_shared_memory();
}

void Connection::check_liveness() {
  const auto now = steady_clock::now();
  if (now - input_.last_received() > timeout_) stream_->shutdown();
  if (now - at(last_sent_.load(std::memory_order_relaxed)) < heartbeat_ || !out_mutex_.try_lock()) return;
  add({}, 0, {}, [](Builder& b) { return wire::CreatePing(b, 0); });
  flush_as_watcher();
  out_mutex_.unlock();
}

// For the trace, and only by the watcher: no call of the program waits for it.
void Connection::begin_exchange() {
  const auto now = steady_clock::now();
  if (now - last_exchange_ < (exchange_sent_.load() != 0     ? milliseconds(kExchangeTime)
                              : exchanges_ < kFirstExchanges ? milliseconds(0)
                                                             : kExchangePeriod) ||
      !out_mutex_.try_lock())
    return;
  last_exchange_ = now;
  ++exchanges_;
  const std::chrono::nanoseconds sent = steady_clock::now().time_since_epoch();
  const auto number = static_cast<std::uint64_t>(sent.count());
  exchange_sent_.store(number);
  add({}, 0, {}, [&](Builder& b) { return wire::CreatePing(b, number); });
  flush_as_watcher();
  out_mutex_.unlock();
}

void Connection::close_in_child() {
  self_in_child_ = shared_from_this();  // threads that held its locks do not exist here
  closed_.store(true, std::memory_order_release);
  // The server sees the parent's end only when no other process has the socket open.
  stream_->close();
  wake_.close();
  if (regions_ != nullptr) regions_->close_in_child();
  if (shared_ != nullptr) shared_->close_in_child();
}

}  // namespace cleave::remote::client
