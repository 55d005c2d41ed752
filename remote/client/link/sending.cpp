// Sending: windows, gathering commands, and flushing them.
#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <new>
#include <thread>

#include <sys/uio.h>

#include "base/threads/scoped_thread_state.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/protocol/frame.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {
namespace {

// Data up to this size is copied, so that its command can be gathered with others.
constexpr std::size_t kSmallData = 4096;
// From this size on an extra copy through shared memory costs less than the socket.
constexpr std::size_t kMinShared = std::size_t{32} * 1024;
// At most this much is gathered: large enough to share a system call, small enough to be sent early.
constexpr std::size_t kMaxGathered = std::size_t{16} * 1024;
constexpr std::size_t kMaxGatheredData = std::size_t{64} * 1024;
constexpr std::size_t kMaxGatheredCommands = kMaxCommands / 2;
constexpr std::size_t kMaxGatheredReleases = 256;
// When no command has ended for this long, the windows are taken to be stalled on the program's user events.
constexpr std::chrono::milliseconds kStallTime{50};
// Shorter rows are joined before they are sent.
constexpr std::size_t kShortRun = 2048;

std::chrono::steady_clock::rep now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Sends a box's bytes in wire order.
class BoxWriter {
 public:
  using Send = std::function<bool(std::span<const std::byte>)>;
  explicit BoxWriter(Send send) : send_(std::move(send)) {}

  bool write(const Box& box) {
    bool sent = true;
    box.for_each_run(0, [&](std::byte* place, std::size_t run) {
      const bool is_staged = run < kShortRun && run < box.bytes() && has_staging();
      sent = is_staged ? stage(place, run) : flush_staged() && put(place, run);
      return sent;
    });
    return sent && flush_staged();
  }

 private:
  // Not on the stack, which may be the program's smallest. Without memory nothing is staged.
  bool has_staging() {
    if (staging_ == nullptr) staging_.reset(new (std::nothrow) std::byte[kStaging]);
    return staging_ != nullptr;
  }
  bool stage(const std::byte* place, std::size_t run) {
    if (staged_ + run > kStaging && !flush_staged()) return false;
    std::copy_n(place, run, staging_.get() + staged_);
    staged_ += run;
    return true;
  }
  bool flush_staged() {
    const std::size_t staged = staged_;
    staged_ = 0;
    return staged == 0 || put(staging_.get(), staged);
  }

  bool put(std::byte* place, std::size_t size) { return send_(std::span(place, size)); }

  const Send send_;
  static constexpr std::size_t kStaging = std::size_t{16} * 1024;
  std::unique_ptr<std::byte[]> staging_;
  std::size_t staged_ = 0;
};

}  // namespace

bool Connection::has_window(WindowNeeds needs, std::uint64_t windows) const {
  const std::uint64_t commands = windows * welcome_->window_commands();
  return (!needs.command || commands_sent_ < commands_ended_.load(std::memory_order_relaxed) + commands) &&
         (!needs.data || bytes_sent_.load(std::memory_order_relaxed) <
                             bytes_ended_.load(std::memory_order_relaxed) + welcome_->window_bytes());
}

cl_int Connection::begin_command(const CommandHeader& header, std::uint64_t bytes) {
  if (!alive()) return log_if_closed_by_program(), kConnectionLost;
  if (releases_urgent_.load(std::memory_order_acquire)) send_releases();
  const WindowNeeds needs{header.queue != 0, bytes != 0};
  if (header.urgent || has_window(needs)) [[likely]]
    return CL_SUCCESS;
  return wait_for_window(needs);
}

Connection::WindowReservation Connection::reserve_window(bool has_data, cl_int& error) {
  WindowReservation reservation(reservations_mutex_);
  const base::MutexLock lock(out_mutex_);
  error = alive() ? wait_for_window({true, has_data}) : kConnectionLost;
  return reservation;
}

// What makes room: the ends of commands and of their data, and reads that have failed, whose data will not arrive.
Connection::WindowProgress Connection::window_progress() const {
  return {commands_ended_.load(std::memory_order_relaxed), bytes_ended_.load(std::memory_order_relaxed),
          bytes_sent_.load(std::memory_order_relaxed)};
}

