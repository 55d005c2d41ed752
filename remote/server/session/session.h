// The client's commands, carried out one after the other by the thread that reads them. It never waits for
// the device: what takes long ends elsewhere (queue.h, builder.h).
//
// run() is for one thread; violations and the client's end are its answer. All other threads only use what is
// thread-safe here: the objects, the outbox, the staging.
//
// Nothing that the client says is believed: ids are looked up, sizes held against limits and against the
// memory they are for, handles never leave the process. What no client of good faith would send ends the
// session.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/opencl.h"
#include "remote/protocol/messages.h"
#include "remote/protocol/numbers.h"
#include "remote/server/builds/build_threads.h"
#include "remote/server/builds/source_folder.h"
#include "remote/server/memory/shared_memory.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/queue.h"
#include "remote/server/session/info_result.h"
#include "remote/server/session/object_table.h"
#include "remote/server/session/outbox.h"
#include "remote/server/worker/platforms.h"
#include "remote/transport/frames.h"

namespace cleave::remote::server {

struct ClientLimits {
  std::uint64_t memory = UINT64_MAX;                // bytes of all memory objects together
  std::uint64_t staging = std::uint64_t{2} << 30U;  // bytes on their way
  std::uint64_t window_commands = 8192;
  std::uint64_t window_bytes = std::uint64_t{128} << 20U;
  std::size_t objects = std::size_t{4} << 20U;
  std::size_t queues = 512;
  std::uint64_t program = std::uint64_t{256} << 20U;  // bytes of one program's text, IL or binaries
  std::chrono::milliseconds silence{10'000};          // after which the client is taken for gone
  std::chrono::seconds idle{0};                       // without a command or a build; 0: for ever
};

class ClientSession {
 public:
  ClientSession(const Table& cl, FrameReader& input, Outbox& outbox, ObjectTable& objects,
                const ClientLimits& limits, const SharedMemory* shared)
      : cl_(cl),
        input_(input),
        outbox_(outbox),
        objects_(objects),
        limits_(limits),
        shared_(shared),
        staging_(limits.staging) {}
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;
  // Waits for what is under way and leaves the driver's objects as they are: a worker does not come here.
  ~ClientSession();

  // Until the client is gone. Says why; empty: it went as it should. `had_violation` tells a violation.
  std::string run();
  [[nodiscard]] bool had_violation() const { return !violation_.empty(); }

  // When the reading thread began with the command that it is at; the epoch: it waits for the client.
  [[nodiscard]] Time busy_since() const {
    return Time(Duration(busy_since_.load(std::memory_order_relaxed)));
  }
  // Memory that has not been used for so long goes back to the system. For any thread.
  void trim(Duration unused) { staging_.trim(unused); }
  [[nodiscard]] std::uint64_t commands() const { return commands_.load(std::memory_order_relaxed); }

 private:
  // The command that is carried out, what is left of its payload, and of its wait list.
  struct Enqueue {
    std::shared_ptr<Queue> queue;
    std::vector<cl_event> waits;
    bool has_empty_list = false;
    [[nodiscard]] cl_uint count() const { return static_cast<cl_uint>(waits.size()); }
    [[nodiscard]] const cl_event* list() const {
      static constexpr cl_event kNone = nullptr;
      return !waits.empty() ? waits.data() : has_empty_list ? &kNone : nullptr;
    }
  };

  [[nodiscard]] bool has_work_in_flight();
  bool execute_frame(const FrameHeader& header);
  bool execute(const wire::Command& command);
  void dispatch(const wire::Command& command);
  void after_frame();
  void flush_queues();
  void report_unawaited_if_crowded();
  void poll_after_frame(const std::shared_ptr<Queue>& queue);
  void hand_to_watcher();
  void flush_answers();

  // Ends the session: nobody of good faith does that.
  void report_violation(const char* what) {
    if (violation_.empty()) violation_ = what;
  }
  bool read_payload(std::span<std::byte> into);

  // How a command that is none of a queue has ended. `object` is what was to be created, or the kernel.
  void reply(const wire::Command& command, std::uint64_t object, cl_int error);
  // Registers what was created, or tells the error.
  void register_created(const wire::Command& command, std::uint64_t id, Object object, cl_int error);
  [[nodiscard]] bool check_new_id(std::uint64_t id);

  // Commands with a queue.
  // Empty: it has failed, and that has been told.
  std::optional<Enqueue> begin_enqueue(const wire::Command& command);
  // `bytes` of its payload have been counted by others.
  void fail_command(const wire::Command& command, cl_int error, std::uint64_t bytes = 0);
  void fail_with_wait_list(const wire::Command& command);
  void finish_enqueue(const wire::Command& command, const Enqueue& enqueue, cl_event event,
                      Pending pending = {});
  template <typename Call>
  void enqueue(const wire::Command& command, Call call, Pending pending = {});

