// The connection to one server: what is sent, what comes, and who waits for what.
//
// Sending. Commands are gathered and go out together: when enough of them have come, at once with the command
// of who is about to wait, or soon (kFlushDelay) by the watcher. Data goes from the program's memory to the socket,
// behind the commands before it.
//
// Reading. There is one reader at a time, and it is whoever waits: a thread that waits for something reads
// the socket itself until that has come, and does for others what comes for them. So an answer wakes the
// thread that needs it and no other. While nobody waits the watcher reads, a thread that also sends signs of
// life and takes a silent server for gone.
//
// The end. A connection that has ended stays ended (`alive`): all that is under way and all later calls are
// answered with kConnectionLost, events end with it, and their callbacks are called. Only the reader ends it; others
// shut the socket down, and the reader notices. So nothing is written into the program's memory once a call
// has returned. The object itself lives as long as anything on it (bodies.h: hold), its watcher, or who is
// about to use it.
//
// fork(). The child must neither speak on its parent's connections nor keep them open, and has none of the
// threads that might hold their locks: it closes their descriptors and never touches them again.
//
// Shared memory. On a unix socket large data goes through memory that the server sees, too (shared_area.h): a
// command then names a place in it, or a ring (ring.h). Where there is no place at the moment it goes over
// the socket as ever: nobody waits for one.
//
// Thread-safe. Locks, in the order in which they may be taken together: reservations_, out_, then one of the others.
// The reader never takes out_: who has it may be waiting for a server that waits for us to read.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
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

#include "base/settings.h"
#include "remote/client/link/pending_request.h"
#include "remote/client/link/shared_area.h"
#include "remote/client/link/shared_ring.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"
#include "remote/transport/frames.h"

namespace cleave::remote::client {

inline constexpr cl_int kConnectionLost = CL_DEVICE_NOT_AVAILABLE;

// What belongs to a command on a queue.
struct CommandHeader {
  Id queue = 0;
  Id event = 0;
  std::span<const Id> waits = {};
  bool urgent = false;               // it is sent whatever the windows are: others may be waiting for it
  bool has_empty_wait_list = false;  // that is not null
};

// The table that a function makes which builds a command's body.
template <typename T>
struct OffsetTarget;
template <typename T>
struct OffsetTarget<flatbuffers::Offset<T>> {
  using type = T;
};

// What goes with a command, behind it or in a place of shared memory.
struct PayloadInfo {
  std::uint64_t payload = 0;
  std::optional<wire::Shared> shared{};
  std::optional<wire::Ring> ring{};
  bool answer_at_end = false;  // of its answer: it comes when the command has ended
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Builder = flatbuffers::FlatBufferBuilder;
  static constexpr std::chrono::microseconds kFlushDelay{200};
  static constexpr std::size_t kMaxSharedTransfer = std::size_t{16}
                                                    << 20U;  // of shared memory for one transfer

  // Meets the server and starts the watcher. Null where that fails, or takes longer than that; `problem` then
  // says why, for people.
  static std::shared_ptr<Connection> open(const std::string& address, const base::RemoteSettings& settings,
                                          bool query, Time until, std::string& problem);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // When what has been gathered is sent; `now`: who sends it is about to wait.
  enum class FlushTiming { soon, now };

  [[nodiscard]] bool alive() const { return !closed_.load(std::memory_order_acquire); }
  [[nodiscard]] const wire::Welcome& welcome() const { return *welcome_; }
  [[nodiscard]] std::chrono::nanoseconds round_trip() const { return round_trip_; }

  // A time of the server's clock, in ns, on ours.
  [[nodiscard]] std::uint64_t to_local_time(std::uint64_t theirs) const { return theirs - clock_ahead_; }

  Id new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  Id new_ids(std::size_t count) { return next_id_.fetch_add(count, std::memory_order_relaxed); }

  // Sends a command without an answer. make(builder) gives its body. kConnectionLost if the connection has ended.
  template <typename Make>
  cl_int post(const CommandHeader& head, Make make) {
    return post_data(head, {}, make);
  }

