#include "mock_connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "../harness.h"
#include "remote/protocol/verify.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::fuzz::answers {
namespace {

using remote::FrameKind;
using remote::ReadStatus;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals

// A client that sends nothing for so long waits for a missing answer.
constexpr auto kIdleTimeout = 2ms;
// A client of a correct server that sends nothing for so long hangs.
constexpr auto kHangTimeout = 30s;
// A command that stops half-way waits for slots of a ring that are not returned.
constexpr auto kSlotTimeout = 200ms;
constexpr unsigned kMaxWindowUpdates = 3;

std::vector<std::uint64_t> aligned(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint64_t> copy((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

// If the field is present.
template <typename Value, typename Table>
void set(const Table* table, flatbuffers::voffset_t field, Value value) {
  auto* const plain = reinterpret_cast<flatbuffers::Table*>(const_cast<Table*>(table));
  plain->SetField<Value>(field, value);
}

// Replaces numbers and ids by the command's.
void patch(const wire::Events& events, const wire::Command& command) {
  if (events.items() == nullptr) return;
  for (const wire::Item* const item : *events.items()) {
    if (const auto* answer = item->event_as_Answer()) {
      set(answer, wire::Answer::VT_REQUEST, command.request());
    } else if (const auto* completion = item->event_as_Completion()) {
      set(completion, wire::Completion::VT_EVENT, command.event());
    } else if (const auto* status = item->event_as_EventStatus()) {
      set(status, wire::EventStatus::VT_EVENT, command.event());
    } else if (const auto* failure = item->event_as_Failure()) {
      set(failure, wire::Failure::VT_QUEUE, command.queue());
    }
  }
}

const wire::Events* events_in(std::vector<std::uint64_t>& copy, std::size_t size, std::uint64_t payload) {
  return remote::verified_events(std::as_bytes(std::span(copy)).first(size), payload);
}

void edit(std::vector<std::uint8_t>& message, std::span<const std::uint8_t> changes) {
  for (; changes.size() >= 3 && !message.empty(); changes = changes.subspan(3)) {
    message[(changes[0] + 256U * changes[1]) % message.size()] = changes[2];
  }
}

FrameKind kind_of(const Fault& fault) {
  return fault.frame == 1 ? FrameKind::welcome : fault.frame == 2 ? FrameKind::commands : FrameKind::events;
}

}  // namespace

MockConnection::MockConnection(int socket, ScriptProgress& progress)
    : socket_(socket), progress_(progress), mock_server_(progress.number) {}

MockConnection::~MockConnection() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  if (stream_ == nullptr) ::close(socket_);
}

void MockConnection::run() {
  if (!greet()) return;
  const bool good = progress_.script.is_good();
  const auto patience = good ? remote::Duration(kHangTimeout) : remote::Duration(kIdleTimeout);
  auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    remote::FrameHeader header;
    const auto taken = commands_;
    switch (input_->next(header, until)) {
      case ReadStatus::data:
        if (!take_frame(header)) return;
        // A client that waits for ever sends heartbeats for ever.
        if (commands_ != taken) until = std::chrono::steady_clock::now() + patience;
        break;
      case ReadStatus::timeout:
        require(!good, "no call waits for a server that has sent everything");
        if (!on_idle()) return;
        until = std::chrono::steady_clock::now() + patience;
        break;
      case ReadStatus::closed:
        return;
    }
  }
}

bool MockConnection::greet() {
  alignas(8) std::array<std::byte, 4096> bytes;
  int memory = -1;
  const long got = remote::receive_with_descriptor(socket_, bytes, memory, 0);
  if (memory >= 0) {
    struct stat status {};
    require(::fstat(memory, &status) == 0, "what the client shares is memory");
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    ::close(memory);
    require(data != MAP_FAILED, "and can be mapped");
    memory_ = {static_cast<std::byte*>(data), size};
  }
  if (got < static_cast<long>(remote::kHeaderSize)) return false;
  const std::span hello =
      std::span(bytes).subspan(remote::kHeaderSize, static_cast<std::size_t>(got) - remote::kHeaderSize);
  require(remote::verified_hello(hello) != nullptr, "the client's Hello can be read");
  stream_ = remote::make_socket_stream(socket_);
  input_ = std::make_unique<remote::FrameReader>(
      *stream_, progress_.script.is_good() ? remote::Duration(kHangTimeout) : remote::Duration(kSlotTimeout));
  MockFrame frame = welcome(progress_.script.features);
  const bool odd = progress_.script.welcome && progress_.number == 0 && !progress_.faults.empty();
  if (!odd) return send(frame, FrameKind::welcome);
  const Fault& fault = progress_.faults.front();
  progress_.next = std::max<std::size_t>(progress_.next, 1);
  if (fault.kind == Fault::Kind::edit) {
    edit(frame.message, fault.bytes);
  } else {
    frame.message = fault.bytes;
  }
  const auto copy = aligned(frame.message);
  const auto* const read =
      remote::verified_welcome(std::as_bytes(std::span(copy)).first(frame.message.size()));
  constexpr std::uint64_t kWideBytes = 32U << 20U;
  windows_small_ = windows_unknown_ =
      read == nullptr || read->window_commands() < 512 || read->window_bytes() < kWideBytes;
  return send(frame, FrameKind::welcome);
}

bool MockConnection::take_frame(const remote::FrameHeader& header) {
  require(header.kind == FrameKind::commands, "the client sends commands");
  // The next message replaces this one.
  const std::span<const std::byte> read = input_->message();
  std::vector<std::uint64_t> message((read.size() + 7) / 8);
  std::memcpy(message.data(), read.data(), read.size());
  const auto bytes = std::as_bytes(std::span(message)).first(read.size());
  const wire::Commands* const commands = remote::verified_commands(bytes, header.payload);
  require(commands != nullptr, "what the client says can be read");
  for (const wire::Command* const command : *commands->commands()) {
    if (!take(*command)) return false;
  }
  return true;
}

bool MockConnection::take(const wire::Command& command) {
  if (command.ring() != nullptr) {
    if (!carry(command)) return false;
  } else if (!input_->skip_payload(command.payload())) {
    return false;
  }
  if (command.shared() != nullptr && command.ring() == nullptr)
    std::memset(shared(command.shared()->offset(), command.shared()->size()).data(), kData,
                command.shared()->size());
  if (command.queue() != 0) {
    ++totals_.commands;
    totals_.bytes += command.payload();
  }
  if (const auto* watched = command.body_as_WatchDestruction()) mock_server_.watch(watched->object());
  if (const auto* ping = command.body_as_Ping()) return send(pong(ping->number(), totals_));
  ++commands_;
  if (const auto* release = command.body_as_Release(); release != nullptr && release->ids() != nullptr)
    return send(mock_server_.gone(*release, totals_));
  return (command.request() == 0 && command.event() == 0) || answer(command);
}

bool MockConnection::answer(const wire::Command& command) {
  pending_ = {command.request(), command.event()};
  if (command.body_type() == wire::Body::CreateUserEvent) pending_.event = 0;
  if (command.request() != 0 && command.shared() == nullptr) totals_.bytes += bytes_of_read(command);
  if (progress_.next == progress_.faults.size() ||
      progress_.answered++ < progress_.faults[progress_.next].after)
    return send(mock_server_.reply(command, pending_.request != 0, pending_.event != 0, totals_));
  progress_.answered = 0;
  return act(progress_.faults[progress_.next++], command);
}

bool MockConnection::act(const Fault& fault, const wire::Command& command) {
  const auto good = [&] {
    return mock_server_.reply(command, pending_.request != 0, pending_.event != 0, totals_);
  };
  const auto odd = [&](std::vector<std::uint8_t> message, std::uint64_t payload) {
    auto copy = aligned(message);
    const auto* const events = events_in(copy, message.size(), payload);
    if (events != nullptr && fault.patched) {
      patch(*events, command);
      std::memcpy(message.data(), copy.data(), message.size());
    }
    note(message, payload);
    return send_faulty(fault, std::move(message), payload);
  };
  switch (fault.kind) {
    case Fault::Kind::insert:
      return odd(fault.bytes, fault.payload) &&
             (pending_.request == 0 && pending_.event == 0 ? true : send(good()));
    case Fault::Kind::replace:
      return odd(fault.bytes, fault.payload) && defer_answer(command);
    case Fault::Kind::edit: {
      MockFrame frame = good();
      edit(frame.message, fault.bytes);
      const auto changed =
          static_cast<std::int64_t>(frame.payload) + static_cast<std::int16_t>(fault.payload);
      return odd(frame.message, static_cast<std::uint64_t>(std::max<std::int64_t>(changed, 0))) &&
             defer_answer(command);
    }
    case Fault::Kind::withhold:
      return defer_answer(command);
    case Fault::Kind::raw: {
      broken_ = true;
      std::vector<std::uint8_t> bytes = fault.bytes;
      iovec part{bytes.data(), bytes.size()};
      return stream_->write(std::span(&part, 1), kHangTimeout);
    }
    case Fault::Kind::leave:
      return false;
    case Fault::Kind::twice:
      return send(good()) && send(good());
    case Fault::Kind::overwrite_shared_memory:
      if (!memory_.empty()) {
        constexpr std::size_t kBeginning = 4096;
        std::memset(memory_.data(), fault.bytes.empty() ? 0 : fault.bytes[0], kBeginning);
      }
      return send(good());
  }
  return false;
}

// Sends what has been held back.
bool MockConnection::defer_answer(const wire::Command& command) {
  if (pending_.request != 0 || pending_.event != 0)
    late_.push_back(mock_server_.reply(command, pending_.request != 0, pending_.event != 0, totals_));
  return true;
}

// Records what these events report about the current command.
void MockConnection::note(std::span<const std::uint8_t> message, std::uint64_t payload) {
  auto copy = aligned(message);
  const wire::Events* const events = events_in(copy, message.size(), payload);
  if (events == nullptr) return;  // the client ends the connection
  windows_unknown_ = events->commands_ended() != totals_.commands || events->bytes_ended() != totals_.bytes;
  if (events->items() == nullptr) return;
  for (const wire::Item* const item : *events->items()) {
    const auto* const answer = item->event_as_Answer();
    if (answer != nullptr && answer->request() == pending_.request && !answer->more()) pending_.request = 0;
    const auto* const completion = item->event_as_Completion();
    if (completion != nullptr && completion->event() == pending_.event) pending_.event = 0;
  }
}

bool MockConnection::send(const MockFrame& frame, FrameKind kind) {
  const std::vector<std::byte> payload(frame.payload, std::byte{kData});
  const std::array<std::span<const std::byte>, 1> payloads{std::span(payload)};
  return remote::write_frame(*stream_, kind, std::as_bytes(std::span(frame.message)), payloads, kHangTimeout);
}

bool MockConnection::send_faulty(const Fault& fault, std::vector<std::uint8_t> message,
                                 std::uint64_t payload) {
  if (message.empty()) message.push_back(0);
  if (fault.frame != 3) return send({std::move(message), payload}, kind_of(fault));
  broken_ = true;
  const auto header =
      remote::encode({FrameKind::events, static_cast<std::uint32_t>(message.size()), payload + 1});
  std::array<iovec, 2> parts{
      {{const_cast<std::byte*>(header.data()), header.size()}, {message.data(), message.size()}}};
  return stream_->write(parts, kHangTimeout);
}

// The client waits for a missing answer, or for ever. False: the connection has to end.
bool MockConnection::on_idle() {
  if (broken_) return false;
  if (!late_.empty()) {
    const MockFrame frame = std::move(late_.front());
    late_.pop_front();
    return progress_.script.late && send(frame);
  }
  if (!windows_unknown_) return true;
  windows_unknown_ = windows_small_;
  return ++window_updates_ <= kMaxWindowUpdates && send(empty_events(totals_));
}

}  // namespace cleave::fuzz::answers
