// A client that sends a server whatever a test wants, valid or not.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "base/opencl.h"
#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"
#include "remote/transport/connect.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/frames.h"

namespace cleave::remote {

// The ids that the tests' clients choose.
constexpr std::uint64_t kContext = 1;
constexpr std::uint64_t kQueue = 2;
constexpr std::uint64_t kBuffer = 3;

struct HelloFields {
  std::string token{};
  std::uint16_t version = kVersion;
  std::uint16_t oldest = kOldestVersion;
  wire::ByteOrder order = wire::ByteOrder::little;
  bool query = false;
  std::uint32_t heartbeat = 0;
  std::uint64_t features = 0;
};

class RawClient {
 public:
  static constexpr std::chrono::seconds kTimeout{60};

  explicit RawClient(const Endpoint& endpoint, const TlsFiles& tls = {}) {
    ConnectResult connected = connect_to(endpoint, tls, deadline());
    problem = connected.problem;
    stream = std::move(connected.stream);
    if (stream) input = std::make_unique<FrameReader>(*stream, kTimeout);
  }

  static Time deadline() { return std::chrono::steady_clock::now() + kTimeout; }

  // Raw bytes, in no frame.
  bool send_bytes(const void* data, std::size_t size) {
    iovec part{const_cast<void*>(data), size};
    return stream->write(std::span(&part, 1), kTimeout);
  }

  bool send_hello(const HelloFields& words = {}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto token = builder.CreateString(words.token);
    const auto name = builder.CreateString("raw client");
    builder.Finish(wire::CreateHello(builder, words.version, words.oldest, words.features, words.order, token,
                                     name, words.heartbeat, words.query));
    return write_frame(*stream, FrameKind::hello, bytes_of(builder), {}, kTimeout);
  }

  // With a descriptor attached to its first byte.
  bool send_hello_with_descriptor(int descriptor, std::uint64_t features) {
    flatbuffers::FlatBufferBuilder hello;
    const auto name = hello.CreateString("sharing");
    hello.Finish(wire::CreateHello(hello, kVersion, kOldestVersion, features, wire::ByteOrder::little, 0,
                                   name, 0, false));
    const auto header = encode({FrameKind::hello, hello.GetSize(), 0});
    std::vector<std::byte> all(header.begin(), header.end());
    const auto message = bytes_of(hello);
    all.insert(all.end(), message.begin(), message.end());
    return send_with_descriptor(stream->descriptor(), all, descriptor);
  }

  // Valid until the next frame is read.
  const wire::Welcome* await_welcome() {
    FrameHeader header;
    if (input->next(header, deadline()) != ReadStatus::data || header.kind != FrameKind::welcome)
      return nullptr;
    const auto* const welcome = verified_welcome(input->message());
    if (welcome == nullptr || welcome->refusal() != wire::Refusal::none) return welcome;
    most_memory = welcome->most_memory();
    platform = welcome->platforms()->Get(0)->id();
    device = welcome->platforms()->Get(0)->devices()->Get(0)->id();
    return welcome;
  }

  // Empty: there is no Welcome.
  std::optional<wire::Refusal> await_refusal() {
    const auto* const welcome = await_welcome();
    return welcome == nullptr ? std::nullopt : std::optional(welcome->refusal());
  }

  // The Welcome after a Hello.
  const wire::Welcome* greet(const HelloFields& words = {}) {
    return send_hello(words) ? await_welcome() : nullptr;
  }
  std::optional<wire::Refusal> refusal(const HelloFields& words = {}) {
    return send_hello(words) ? await_refusal() : std::nullopt;
  }
  bool begin(const HelloFields& words = {}) { return greet(words) != nullptr && device != 0; }

  // A context, a queue and a buffer, without waiting for an answer. Not sent yet.
  void create_objects(std::uint64_t buffer_size, std::uint64_t queue_properties = 0) {
    create_context();
    add({}, wire::CreateCreateQueue(builder, kQueue, kContext, device,
                                    builder.CreateVector<std::uint64_t>({queue_properties}), true));
    add({}, wire::CreateCreateBuffer(builder, kBuffer, kContext, CL_MEM_READ_WRITE, buffer_size));
  }
  void create_context() {
    add({}, wire::CreateCreateContext(builder, kContext, builder.CreateVector<std::uint64_t>({device})));
  }
  void create_program(std::uint64_t program, std::string_view source) {
    add({.payload = source.size()}, wire::CreateCreateProgramWithSource(builder, program, kContext));
  }

  // Adds one command to the frame, around a body that has been built with `builder`.
  struct Options {
    std::uint32_t request = 0;
    std::uint64_t queue = 0;
    std::uint64_t event = 0;
    std::vector<std::uint64_t> waits{};
    std::uint64_t payload = 0;
    std::optional<wire::Shared> shared{};
    std::optional<wire::Ring> ring{};
    bool at_end = false;
    bool empty_list = false;
  };
  template <typename Table>
  void add(const Options& options, flatbuffers::Offset<Table> body) {
    const auto waits = builder.CreateVector(options.waits);
    wire::CommandBuilder command(builder);
    command.add_request(options.request);
    command.add_queue(options.queue);
    command.add_event(options.event);
    command.add_waits(waits);
    command.add_payload(options.payload);
    if (options.shared) command.add_shared(&*options.shared);
    if (options.ring) command.add_ring(&*options.ring);
    command.add_at_end(options.at_end);
    command.add_empty_list(options.empty_list);
    command.add_body_type(wire::BodyTraits<Table>::enum_value);
    command.add_body(body.Union());
    commands.push_back(command.Finish());
  }