  // The same with data. Returns when the data has left the program's memory.
  template <typename Make>
  cl_int post_data(const CommandHeader& head, const Box& data, Make make) {
    std::unique_lock lock(out_);
    const cl_int error = begin_command(lock, head, data.bytes());
    if (error != CL_SUCCESS) return error;
    add(head, 0, {data.bytes()}, make);
    return end_command(data);
  }

  // For a command that others come to wait for before it is sent: waits until the windows have room for it.
  // Then it is sent as urgent, while the lock is held, so that no more than one of these goes beyond them.
  using WindowReservation = std::unique_lock<std::mutex>;
  WindowReservation reserve_window(bool has_data, cl_int& error);

  // Whether answers may come at the end of commands that are no reads (PendingRequest::answer_at_end).
  [[nodiscard]] bool supports_end_answers() const { return supports_end_answers_; }

  // Whether so much data always goes over the socket.
  [[nodiscard]] bool uses_socket_only(std::size_t bytes) const;

  // A place of shared memory for data of a command; empty: it has to go over the socket.
  SharedArea::Place share(std::size_t bytes);

  // The same through that place. It stays taken until the command's event has ended, so there is to be one.
  template <typename Make>
  cl_int post_shared(const CommandHeader& head, const Box& data, SharedArea::Place place, Make make) {
    data.copy_to(place.data(), 0, data.bytes());
    const PayloadInfo payload_info{0, wire::Shared(place.offset(), data.bytes())};
    std::unique_lock lock(out_);
    const cl_int error = begin_command(lock, head, 0);
    if (error != CL_SUCCESS) return error;
    keep_until_complete(head.event, std::move(place));
    add(head, 0, payload_info, make);
    return end_command({});
  }

  // The same through a ring in that place.
  [[nodiscard]] bool supports_rings() const { return shared_ != nullptr && supports_rings_; }
  template <typename Make>
  cl_int post_ring(const CommandHeader& head, const Box& data, SharedArea::Place place, Make make) {
    Ring ring(place, data);
    place.keep_until_idle(&is_ring_idle);
    const PayloadInfo payload_info{ring.write_payload(), ring.shared(), ring.words()};
    std::unique_lock lock(out_);
    const cl_int error = begin_command(lock, head, payload_info.payload);
    if (error != CL_SUCCESS) return error;
    keep_until_complete(head.event, std::move(place));
    add(head, 0, payload_info, make);
    return flush_with(payload_info.payload, [&] { return ring.write(server()); });
  }

  // Sends a command, waits for its answer and returns the answer's error; `pending` has that and the rest.
  // What could not be sent is answered with why.
  template <typename Make>
  cl_int call(const CommandHeader& head, PendingRequest& pending, Make make, const Box& data = {}) {
    const cl_int error = call_async(head, pending, make, data, FlushTiming::now);
    if (error != CL_SUCCESS) return pending.error = error;
    wait([&] { return pending.done.load(std::memory_order_acquire); });
    return pending.error;
  }

  // The same without waiting. `pending` lives until it is done. An error: it was not sent, and is the
  // caller's.
  template <typename Make>
  cl_int call_async(const CommandHeader& head, PendingRequest& pending, Make make, const Box& data = {},
                    FlushTiming when = FlushTiming::soon) {
    std::unique_lock lock(out_);
    const cl_int error = begin_command(lock, head, data.bytes() + pending.payload());
    if (error != CL_SUCCESS) return error;
    PayloadInfo payload_info{.payload = data.bytes(), .answer_at_end = pending.answer_at_end};
    if (pending.place)
      payload_info.shared = wire::Shared(pending.place.offset(), pending.destination.bytes());
    const std::uint32_t request = register_request(pending);
    if (request == 0) return kConnectionLost;
    add(head, request, payload_info, make);
    end_command(data, when);
    return CL_SUCCESS;
  }

