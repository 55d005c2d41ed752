// What the handlers of a client's messages work on: the driver, the client's objects and limits, its connection, and
// what is in flight. The session (worker/client_session.h) owns one and calls a handler (handlers/handlers.h) for each command.
//
// Everything here is for the thread that reads from the client, which never waits for the device: commands end on the
// queues' threads (queues/queue.h), builds on the build threads. Those threads use only the members that are thread-safe:
// the objects, the outbox, the staging memory, the pending reads.
//
// Nothing that the client sends is trusted: ids are looked up, sizes are held against limits and against the memory that
// they refer to, and the driver's handles never leave the process. A message that a correct client would not send is a
// violation, which ends the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/opencl.h"
#include "remote/protocol/messages.h"
#include "remote/protocol/numbers.h"
#include "remote/server/builds/build_threads.h"
#include "remote/server/builds/build_trials.h"
#include "remote/server/memory/pinned_memory.h"
#include "remote/server/memory/pinned_reads.h"
#include "remote/server/memory/shared_memory.h"
#include "remote/server/memory/staging.h"
#include "remote/server/options/limits.h"
#include "remote/server/peers/peer_transfers.h"
#include "remote/server/queues/pending_reads.h"
#include "remote/server/queues/queue.h"
#include "remote/server/sending/events_frame.h"
#include "remote/server/sending/outbox.h"
#include "remote/server/session/memory_account.h"
#include "remote/server/session/object_table.h"
#include "remote/server/session/process_growth.h"
#include "remote/server/session/program_state.h"
#include "remote/server/session/svm_blocks.h"
#include "remote/transport/brief_spin.h"
#include "remote/transport/frames.h"

namespace cleave::remote::server {

using FrameCommands = flatbuffers::Vector<flatbuffers::Offset<wire::Command>>;

struct SessionContext {
  // `driver`: the table without the splitter, for objects that are not the client's.
  SessionContext(const Table& table, const Table& driver, FrameReader& reader, Outbox& out,
                 ObjectTable& table_of_objects, const ClientLimits& client_limits,
                 const SharedMemory* shared_memory, BuildTrials* build_trials,
                 PeerTransfers::ToFront to_front)
      : cl(table),
        input(reader),
        outbox(out),
        objects(table_of_objects),
        limits(client_limits),
        shared(shared_memory),
        pinned(driver, shared_memory),
        pinned_reads(driver),
        trials(build_trials),
        staging(client_limits.staging),
        memory(client_limits.memory),
        peers(out, staging, std::move(to_front), client_limits.peer_silence) {}
  SessionContext(const SessionContext&) = delete;
  SessionContext& operator=(const SessionContext&) = delete;

  // Answers a command that does not go to a queue: with an Answer if one was requested, else an error with a Failure.
  // `object` is the id of what was to be created, or of what the message is about.
  void reply(const wire::Command& command, std::uint64_t object, cl_int error);

  // Registers a created object under the client's id, and replies.
  void register_created(const wire::Command& command, std::uint64_t id, Object object, cl_int error);

  // Registers an object. False: the id is not the client's to choose, which is a violation.
  bool register_object(std::uint64_t id, Object object);

  // Whether the client may create one more object, under this id. False: a violation has been reported.
  [[nodiscard]] bool check_new_id(std::uint64_t id);
  // The same, and whether there is host memory for it. False: a violation has been reported, or the command has been answered.
  [[nodiscard]] bool may_create(const wire::Command& command, std::uint64_t id);
  // Whether the client's objects, or its process, take all the host memory that they may.
  [[nodiscard]] bool is_full();
  // Whether there is host memory for a command that keeps so much of it until it ends. Waits like reserve_memory() if commands have
  // ended since that was not so.
  [[nodiscard]] bool has_room(std::uint64_t more);

  // Ends the session after this command. The first violation is the one that is logged.
  void report_violation(const char* what) {
    if (violation.empty()) violation = what;
  }

