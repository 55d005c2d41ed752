// The connection to one server: sending commands, receiving answers and events, and waiting for them.
//
// Sending. Commands are gathered and sent together: when enough have gathered, with a command whose caller is about to
// wait, or after kFlushDelay by the watcher. What the socket has no room for is sent by a thread of the outbox's (outbox.h).
// Data is written from the program's memory to the socket, once the outbox is empty.
//
// Receiving. One thread reads at a time. A thread that waits becomes the reader if there is none: it reads the socket
// until what it waits for has come, and meanwhile handles what comes for others. So an answer wakes only the thread
// that needs it. While no thread waits, the watcher reads.
//
// The watcher is a detached thread, started by open(). It also sends pings and shuts the connection down when the server
// has been silent for the timeout. It keeps the connection alive and ends soon after the connection has (alive()).
//
// End. A connection that has ended stays ended. All pending and later calls then return kConnectionLost, pending events
// fail, and their callbacks are called. Only the reader ends the connection; other threads shut the socket down, which
// the reader notices. So nothing is written into the program's memory after a call has returned. The Connection itself
// lives as long as an object on it (ContextState::connection_ref), its watcher, or a caller that holds it.
//
// Fork. The child must neither use its parent's connections nor keep them open, and has none of the threads that may
// hold their locks. It closes their descriptors and never touches the connections again.
//
// Shared memory. On a unix socket large data goes through memory that the server maps as well (shared_area.h): a
// command then names a place in it, or a ring (shared_ring.h). Without free space data goes over the socket. Large buffers are
// mapped in regions of it (map_regions.h). It ends with the connection, but for the regions that the program has mapped.
//
// Thread-safe. Lock order: reservations_mutex_, then out_mutex_, then requests_mutex_, then events_mutex_; released_mutex_,
// the outbox's and the shared area's mutex are leaves, reader_mutex_ is taken alone. The reader never takes out_mutex_: its holder
// may be waiting for a server that waits until we read.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files/wake_channel.h"
#include "base/settings/settings.h"
#include "base/threads/mutex.h"
#include "remote/client/link/map_regions.h"
#include "remote/client/link/outbox.h"
#include "remote/client/link/pending_request.h"
#include "remote/client/link/shared_area.h"
#include "remote/client/link/shared_ring.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/features.h"
#include "remote/protocol/messages.h"
#include "remote/transport/frames.h"