// The windows may be filled by commands that wait for a user event of the program's, so waiting for long could be a
// deadlock. Then commands may exceed the window up to the server's hard limit, and data may use what room it has.
cl_int Connection::wait_for_window(WindowNeeds needs) {
  using std::chrono::steady_clock;
  const auto may_wait_for_program = [this] { return open_user_events_.load(std::memory_order_relaxed) != 0; };
  const auto ends = [this] { return std::pair(commands_ended_.load(), bytes_ended_.load()); };
  auto since = steady_clock::now();
  while (true) {
    // Read before the windows are checked, so that what makes room after that is noticed.
    const WindowProgress before = window_progress();
    if (has_window(needs)) return CL_SUCCESS;
    if (may_wait_for_program() && stalled_at_ == ends() &&
        has_window({needs.command, false}, kMaxWindows - 1))
      return CL_SUCCESS;
    const auto ended = ends();
    {
      const ScopedUnlock unlock(out_mutex_);
      if (may_wait_for_program()) {
        poll_server();
      } else {
        wait([&] { return window_progress() != before || may_wait_for_program(); });
      }
    }
    if (!alive()) return kConnectionLost;
    const auto now = steady_clock::now();
    if (ends() != ended || !may_wait_for_program()) since = now;
    if (now - since > kStallTime) stalled_at_ = ended;
    if (now - since > timeout_) return CL_OUT_OF_RESOURCES;
  }
}