  std::optional<std::vector<cl_device_id>> devices_of(const flatbuffers::Vector<std::uint64_t>* ids);
  std::optional<std::string> text_payload(const wire::Command& command);
  std::uint64_t element_size(cl_mem image) const;
  std::optional<std::uint64_t> probe_element_size(cl_context context, const cl_image_format& format);
  cl_int reserve_memory(std::uint64_t size);
  void release_memory_when_destroyed(cl_mem memory, std::uint64_t size);
  void create_over_svm(const wire::Command& command, const wire::CreateBuffer& message, cl_context context);
  void free_svm(const std::vector<void*>& pointers, bool by_driver);
  [[nodiscard]] std::byte* shared_place(const wire::Command& command, std::uint64_t size);

  // Data that passes through slots in shared memory (rings.cpp).
  struct RingView {
    std::byte* slots;
    std::uint32_t* words;
    std::uint64_t slice;
    unsigned count;
    [[nodiscard]] std::byte* slot(unsigned number) const { return slots + number * slice; }
  };
  // Has the driver copy so many bytes at a place of a buffer, from or to memory; the first waits for others.
  using CopySlice = std::function<cl_int(std::byte* memory, std::uint64_t at, std::uint64_t size,
                                         const Enqueue& to, cl_event* event)>;
  template <typename Call>
  static auto in_slices(Call call);
  std::optional<RingView> ring_of(const wire::Command& command);
  bool read_slot(const RingView& ring, std::uint8_t& slot);
  std::shared_ptr<RingSlot> return_slot_at_end(cl_event event, std::uint32_t& word);
  void finish_enqueue_slice(const wire::Command& command, const Enqueue& to, cl_event event, Pending pending,
                            EventReference& first);
  void fail_after_slices(const wire::Command& command, const Enqueue& to, cl_int error, bool is_read,
                         std::uint64_t bytes);
  void write_through_ring(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                          const CopySlice& copy);
  void read_through_ring(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                         const CopySlice& copy);
  void return_ring_slots(const wire::Command& command);

  template <typename Call>
  void read(const wire::Command& command, const Enqueue& to, std::uint64_t size, std::uint64_t step,
            Call call);
  template <typename Call>
  void write(const wire::Command& command, const Enqueue& to, std::uint64_t size, std::uint64_t step,
             Call call);
  using Build = std::function<cl_int(std::string& problem)>;
  void build(const wire::Command& command, std::uint64_t program, Build work);
  std::optional<IncludedFiles> included_files(const wire::Command& command, const wire::Included* included);
  void describe_program(flatbuffers::FlatBufferBuilder& builder, Infos& infos, cl_program program,
                        const std::string& problem) const;
  void describe_kernel(flatbuffers::FlatBufferBuilder& builder, Infos& infos, cl_kernel kernel) const;
  [[nodiscard]] std::shared_ptr<Arguments> arguments_of(cl_kernel kernel) const;
  void answer_binaries(const wire::Command& command, cl_program program);
  [[nodiscard]] InfoResult ask(const wire::Query& query);
  [[nodiscard]] InfoResult default_device_queue(cl_command_queue queue) const;
  [[nodiscard]] InfoResult build_info(cl_program program, cl_device_id device,
                                      cl_program_build_info param) const;
  void release(const Object& object);
  [[nodiscard]] bool is_svm(std::uint64_t address, std::uint64_t size) const;

#define CLEAVE_MESSAGE(name) void handle(const wire::Command& command, const wire::name& message);
#include "remote/server/session/messages.def"
#undef CLEAVE_MESSAGE

  const Table& cl_;
  FrameReader& input_;
  Outbox& outbox_;
  ObjectTable& objects_;
  const ClientLimits limits_;
  const SharedMemory* const shared_;
  Staging staging_;
  PendingReads reads_{cl_, outbox_};

  std::string violation_;
  bool disconnected_ = false;
  EventsFrame answers_;               // to be sent before the reading thread waits again
  std::uint64_t payload_left_ = 0;    // of the command that is carried out
  std::uint64_t commands_begun_ = 0;  // commands with a queue
  std::uint64_t checked_at_ = 0;      // of these, at all that had begun by then
  std::vector<std::shared_ptr<Queue>> unflushed_;
  unsigned frames_unflushed_ = 0;
  std::shared_ptr<Queue> polled_queue_;         // has to be told who looks after its last command
  bool ring_started_ = false;                   // the command that is carried out sees to its slots
  std::map<std::uint64_t, std::uint64_t> svm_;  // sizes by address
  std::map<std::uint64_t, cl_context> svm_contexts_;
  std::map<std::pair<cl_uint, cl_uint>, std::uint64_t> element_sizes_;  // by image format
  std::size_t queues_ = 0;
  std::vector<std::weak_ptr<Queue>> released_;  // queues that may have something under way
  // Outlives us in the destructors of memory objects.
  const std::shared_ptr<std::atomic<std::uint64_t>> memory_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<Duration::rep> busy_since_{0};
  std::atomic<std::uint64_t> commands_{0};
  BuildThreads builder_;  // ends before what its work uses
};

}  // namespace cleave::remote::server