namespace cleave::remote::client {

// The error of calls whose connection has ended.
inline constexpr cl_int kConnectionLost = CL_DEVICE_NOT_AVAILABLE;

// What a command has besides its body and data. A command without a queue does not count in the windows.
struct CommandHeader {
  Id queue = 0;
  Id event = 0;
  std::span<const Id> waits = {};
  bool urgent = false;  // sent even if the windows are full, since other commands may depend on it
  bool has_empty_wait_list = false;  // the program gave a wait list that is not null but has no events
};

// The FlatBuffers table that an offset leads to.
template <typename T>
struct OffsetTarget;
template <typename T>
struct OffsetTarget<flatbuffers::Offset<T>> {
  using type = T;
};

// The data of a command: a number of bytes that follow it on the socket, or a place in shared memory.
struct PayloadInfo {
  std::uint64_t payload = 0;
  std::optional<wire::Shared> shared{};
  std::optional<wire::Ring> ring{};
  bool answer_at_end = false;  // the answer is sent when the command has ended, not when it was accepted
};

// Unlocks a mutex that the caller holds, for its own lifetime.
class CLEAVE_SCOPED_CAPABILITY ScopedUnlock {
 public:
  explicit ScopedUnlock(base::Mutex& mutex) CLEAVE_RELEASE_LOCK(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ScopedUnlock(const ScopedUnlock&) = delete;
  ScopedUnlock& operator=(const ScopedUnlock&) = delete;
  ~ScopedUnlock() CLEAVE_RELEASE_LOCK() { mutex_.lock(); }

 private:
  base::Mutex& mutex_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Builder = flatbuffers::FlatBufferBuilder;
  static constexpr std::chrono::microseconds kFlushDelay{200};
  // For this long after a flush the watcher checks for the next one by itself: threads that gather commands need not
  // wake it.
  static constexpr std::chrono::microseconds kFlushWatch{5 * kFlushDelay};
  // Shared memory that has been unused for this long is given back to the system.
  static constexpr std::chrono::milliseconds kTrimAfter{5000};
  static constexpr std::size_t kMaxSharedTransfer = std::size_t{16}
                                                    << 20U;  // one transfer's share of shared memory

  // Connects, performs the handshake and starts the watcher. Null if that fails or takes longer than `until`; `problem`
  // then says why, for users. `query`: only queries what the server offers, and does not count as a client.
  static std::shared_ptr<Connection> open(const std::string& address, const base::RemoteSettings& settings,
                                          bool query, Time until, std::string& problem);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // When gathered commands are sent. now: with this one, since its caller is about to wait.
  enum class FlushTiming { soon, now };

  [[nodiscard]] bool alive() const { return !closed_.load(std::memory_order_acquire); }
  // Whether it is alive and still has its socket, which the program may have closed unnoticed.
  [[nodiscard]] bool is_usable() const { return alive() && stream_->is_ours(); }
  // The address with which it was opened.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const wire::Welcome& welcome() const { return *welcome_; }
  [[nodiscard]] std::chrono::nanoseconds round_trip() const { return round_trip_; }

  // Converts a time of the server's clock, in ns, to ours.
  [[nodiscard]] std::uint64_t to_local_time(std::uint64_t theirs) const { return theirs - clock_ahead_; }

  Id new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  Id new_ids(std::size_t count) { return next_id_.fetch_add(count, std::memory_order_relaxed); }

  // Sends a command that has no answer. make(builder) gives its body. kConnectionLost if the connection has ended.
  template <typename Make>
  cl_int post(const CommandHeader& header, Make make) {
    return post_data(header, {}, make);
  }

  // The same with data. Returns when the data has been read from the program's memory.
  template <typename Make>
  cl_int post_data(const CommandHeader& header, const Box& data, Make make) {
    const base::MutexLock lock(out_mutex_);
    const cl_int error = begin_command(header, data.bytes());
    if (error != CL_SUCCESS) return error;
    add(header, 0, {data.bytes()}, make);
    return end_command(data);
  }

  // For a command on which others come to depend before it is sent: waits until the windows have room for it. It is
  // then sent as urgent while the caller holds the reservation, so at most one such command exceeds the windows.
  using WindowReservation = std::unique_lock<base::Mutex>;
  WindowReservation reserve_window(bool has_data, cl_int& error) CLEAVE_EXCLUDES(out_mutex_);

  // Whether both peers know the feature.
  [[nodiscard]] bool supports(Feature feature) const { return (features_ & bit(feature)) != 0; }

  // Whether data of this size always goes over the socket.
  [[nodiscard]] bool uses_socket_only(std::size_t bytes) const;

  // A place in shared memory for a command's data. Empty: use the socket.
  SharedArea::Place share(std::size_t bytes);
  // The same for a ring through which that much passes. Requires: supports_rings().
  SharedArea::Place share_ring(std::size_t bytes);

  // Like post_data(), through that place, which stays taken until the command's event has ended. Requires: an event.
  template <typename Make>
  cl_int post_shared(const CommandHeader& header, const Box& data, SharedArea::Place place, Make make) {
    assert(header.event != 0);
    data.copy_to(place.data(), 0, data.bytes());
    const PayloadInfo payload_info{0, wire::Shared(place.offset(), data.bytes())};
    const base::MutexLock lock(out_mutex_);
    const cl_int error = begin_command(header, 0);
    if (error != CL_SUCCESS) return error;
    keep_until_complete(header.event, std::move(place));
    add(header, 0, payload_info, make);
    return end_command({});
  }

  // Memory for maps that the server has mapped as well. Null: there is none of that size.
  std::shared_ptr<MapRegion> take_region(std::size_t bytes) CLEAVE_EXCLUDES(out_mutex_);

  // Like post_shared(), for data in a region, which the server reads until the command's event has ended. The data is contiguous.
  template <typename Make>
  cl_int post_in_region(const CommandHeader& header, const Box& data, std::shared_ptr<const MapRegion> region,
                        Make make) {
    assert(header.event != 0);
    const PayloadInfo payload_info{0, wire::Shared(region->offset_of(data.base), data.bytes())};
    const base::MutexLock lock(out_mutex_);
    const cl_int error = begin_command(header, 0);
    if (error != CL_SUCCESS) return error;
    keep_until_complete(header.event, std::move(region));
    add(header, 0, payload_info, make);
    return end_command({});
  }

  // The same through a ring in that place. Requires: supports_rings(), an event.
  [[nodiscard]] bool supports_rings() const { return shared_ != nullptr && supports(Feature::shared_ring); }
  template <typename Make>
  cl_int post_ring(const CommandHeader& header, const Box& data, SharedArea::Place place, Make make) {
    assert(header.event != 0 && supports_rings());
    Ring ring(place, data, copy_threads());
    place.keep_until_idle(&is_ring_idle);
    const PayloadInfo payload_info{ring.write_payload(), ring.shared(), ring.words()};
    const base::MutexLock lock(out_mutex_);
    const cl_int error = begin_command(header, payload_info.payload);
    if (error != CL_SUCCESS) return error;
    keep_until_complete(header.event, std::move(place));
    add(header, 0, payload_info, make);
    flush_locked(payload_info.payload, [&] { return ring.write(ring_peer()); });
    return alive() ? CL_SUCCESS : kConnectionLost;
  }

  // Sends a command, waits for its answer and returns the answer's error; `pending` has the rest of it. If the command
  // could not be sent, returns why.
  template <typename Make>
  cl_int call(const CommandHeader& header, PendingRequest& pending, Make make, const Box& data = {}) {
    const cl_int error = call_async(header, pending, make, data, FlushTiming::now);
    if (error != CL_SUCCESS) return pending.error = error;
    wait([&] { return pending.done.load(std::memory_order_acquire); });
    return pending.error;
  }

  // The same for a caller that needs only the error.
  template <typename Make>
  cl_int call(const CommandHeader& header, Make make, const Box& data = {}) {
    PendingRequest pending;
    return call(header, pending, make, data);
  }

  // As the first, without waiting. `pending` has to live until it is done. If an error is returned it was not sent, and stays
  // the caller's.
  template <typename Make>
  cl_int call_async(const CommandHeader& header, PendingRequest& pending, Make make, const Box& data = {},
                    FlushTiming when = FlushTiming::soon) {
    const base::MutexLock lock(out_mutex_);
    const cl_int error = begin_command(header, data.bytes() + pending.payload());
    if (error != CL_SUCCESS) return error;
    PayloadInfo payload_info{.payload = data.bytes(), .answer_at_end = pending.answer_at_end};
    if (pending.is_shared())
      payload_info.shared = wire::Shared(pending.shared_offset(), pending.destination.bytes());
    const std::uint32_t request = register_request(pending);
    if (request == 0) return kConnectionLost;
    add(header, request, payload_info, make);
    end_command(data, when);
    return CL_SUCCESS;
  }

  // Reads through a ring in the request's place and waits for all of it. Requires: supports_rings(), pending.place.
  template <typename Make>
  cl_int call_through_ring(const CommandHeader& header, PendingRequest& pending, Make make) {
    assert(pending.place && supports_rings());
    Ring ring(pending.place, pending.destination, copy_threads());
    pending.place.keep_until_idle(&is_ring_idle);
    pending.in_ring = true;
    {
      const base::MutexLock lock(out_mutex_);
      const cl_int error = begin_command(header, ring.read_payload());
      if (error != CL_SUCCESS) return error;
      const std::uint32_t request = register_request(pending);
      if (request == 0) return kConnectionLost;
      ring.begin_read();
      add(header, request, {ring.read_payload(), ring.shared(), ring.words()}, make);
      flush_locked(ring.read_payload(), [&] { return ring.read_while_sending(ring_peer()); });
      bytes_sent_.fetch_add(ring.diverted(), std::memory_order_relaxed);
    }
    ring.read_available(ring_peer());
    wait([&] { return pending.done.load(std::memory_order_acquire); });
    if (pending.error != CL_SUCCESS) return pending.error;
    // What did not go through the ring must have come over the socket.
    if (pending.received != ring.diverted()) return stream_->shutdown(), kConnectionLost;
    ring.read_remaining();
    return CL_SUCCESS;
  }

  // Whether commands of any queue may still be running on the server.
  bool has_commands_in_flight() CLEAVE_EXCLUDES(out_mutex_);

  // Sends all gathered commands. Those that the socket has no room for are sent soon, by another thread.
  void flush() CLEAVE_EXCLUDES(out_mutex_);

  // The same, and returns when the socket has taken them all, or the connection has ended: for the end of the process, from
  // which on nothing else sends.
  void flush_all() CLEAVE_EXCLUDES(out_mutex_);

  // Flushes, then returns when done() is true or the connection has ended. done() is called often, by this thread only,
  // and must become true by something that the server sends.
  template <typename Done>
  void wait(Done done) {
    if (done()) return;
    flush();
    wait_with([](void* function) { return (*static_cast<Done*>(function))(); }, &done);
  }

  // Tracks the event of a command that is about to be sent: its completion sets the event's status. Holds the object
  // until then.
  void expect(Object& event) CLEAVE_EXCLUDES(events_mutex_);
  // The command was not sent.
  void forget(Object& event) CLEAVE_EXCLUDES(events_mutex_);

  // Changes the count of event callbacks that depend on what the server sends, though no thread waits for it.
  void adjust_unawaited(int by) {
    unawaited_.fetch_add(static_cast<unsigned>(by), std::memory_order_relaxed);
  }

  // Makes the server send something, so that threads in wait() wake up and see what this process itself has done.
  void wake_waiters();

  // Counts the program's user events that are not set yet: commands behind them wait for the program.
  void count_user_event(int by) { open_user_events_.fetch_add(by, std::memory_order_relaxed); }
  // Calls `function` when the server reports that this memory object is gone, or the connection has ended.
  void on_memory_released(Id memory, Id context, std::function<void()> function)
      CLEAVE_EXCLUDES(events_mutex_);
  // Calls a function when the server has executed all that has been sent or released until now.
  void on_program_released(Id program, Id context, std::function<void()> function)
      CLEAVE_EXCLUDES(events_mutex_);
  // Calls a function when those of all memory objects and programs of the context have been called.
  void on_context_released(Id context, std::function<void()> function) CLEAVE_EXCLUDES(events_mutex_);

  // Delivers to this object what the server sends for it unasked: failures to a queue, errors to a context. Must be
  // unsubscribed before the object ends.
  void subscribe(Object& object) CLEAVE_EXCLUDES(events_mutex_);
  Object* subscriber(Id object) CLEAVE_EXCLUDES(events_mutex_);  // null: none
  void unsubscribe(Id object) CLEAVE_EXCLUDES(events_mutex_);

  // Tells the server that this object is no longer needed. Sent with what comes next; `urgent`: before the next command.
  // Never blocks on the network.
  void release(Id id, bool urgent) CLEAVE_EXCLUDES(released_mutex_);

  // No longer needed: ends soon.
  void close() { stream_->shutdown(); }

  // In the child after fork(). Once, and the last call on this object.
  void close_in_child();

 private:
  explicit Connection(std::unique_ptr<Stream> stream, const base::RemoteSettings& settings);
  bool handshake(const base::RemoteSettings& settings, bool query, Time until, std::string& problem);
  void share_memory();
  bool send_hello(std::span<const std::byte> message);
  bool accept_welcome(const FrameHeader& header, std::string& problem);
  bool start_sender();
  // `begin`: of the handshake.
  void begin_trace(Time begin);

  template <typename Make>
  void add(const CommandHeader& header, std::uint32_t request, const PayloadInfo& payload_info, Make make)
      CLEAVE_REQUIRES(out_mutex_) {
    const auto body = make(builder_);
    using Table = typename std::remove_reference_t<decltype(body)>;
    add_command(header, request, payload_info,
                wire::BodyTraits<typename OffsetTarget<std::remove_cv_t<Table>>::type>::enum_value,
                body.Union());
  }

  // May release out_mutex_ meanwhile, to wait for room.
  cl_int begin_command(const CommandHeader& header, std::uint64_t bytes) CLEAVE_REQUIRES(out_mutex_);
  struct WindowNeeds {  // which of the server's windows a command has to fit into
    bool command;
    bool data;
  };
  cl_int wait_for_window(WindowNeeds needs) CLEAVE_REQUIRES(out_mutex_);
  void poll_server() CLEAVE_EXCLUDES(out_mutex_);
  void add_command(const CommandHeader& header, std::uint32_t request, const PayloadInfo& payload_info,
                   wire::Body type, flatbuffers::Offset<void> body) CLEAVE_REQUIRES(out_mutex_);
  cl_int end_command(const Box& data, FlushTiming when = FlushTiming::soon) CLEAVE_REQUIRES(out_mutex_);
  // For a ring that is written or read while out_mutex_ is held.
  Ring::Peer ring_peer();
  static CopyThreads& copy_threads();  // the process's
  void flush_locked(const Box& data) CLEAVE_REQUIRES(out_mutex_);
  void flush_as_watcher() CLEAVE_REQUIRES(out_mutex_);
  bool send_gathered(const FrameHeader& header, bool has_more, const WhileBlocked& meanwhile)
      CLEAVE_REQUIRES(out_mutex_);
  bool send_payload(std::span<const std::byte> part) CLEAVE_REQUIRES(out_mutex_);
  void flush_locked(std::uint64_t more, const std::function<bool()>& write_more) CLEAVE_REQUIRES(out_mutex_);
  void keep_until_complete(Id event, SharedArea::Place place) CLEAVE_EXCLUDES(events_mutex_);
  void keep_until_complete(Id event, std::shared_ptr<const MapRegion> region) CLEAVE_EXCLUDES(events_mutex_);
  void add_notices(const std::vector<MapRegions::Notice>& notices) CLEAVE_REQUIRES(out_mutex_);
  void trim_regions() CLEAVE_EXCLUDES(out_mutex_);
  void end_shared_memory() CLEAVE_EXCLUDES(out_mutex_, events_mutex_);
  std::uint32_t register_request(PendingRequest& pending) CLEAVE_REQUIRES(out_mutex_)
      CLEAVE_EXCLUDES(requests_mutex_);
  [[nodiscard]] bool has_window(WindowNeeds needs, std::uint64_t windows = 1) const
      CLEAVE_REQUIRES(out_mutex_);
  using WindowProgress = std::array<std::uint64_t, 3>;
  [[nodiscard]] WindowProgress window_progress() const;

  using Condition = bool (*)(void*);
  void wait_with(Condition done, void* function) CLEAVE_EXCLUDES(reader_mutex_);
  void read_as_watcher() CLEAVE_EXCLUDES(reader_mutex_);
  void release_reader_role() CLEAVE_REQUIRES(reader_mutex_);
  void wake_to_read();
  bool at_end_of_stream();

  // Receiving; called by the reader only.
  bool read_frame();
  bool read_payload(const Box& box, std::size_t from, std::size_t bytes);
  // What the server reports as ended: the command of an event, or all commands in a queue before a request, or both.
  struct EndNotice {
    bool good;
    Id event;
    Id queue;               // 0: no queue
    std::uint64_t request;  // PendingRequest::sequence of the answered request; 0: none
  };
  bool is_consistent_with_reads(const EndNotice& notice);
  void fail_read(const PendingRequest& read);
  bool is_complete(const wire::Answer& answer, const PendingRequest& pending);
  bool receive_data(PendingRequest& pending, std::uint64_t payload);
  bool receive_ring_data(PendingRequest& pending, std::uint64_t at, std::uint64_t payload);
  bool handle(const wire::Events& events);
  bool handle(const wire::Item& item);
  bool handle_answer(const wire::Answer& answer, std::uint64_t payload);
  bool handle_completion(const wire::Completion& completion);
  void handle_status(const wire::EventStatus& status);
  void handle_failure(const wire::Failure& failure);
  void handle_context_error(const wire::ContextError& error);
  void handle_end(Id object) CLEAVE_EXCLUDES(events_mutex_);
  [[nodiscard]] bool awaits_ends_of(Id context) const CLEAVE_REQUIRES(events_mutex_);
  void set_event_status(Object& event, cl_int status);
  void set_queue_failure(Id queue, cl_int error) CLEAVE_REQUIRES(events_mutex_);
  bool print_kernel_output(std::uint64_t payload);
  void complete_request(PendingRequest& pending);
  void end_connection() CLEAVE_EXCLUDES(requests_mutex_, events_mutex_);
  void log_if_closed_by_program();

  void watch();
  bool sleep_until_readable(bool others_read, std::chrono::milliseconds most);
  void check_liveness() CLEAVE_EXCLUDES(out_mutex_);
  void begin_exchange() CLEAVE_EXCLUDES(out_mutex_);
  void end_exchange(const wire::Pong& pong);
  void send_releases() CLEAVE_REQUIRES(out_mutex_);
  void schedule_flush();
  [[nodiscard]] std::chrono::nanoseconds until_flush(std::chrono::nanoseconds most) const;
  void flush_if_due() CLEAVE_EXCLUDES(out_mutex_);

  // Set by the handshake, then constant.
  std::string address_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SharedArea> shared_;   // null: not supported by the server, or it is on another machine
  std::shared_ptr<MapRegions> regions_;  // null: not supported, or there is no room
  std::uint64_t features_ = 0;           // the server's
  std::optional<Outbox> outbox_;         // its callers have out_mutex_
  std::optional<PayloadWriter> payload_writer_;  // with out_mutex_; empty: payloads are not compressed
  std::vector<std::byte> welcome_bytes_;
  const wire::Welcome* welcome_ = nullptr;
  std::chrono::nanoseconds round_trip_{0};
  std::string trace_session_;      // of the server's trace; empty: one of the two sides does not trace
  std::uint64_t clock_ahead_ = 0;  // ns, the server's clock minus ours; wraps around
  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds heartbeat_;
  base::WakeChannel wake_;                // wakes the watcher
  std::atomic<bool> should_read_{false};  // what for, but for a flush
  // When the watcher is to flush, by the steady clock; 0: it does not watch for that. And, for the watcher only, the
  // due time for which it last flushed.
  std::atomic<std::chrono::steady_clock::rep> flush_due_{0};
  std::chrono::steady_clock::rep flushed_due_ = 0;

  std::atomic<Id> next_id_{1};
  std::atomic<bool> closed_{false};             // nothing new begins
  std::atomic<bool> closed_by_program_{false};  // the program closed the descriptor; not reported yet
  std::atomic<bool> ended_{false};              // all that was pending has failed
  std::shared_ptr<Connection> self_in_child_;   // keeps the object alive in a forked child

  base::Mutex reservations_mutex_ CLEAVE_ACQUIRED_BEFORE(out_mutex_);
  base::Mutex out_mutex_ CLEAVE_ACQUIRED_BEFORE(requests_mutex_);
  Builder builder_ CLEAVE_GUARDED_BY(out_mutex_){std::size_t{16} * 1024};
  std::vector<flatbuffers::Offset<wire::Command>> commands_ CLEAVE_GUARDED_BY(out_mutex_);
  std::vector<std::byte> small_data_ CLEAVE_GUARDED_BY(out_mutex_);  // payloads small enough to copy
  std::uint64_t commands_sent_ CLEAVE_GUARDED_BY(out_mutex_) = 0;    // those with a queue
  std::uint64_t commands_traced_ CLEAVE_GUARDED_BY(out_mutex_) = 0;  // all but Pings, if they are traced
  bool watcher_sends_ CLEAVE_GUARDED_BY(out_mutex_) = false;
  bool in_blocks_ CLEAVE_GUARDED_BY(out_mutex_) = false;  // the payload of the current frame
  // Commands and bytes that had ended when the windows last stalled on user events of the program.
  std::pair<std::uint64_t, std::uint64_t> stalled_at_ CLEAVE_GUARDED_BY(out_mutex_){UINT64_MAX, 0};
  std::atomic<std::uint64_t> bytes_sent_{0};  // and to be read
  std::atomic<std::uint64_t> commands_ended_{0};
  std::atomic<std::uint64_t> bytes_ended_{0};
  std::atomic<bool> gathered_{false};  // there is something to flush
  std::atomic<std::chrono::steady_clock::rep> last_sent_{0};

  base::Mutex reader_mutex_;
  base::CondVar reader_changed_;
  bool has_reader_ CLEAVE_GUARDED_BY(reader_mutex_) = false;
  // When the exchange in progress was sent, in ns; 0: there is none. And the watcher's: how many there were, when the last began.
  std::atomic<std::uint64_t> exchange_sent_{0};
  unsigned exchanges_ = 0;
  std::chrono::steady_clock::time_point last_exchange_{};
  std::atomic<unsigned> sleepers_{0};
  std::atomic<std::uint64_t> wait_calls_{0};
  std::atomic<unsigned> unawaited_{0};  // reads and callbacks for which no thread may be waiting
  std::atomic<int> open_user_events_{0};
  FrameReader input_;  // the reader's

  base::Mutex released_mutex_;
  std::vector<Id> released_ CLEAVE_GUARDED_BY(released_mutex_);
  std::atomic<bool> releases_urgent_{false};

  base::Mutex requests_mutex_ CLEAVE_ACQUIRED_BEFORE(events_mutex_);
  std::uint32_t next_request_ CLEAVE_GUARDED_BY(requests_mutex_) = 1;
  std::uint64_t requests_made_ CLEAVE_GUARDED_BY(requests_mutex_) = 0;
  std::unordered_map<std::uint32_t, PendingRequest*> pending_ CLEAVE_GUARDED_BY(requests_mutex_);
  std::vector<PendingRequest*> unawaited_reads_
      CLEAVE_GUARDED_BY(requests_mutex_);  // of pending_: owned_by_connection

  base::Mutex events_mutex_;
  std::unordered_map<Id, Object*> expected_events_ CLEAVE_GUARDED_BY(events_mutex_);
  // Of objects that the program has released, until the server reports their end.
  struct EndCallback {
    Id context;
    std::function<void()> function;
  };
  std::unordered_map<Id, EndCallback> end_callbacks_ CLEAVE_GUARDED_BY(events_mutex_);
  std::unordered_map<Id, std::function<void()>> context_callbacks_ CLEAVE_GUARDED_BY(events_mutex_);
  std::unordered_map<Id, Object*> subscribers_ CLEAVE_GUARDED_BY(events_mutex_);
  std::unordered_map<Id, SharedArea::Place> places_in_flight_
      CLEAVE_GUARDED_BY(events_mutex_);  // of writes, by event
  std::unordered_map<Id, std::shared_ptr<const MapRegion>> regions_in_flight_
      CLEAVE_GUARDED_BY(events_mutex_);  // of maps, by event
};

}  // namespace cleave::remote::client