  // A read through a ring in the request's place; waits for all of it.
  template <typename Make>
  cl_int call_through_ring(const CommandHeader& head, PendingRequest& pending, Make make) {
    Ring ring(pending.place, pending.destination);
    pending.place.keep_until_idle(&is_ring_idle);
    pending.in_ring = true;
    std::unique_lock lock(out_);
    const cl_int error = begin_command(lock, head, ring.read_payload());
    if (error != CL_SUCCESS) return error;
    const std::uint32_t request = register_request(pending);
    if (request == 0) return kConnectionLost;
    ring.begin_read();
    add(head, request, {ring.read_payload(), ring.shared(), ring.words()}, make);
    flush_with(ring.read_payload(), [&] { return ring.read_while_sending(server()); });
    bytes_sent_.fetch_add(ring.diverted(), std::memory_order_relaxed);
    lock.unlock();
    ring.read_available(server());
    wait([&] { return pending.done.load(std::memory_order_acquire); });
    if (pending.error != CL_SUCCESS) return pending.error;
    // What did not go through the ring has to have come over the socket.
    if (pending.received != ring.diverted()) return stream_->shutdown(), kConnectionLost;
    ring.read_remaining();
    return CL_SUCCESS;
  }

  // Whether the server may have something to do, on any queue.
  bool has_commands_in_flight();

  // Sends all that has been gathered.
  void flush();

  // Flushes, then returns when done() is true or the connection has ended. done() is asked often, by this
  // thread only, and becomes true by something that the server sends.
  template <typename Done>
  void wait(Done done) {
    if (done()) return;
    flush();
    wait_with([](void* function) { return (*static_cast<Done*>(function))(); }, &done);
  }

  // A command's event, before the command is sent: its completion will be told to it. Holds the object until
  // then.
  void expect(Object& event);
  // It was not sent.
  void forget(Object& event);

  // So many calls more, or fewer, that nobody waits for depend on what comes.
  void adjust_unawaited(int by) {
    unawaited_.fetch_add(static_cast<unsigned>(by), std::memory_order_relaxed);
  }

  // Makes the server say something, which wakes whoever waits in wait() for what this process itself has
  // done.
  void ring();

  // User events that the program has not set yet: what waits for them waits for the program.
  void count_user_event(int by) { open_user_events_.fetch_add(by, std::memory_order_relaxed); }
  // Calls `function` when the server says that this memory object is gone, or the connection has ended.
  void on_memory_released(Id memory, std::function<void()> function);

  // Who is told what comes for an object without being asked for: a queue of failures, a context of errors.
  // Until unsubscribe(), which comes before the object's end.
  void subscribe(Object& object);
  Object* subscriber(Id object);  // null: there is none
  void unsubscribe(Id object);

  // The server may forget this object. Goes with what is sent next; an event's is not in a hurry. Never
  // waits.
  void release(Id id, bool urgent);

  // Nobody wants it any more: it ends soon.
  void leave() { stream_->shutdown(); }

  // In the child of the process that made it; once, and the last that is done with it.
  void close_in_child();

 private:
  explicit Connection(std::unique_ptr<Stream> stream, const base::RemoteSettings& settings);
  bool handshake(const base::RemoteSettings& settings, bool query, Time until, std::string& problem);
  bool send_hello(std::span<const std::byte> message);

  template <typename Make>
  void add(const CommandHeader& head, std::uint32_t request, const PayloadInfo& payload_info, Make make) {
    const auto body = make(builder_);
    using Table = typename std::remove_reference_t<decltype(body)>;
    add_command(head, request, payload_info,
                wire::BodyTraits<typename OffsetTarget<std::remove_cv_t<Table>>::type>::enum_value,
                body.Union());
  }

  cl_int begin_command(std::unique_lock<std::mutex>& lock, const CommandHeader& head, std::uint64_t bytes);
  struct WindowNeeds {  // in which of the windows
    bool command;
    bool data;
  };
  cl_int wait_for_window(std::unique_lock<std::mutex>& lock, WindowNeeds needs);
  void poll_server();
  void add_command(const CommandHeader& head, std::uint32_t request, const PayloadInfo& payload_info,
                   wire::Body type, flatbuffers::Offset<void> body);
  cl_int end_command(const Box& data, FlushTiming when = FlushTiming::soon);
  cl_int flush_with(std::uint64_t more, const std::function<bool()>& write_more);
  Ring::Peer server();
  void flush_locked(const Box& data);
  void flush_as_watcher();
  void flush_locked(std::uint64_t more, const std::function<bool()>& write_more);
  void keep_until_complete(Id event, SharedArea::Place place);
  std::uint32_t register_request(PendingRequest& pending);
  [[nodiscard]] bool has_window(WindowNeeds needs, std::uint64_t windows = 1) const;
  using WindowProgress = std::array<std::uint64_t, 3>;
  [[nodiscard]] WindowProgress window_progress() const;