  // Reads the next part of the current command's payload. False: the connection is gone, or the payload is too short.
  bool read_payload(std::span<std::byte> into);

  // The devices of these ids; empty if one of them does not exist, or they are more than any machine has. A device may be listed
  // several times, and drivers keep the list with what is made for it.
  static constexpr std::size_t kMostListedDevices = 1024;
  std::optional<std::vector<cl_device_id>> devices_of(const flatbuffers::Vector<std::uint64_t>* ids) const;

  // Null: there is no program of this id.
  [[nodiscard]] std::shared_ptr<ProgramState> program_state(std::uint64_t id) const;
  // The place of a device, or of the one that it is a part of, among those that are offered. Empty: it has none.
  [[nodiscard]] std::optional<DevicePlace> place_of(cl_device_id device) const;

  // The next command of the frame that has a queue, if it is one of the next `most`; else null.
  [[nodiscard]] const wire::Command* next_with_queue(unsigned most) const;

  // Has the next flush_queues() flush this queue.
  void flush_later(const std::shared_ptr<Queue>& queue) {
    if (unflushed.empty() || unflushed.back() != queue) unflushed.push_back(queue);
  }
  // Of a memory object. Waits for 0.1 s at most if there is not enough, but something has been released since that was so before.
  [[nodiscard]] cl_int reserve_memory(std::uint64_t size);

  // Flushes the driver's queues that have new commands.
  void flush_queues();

  // Bytes of host memory that objects and commands in flight take.
  [[nodiscard]] std::uint64_t overhead() const {
    return objects.overhead() + svm.count() * overhead_of(Kind::memory) + overhead_begun -
           outbox.overhead_ended();
  }

  // Has the reading thread look for the end of this queue's awaited commands when it has nothing else to do
  // (Queue::poll_awaited). Another queue that had been chosen is handed to its watcher thread.
  void poll_after_frame(const std::shared_ptr<Queue>& queue);
  void hand_to_watcher();

  const Table& cl;
  FrameReader& input;
  Outbox& outbox;
  ObjectTable& objects;
  const ClientLimits limits;
  const SharedMemory* const shared;  // null: the client shares no memory
  PinnedMemory pinned;               // of the shared memory
  PinnedReads pinned_reads;
  BuildTrials* const trials;  // null: builds are not tried
  Staging staging;
  PendingReads reads{cl, outbox};
  MemoryAccount memory;
  ProcessGrowth growth;
  SvmBlocks svm;

  const FrameCommands* frame = nullptr;      // the commands that are being executed
  flatbuffers::uoffset_t next_in_frame = 0;  // the place of the one behind the current one
  bool has_released_memory = false;          // since a reservation has failed
  std::string violation;                     // empty: none so far
  bool disconnected = false;
  EventsFrame answers;             // sent before the reading thread waits again
  std::uint64_t payload_left = 0;  // bytes of the current command's payload that have not been read
  bool ring_started = false;       // the current command's handler returns its ring slots itself
  std::vector<std::shared_ptr<Queue>> unflushed;
  unsigned frames_unflushed = 0;  // since the last flush
  std::shared_ptr<Queue> polled_queue;
  BriefSpin slice_spin{std::chrono::microseconds(200)};  // for the end of a ring's slice
  std::uint64_t overhead_begun =
      0;  // of commands that the driver has accepted (Pending::overhead), ended ones too
  std::uint64_t ended_at_refusal = 0;  // of these, when there was last no room
  std::size_t queue_count = 0;
  std::vector<std::weak_ptr<Queue>> released_queues;                   // may still have commands in flight
  std::map<std::pair<cl_uint, cl_uint>, std::uint64_t> element_sizes;  // by image channel order and data type
  PeerTransfers peers;  // from and to other servers; may be under way, too
  BuildThreads builds;  // last: joined before what builds use is destroyed
};

}  // namespace cleave::remote::server