// Returns soon, when everything that the server has sent so far has been handled.
void Connection::poll_server() {
  call({}, [](Builder& b) { return wire::CreateQuery(b, wire::InfoSubject::platform); });
  const base::ScopedCancelDisable uncancelled;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Connection::add_command(const CommandHeader& header, std::uint32_t request,
                             const PayloadInfo& payload_info, wire::Body type,
                             flatbuffers::Offset<void> body) {
  flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> waits;
  if (!header.waits.empty()) waits = builder_.CreateVector(header.waits.data(), header.waits.size());
  wire::CommandBuilder command(builder_);
  command.add_payload(payload_info.payload);
  command.add_event(header.event);
  command.add_queue(header.queue);
  if (!header.waits.empty()) command.add_waits(waits);
  command.add_body(body);
  if (payload_info.shared) command.add_shared(&*payload_info.shared);
  if (payload_info.ring) command.add_ring(&*payload_info.ring);
  command.add_request(request);
  command.add_body_type(type);
  command.add_at_end(payload_info.answer_at_end);
  command.add_empty_list(header.has_empty_wait_list);
  commands_.push_back(command.Finish());
  if (!trace_session_.empty() && type != wire::Body::Ping) [[unlikely]] {
    ++commands_traced_;
    if (CallTrace::Call::current() != nullptr)
      CallTrace::Call::current()->add_command(trace_session_, commands_traced_);
  }
  if (header.queue == 0) return;  // the windows count commands of queues
  ++commands_sent_;
  bytes_sent_.fetch_add(payload_info.payload, std::memory_order_relaxed);
}

cl_int Connection::end_command(const Box& data, FlushTiming when) {
  const bool large = data.bytes() > kSmallData;
  if (!large && data.bytes() != 0) {
    const std::size_t before = small_data_.size();
    small_data_.resize(before + data.bytes());
    data.copy_to(small_data_.data() + before, 0, data.bytes());
  }
  if (large || when == FlushTiming::now || builder_.GetSize() > kMaxGathered ||
      commands_.size() > kMaxGatheredCommands || small_data_.size() > kMaxGatheredData) {
    flush_locked(large ? data : Box{});
  } else if (!gathered_.load(std::memory_order_relaxed)) {
    gathered_.store(true, std::memory_order_release);
    schedule_flush();
  }
  return alive() ? CL_SUCCESS : kConnectionLost;
}

Ring::Peer Connection::ring_peer() {
  return {[this](std::span<const std::byte> slots) {
            iovec part{const_cast<std::byte*>(slots.data()), slots.size()};
            return stream_->write(std::span(&part, 1), timeout_);
          },
          [this] { return alive(); }};
}

bool Connection::uses_socket_only(std::size_t bytes) const {
  return shared_ == nullptr || bytes < kMinShared;
}

SharedArea::Place Connection::share(std::size_t bytes) {
  if (uses_socket_only(bytes) || bytes > kMaxSharedTransfer || !alive()) return {};
  return shared_->allocate(bytes);
}

SharedArea::Place Connection::share_ring(std::size_t bytes) {
  if (copy_threads().threads_for(bytes) > 1) {
    if (auto place = share(Ring::kLargeSize)) return place;
  }
  return share(Ring::kSize);
}

CopyThreads& Connection::copy_threads() { return client.copy_threads; }

bool Connection::has_commands_in_flight() {
  const base::MutexLock lock(out_mutex_);
  return commands_sent_ != commands_ended_.load(std::memory_order_relaxed);
}

void Connection::keep_until_complete(Id event, SharedArea::Place place) {
  const base::MutexLock lock(events_mutex_);
  places_in_flight_.emplace(event, std::move(place));
}

void Connection::keep_until_complete(Id event, std::shared_ptr<const MapRegion> region) {
  const base::MutexLock lock(events_mutex_);
  regions_in_flight_.emplace(event, std::move(region));
}

std::shared_ptr<MapRegion> Connection::take_region(std::size_t bytes) {
  if (regions_ == nullptr || bytes < MapRegions::kMinSize || !alive()) return nullptr;
  std::shared_ptr<MapRegion> region;
  {
    const base::MutexLock lock(out_mutex_);
    std::vector<MapRegions::Notice> notices;
    region = regions_->take(bytes, notices);
    add_notices(notices);
    if (!notices.empty()) end_command({});
  }
  return region != nullptr && regions_->back(*region) ? region : nullptr;
}

void Connection::add_notices(const std::vector<MapRegions::Notice>& notices) {
  if (!supports(Feature::kept_shared)) return;
  for (const MapRegions::Notice& one : notices) {
    add({}, 0, {}, [&](Builder& b) { return wire::CreateKeepShared(b, one.offset, one.size, one.is_kept); });
  }
}

// By the watcher. Between the two steps no thread can take what has expired.
void Connection::trim_regions() {
  if (regions_ == nullptr || !out_mutex_.try_lock()) return;
  const auto notices = regions_->expire(kTrimAfter);
  add_notices(notices);
  if (!notices.empty()) flush_as_watcher();
  out_mutex_.unlock();
  if (!notices.empty()) regions_->give_back();
}

// By the watcher, at its end: objects may keep this connection for as long as the program likes. The thread that holds
// the lock may be writing to a place that has become the server's; none begins to after that.
void Connection::end_shared_memory() {
  decltype(places_in_flight_) places;
  decltype(regions_in_flight_) regions;
  {
    const base::MutexLock lock(out_mutex_);
    const base::MutexLock events_lock(events_mutex_);
    places.swap(places_in_flight_);
    regions.swap(regions_in_flight_);
  }
  places.clear();
  regions.clear();
  if (shared_ != nullptr) shared_->end();
  if (regions_ != nullptr) regions_->end();
}

// Wakes the watcher only if it may be asleep for longer.
void Connection::schedule_flush() {
  const std::chrono::steady_clock::duration delay = kFlushDelay;
  if (flush_due_.exchange(now() + delay.count()) == 0) wake_.wake();
}

// How long the watcher may sleep, at most `most`, without missing a flush.
std::chrono::nanoseconds Connection::until_flush(std::chrono::nanoseconds most) const {
  const auto due = flush_due_.load();
  if (due == 0) return most;
  const std::chrono::steady_clock::duration left(due - now());
  return std::min<std::chrono::nanoseconds>(most, left.count() > 0 ? left : kFlushDelay);
}

// By the watcher. While another thread sends, which may not send what was gathered last, the flush stays due.
void Connection::flush_if_due() {
  auto due = flush_due_.load();
  const std::chrono::steady_clock::duration late(now() - due);
  if (due == 0 || late.count() < 0) return;
  if (due == flushed_due_) {
    if (late > kFlushWatch) flush_due_.compare_exchange_strong(due, 0);
    return;
  }
  if (!out_mutex_.try_lock()) return;
  flush_as_watcher();
  out_mutex_.unlock();
  flushed_due_ = due;
}

void Connection::release(Id id, bool urgent) {
  if (!alive()) return;  // in a forked child a thread that only its parent has may hold the lock
  bool first = false;
  {
    const base::MutexLock lock(released_mutex_);
    first = released_.empty();
    released_.push_back(id);
    if (urgent || released_.size() >= kMaxGatheredReleases)
      releases_urgent_.store(true, std::memory_order_release);
  }
  if (!first) return;
  gathered_.store(true, std::memory_order_release);
  schedule_flush();
}

void Connection::send_releases() {
  std::vector<Id> ids;
  {
    const base::MutexLock lock(released_mutex_);
    ids.swap(released_);
    releases_urgent_.store(false, std::memory_order_relaxed);
  }
  if (ids.empty()) return;
  add({}, 0, {}, [&](Builder& b) { return wire::CreateRelease(b, b.CreateVector(ids)); });
}

void Connection::flush() {
  if (!gathered_.load(std::memory_order_acquire)) return;
  const base::MutexLock lock(out_mutex_);
  flush_locked({});
}

void Connection::flush_all() {
  const base::ScopedCancelDisable uncancelled;
  const base::MutexLock lock(out_mutex_);
  flush_locked({});
  outbox_->drain({});  // false: the connection has ended, and its commands with it
}

void Connection::flush_locked(const Box& data) {
  const auto send = [this](std::span<const std::byte> part)
                        CLEAVE_NO_THREAD_SAFETY_ANALYSIS { return send_payload(part); };
  flush_locked(data.bytes(), [&] { return data.bytes() == 0 || BoxWriter(send).write(data); });
}

// While it sends, the watcher must go on reading: the server may not read before its own data has been taken, and no
// other thread may be waiting.
void Connection::flush_as_watcher() {
  watcher_sends_ = true;
  flush_locked({});
  watcher_sends_ = false;
}

// Its small data included. `has_more`: the caller writes more of the frame's payload to the stream itself.
bool Connection::send_gathered(const FrameHeader& header, bool has_more, const WhileBlocked& meanwhile) {
  const std::span message(builder_.GetBufferPointer(), builder_.GetSize());
  const bool directly = has_more || in_blocks_;
  if (directly && !outbox_->drain(meanwhile)) return false;
  if (in_blocks_) {
    payload_writer_->begin(header, std::as_bytes(message), timeout_, meanwhile);
    return payload_writer_->add(small_data_);
  }
  HeaderBytes bytes = encode(header);
  std::array<iovec, 3> parts{{{bytes.data(), bytes.size()},
                              {message.data(), message.size()},
                              {small_data_.data(), small_data_.size()}}};
  const auto all = std::span(parts).first(small_data_.empty() ? 2 : 3);
  return directly ? stream_->write(all, timeout_, meanwhile) : outbox_->write(all, meanwhile);
}

bool Connection::send_payload(std::span<const std::byte> part) {
  if (in_blocks_) return payload_writer_->add(part);
  iovec one{const_cast<std::byte*>(part.data()), part.size()};
  return stream_->write(std::span(&one, 1), timeout_);
}

// Sends what was gathered, then `more` bytes of payload by write_more(). All of it, also where the program's thread is cancelled
// meanwhile: the server could make nothing of what comes behind a part.
void Connection::flush_locked(std::uint64_t more, const std::function<bool()>& write_more) {
  const base::ScopedCancelDisable uncancelled;
  send_releases();
  if (commands_.empty()) {
    gathered_.store(false, std::memory_order_release);
    return;
  }
  builder_.Finish(wire::CreateCommands(builder_, builder_.CreateVector(commands_)));
  FrameHeader header{FrameKind::commands, builder_.GetSize(), small_data_.size() + more};
  WhileBlocked meanwhile;
  if (watcher_sends_) meanwhile = [this] { read_as_watcher(); };
  in_blocks_ = payload_writer_ && payload_writer_->wants(header.payload);
  bool sent = alive() && send_gathered(header, more != 0, meanwhile) && write_more();
  if (in_blocks_) sent = sent && payload_writer_->end();
  if (!sent) stream_->shutdown();  // the reader ends the connection
  builder_.Clear();
  commands_.clear();
  small_data_.clear();
  gathered_.store(false, std::memory_order_release);
  last_sent_.store(now(), std::memory_order_relaxed);
}

void Connection::wake_waiters() {
  post({}, [](Builder& b) { return wire::CreatePing(b, 0); });
  flush();
}

std::uint32_t Connection::register_request(PendingRequest& pending) {
  const base::MutexLock lock(requests_mutex_);
  if (!alive()) return 0;
  do {
    if (++next_request_ == 0) next_request_ = 1;
  } while (pending_.contains(next_request_));
  pending_.emplace(next_request_, &pending);
  pending.sequence = ++requests_made_;
  pending.first_later_id = next_id_.load(std::memory_order_relaxed);
  if (pending.queue != 0) unawaited_reads_.push_back(&pending);
  bytes_sent_.fetch_add(pending.payload(), std::memory_order_relaxed);
  if (pending.owned_by_connection) unawaited_.fetch_add(1, std::memory_order_relaxed);
  return next_request_;
}

}  // namespace cleave::remote::client