  using Condition = bool (*)(void*);
  void wait_with(Condition done, void* function);
  void read_as_watcher();
  void release_reader_role(std::unique_lock<std::mutex>& lock);
  bool at_end_of_stream();

  // What comes; all by the reader.
  bool read_frame();
  bool read_payload(const Box& box, std::size_t from, std::size_t bytes);
  // What the server says to have ended: a command with this event, or all before it in its queue, or both.
  struct EndNotice {
    bool good;
    Id event;
    Id queue;               // 0: of no queue
    std::uint64_t request;  // whose answer this is, as PendingRequest::number; 0: of none
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
  void handle_memory_released(Id memory);
  bool print_kernel_output(std::uint64_t payload);
  void complete_request(PendingRequest& pending);
  void end_connection();

  void watch();
  bool sleep_until_something(bool others_read, std::chrono::milliseconds most);
  void check_liveness();
  void send_releases();
  void arm_flush_timer();

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SharedArea> shared_;  // null: the server does not know it, or it is elsewhere
  bool supports_rings_ = false;         // it knows rings in it
  bool supports_end_answers_ = false;
  std::vector<std::byte> welcome_bytes_;
  const wire::Welcome* welcome_ = nullptr;
  std::chrono::nanoseconds round_trip_{0};
  std::uint64_t clock_ahead_ = 0;  // ns, the server's against ours; wraps around
  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds heartbeat_;
  std::atomic<Id> next_id_{1};
  std::atomic<bool> closed_{false};            // nothing new begins
  std::atomic<bool> ended_{false};             // and all that was under way has been told
  std::shared_ptr<Connection> self_in_child_;  // in a child: itself, so that it never goes

  std::mutex reservations_;
  std::mutex out_;
  Builder builder_{std::size_t{16} * 1024};
  std::vector<flatbuffers::Offset<wire::Command>> commands_;
  std::vector<std::byte> small_data_;         // payloads that are worth a copy
  std::uint64_t commands_sent_ = 0;           // with a queue
  std::atomic<std::uint64_t> bytes_sent_{0};  // and to be read
  std::atomic<std::uint64_t> commands_ended_{0};
  std::atomic<std::uint64_t> bytes_ended_{0};
  // What had ended when nothing more did for a while, where it was the program's turn.
  std::pair<std::uint64_t, std::uint64_t> stalled_at_{UINT64_MAX, 0};
  std::atomic<bool> gathered_{false};  // there is something to flush
  bool watcher_sends_ = false;
  std::atomic<std::chrono::steady_clock::rep> last_sent_{0};
  int timer_ = -1;  // rings kFlushDelay after the first command that was gathered
  int wake_ = -1;   // ends the watcher's sleep

  std::mutex reader_mutex_;
  std::condition_variable reader_changed_;
  bool has_reader_ = false;
  std::atomic<unsigned> sleepers_{0};
  std::atomic<std::uint64_t> wait_calls_{0};
  std::atomic<unsigned> unawaited_{0};  // what nobody may be waiting for
  std::atomic<int> open_user_events_{0};
  FrameReader input_;

  std::mutex released_mutex_;
  std::vector<Id> released_;
  std::atomic<bool> releases_urgent_{false};

  std::mutex requests_;
  std::uint32_t next_request_ = 1;
  std::uint64_t requests_made_ = 0;
  std::unordered_map<std::uint32_t, PendingRequest*> pending_;
  std::vector<PendingRequest*> unawaited_reads_;  // of these, the reads that nobody waits for

  std::mutex events_;
  std::unordered_map<Id, Object*> expected_events_;
  std::unordered_map<Id, std::function<void()>> memory_callbacks_;
  std::unordered_map<Id, Object*> subscribers_;                 // queues and contexts
  std::unordered_map<Id, SharedArea::Place> places_in_flight_;  // what writes are read from, by event
};

}  // namespace cleave::remote::client