  // Sends what has been added.
  bool send(const std::vector<std::span<const std::byte>>& payloads = {}) {
    builder.Finish(wire::CreateCommands(builder, builder.CreateVector(commands)));
    const bool sent = write_frame(*stream, FrameKind::commands, bytes_of(builder), payloads, kTimeout);
    builder.Clear();
    commands.clear();
    return sent;
  }

  struct Received {
    std::map<std::uint32_t, int> answers;  // errors by request
    std::map<std::uint32_t, std::uint64_t> values;
    std::map<std::uint32_t, std::vector<std::byte>> data;
    std::map<std::uint32_t, std::string> texts;  // of queries
    std::map<std::uint64_t, int> completions;    // states by event
    std::vector<int> failures;
    std::string goodbye;
    std::string output;
    std::uint64_t commands_ended = 0;
    std::uint64_t bytes_ended = 0;
    bool gone = false;
  };
  Received received;

  // Reads on until `enough`, the end of the connection, or the timeout.
  template <typename Enough>
  bool receive_until(Enough enough, std::chrono::milliseconds timeout = kTimeout) {
    const Time until = std::chrono::steady_clock::now() + timeout;
    while (!enough()) {
      FrameHeader header;
      const ReadStatus got = input->next(header, until);
      if (got != ReadStatus::data) {
        received.gone = got == ReadStatus::closed;
        return enough();
      }
      const auto* const events = verified_events(input->message(), header.payload);
      if (events == nullptr) return false;
      received.commands_ended = events->commands_ended();
      received.bytes_ended = events->bytes_ended();
      if (events->items() == nullptr) continue;
      for (const auto* const item : *events->items()) take(*item);
    }
    return true;
  }
  bool await_answer(std::uint32_t request) {
    return receive_until([&] { return received.answers.count(request) > 0; });
  }
  // Waits for the answer. Empty: there is none.
  std::optional<int> error_of(std::uint32_t request) {
    return await_answer(request) ? std::optional(received.answers[request]) : std::nullopt;
  }
  // Reads the beginning of the buffer, and what has been added goes before that. The error of reading.
  std::optional<int> read(std::uint32_t request, std::uint64_t size = 64) {
    add({.request = request, .queue = kQueue}, wire::CreateReadBuffer(builder, kBuffer, 0, size));
    send();
    return error_of(request);
  }
  bool await_completion(std::uint64_t event) {
    return receive_until([&] { return received.completions.count(event) > 0; });
  }
  // Whether the server ends the connection; what it sends before that must be valid events.
  bool is_disconnected() {
    receive_until([&] { return received.gone; });
    return received.gone;
  }

  // Sends what has been added. Whether the server then ends the connection, and says why.
  bool is_rejected(const std::vector<std::span<const std::byte>>& payloads = {}) {
    send(payloads);
    return is_disconnected() && !received.goodbye.empty();
  }

  // As is_disconnected(), whatever bytes it sends before that.
  bool connection_closes() {
    std::array<std::byte, 4096> buffer;
    std::size_t size = 0;
    const Time until = deadline();
    ReadStatus got = ReadStatus::data;
    while (got == ReadStatus::data) got = stream->read(buffer, size, until);
    return got == ReadStatus::closed;
  }

  std::string problem;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<FrameReader> input;
  std::uint64_t most_memory = 0;
  std::uint64_t platform = 0;
  std::uint64_t device = 0;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Command>> commands;

 private:
  static std::span<const std::byte> bytes_of(flatbuffers::FlatBufferBuilder& builder) {
    return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  }

  void take(const wire::Item& item) {
    std::vector<std::byte> payload(item.payload());
    input->read_payload(payload);
    switch (item.event_type()) {
      case wire::Event::Answer: {
        const auto& answer = *item.event_as_Answer();
        auto& data = received.data[answer.request()];
        if (!payload.empty()) {
          data.resize(std::max(data.size(), answer.value() + payload.size()));
          std::memcpy(data.data() + answer.value(), payload.data(), payload.size());
        }
        if (answer.more()) return;
        received.answers[answer.request()] = answer.error();
        received.values[answer.request()] = answer.value();
        if (answer.bytes() != nullptr)
          received.texts[answer.request()].assign(answer.bytes()->begin(), answer.bytes()->end());
        return;
      }
      case wire::Event::Completion:
        received.completions[item.event_as_Completion()->event()] = item.event_as_Completion()->status();
        return;
      case wire::Event::Failure:
        received.failures.push_back(item.event_as_Failure()->error());
        return;
      case wire::Event::Goodbye:
        received.goodbye = item.event_as_Goodbye()->text()->str();
        return;
      case wire::Event::Output:
        received.output.append(reinterpret_cast<const char*>(payload.data()), payload.size());
        return;
      default:
        return;
    }
  }
};

}  // namespace cleave::remote
