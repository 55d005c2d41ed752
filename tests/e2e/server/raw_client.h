// A client that says to a server whatever a test wants, true or not.
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

struct HelloWords {
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
  static constexpr std::chrono::seconds kPatience{20};

  explicit RawClient(const Endpoint& endpoint, const TlsFiles& tls = {}) {
    ConnectResult connected = connect_to(endpoint, tls, soon());
    problem = connected.problem;
    stream = std::move(connected.stream);
    if (stream) input = std::make_unique<FrameReader>(*stream, kPatience);
  }

  static Time soon() { return std::chrono::steady_clock::now() + kPatience; }

  // Bytes as they are.
  bool send_bytes(const void* data, std::size_t size) {
    iovec part{const_cast<void*>(data), size};
    return stream->write(std::span(&part, 1), kPatience);
  }

  bool say_hello(const HelloWords& words = {}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto token = builder.CreateString(words.token);
    const auto name = builder.CreateString("raw client");
    builder.Finish(wire::CreateHello(builder, words.version, words.oldest, words.features, words.order, token,
                                     name, words.heartbeat, words.query));
    return write_frame(*stream, FrameKind::hello, bytes_of(builder), {}, kPatience);
  }

  // With a descriptor beside its first byte.
  bool say_hello_with(int descriptor, std::uint64_t features) {
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

  // Its memory is the input's: valid until the next frame.
  const wire::Welcome* await_welcome() {
    FrameHeader header;
    if (input->next(header, soon()) != ReadStatus::data || header.kind != FrameKind::welcome) return nullptr;
    const auto* const welcome = verified_welcome(input->message());
    if (welcome == nullptr || welcome->refusal() != wire::Refusal::none) return welcome;
    platform = welcome->platforms()->Get(0)->id();
    device = welcome->platforms()->Get(0)->devices()->Get(0)->id();
    return welcome;
  }

  bool begin(const HelloWords& words = {}) {
    return say_hello(words) && await_welcome() != nullptr && device != 0;
  }

  // One command of the frame in the making, around a body that has been built with `builder`.
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
    const bool sent = write_frame(*stream, FrameKind::commands, bytes_of(builder), payloads, kPatience);
    builder.Clear();
    commands.clear();
    return sent;
  }

  struct Heard {
    std::map<std::uint32_t, int> answers;  // errors by request
    std::map<std::uint32_t, std::uint64_t> values;
    std::map<std::uint32_t, std::vector<std::byte>> data;
    std::map<std::uint64_t, int> completions;  // states by event
    std::vector<int> failures;
    std::string goodbye;
    std::string output;
    std::uint64_t commands_ended = 0;
    std::uint64_t bytes_ended = 0;
    bool gone = false;
  };
  Heard heard;

  // Reads on until `enough` or the end of the connection or of our patience.
  template <typename Enough>
  bool listen_until(Enough enough, std::chrono::milliseconds patience = kPatience) {
    const Time until = std::chrono::steady_clock::now() + patience;
    while (!enough()) {
      FrameHeader header;
      const ReadStatus got = input->next(header, until);
      if (got != ReadStatus::data) {
        heard.gone = got == ReadStatus::closed;
        return enough();
      }
      const auto* const events = verified_events(input->message(), header.payload);
      if (events == nullptr) return false;
      heard.commands_ended = events->commands_ended();
      heard.bytes_ended = events->bytes_ended();
      if (events->items() == nullptr) continue;
      for (const auto* const item : *events->items()) take(*item);
    }
    return true;
  }
  bool await_answer(std::uint32_t request) {
    return listen_until([&] { return heard.answers.count(request) > 0; });
  }
  bool await_completion(std::uint64_t event) {
    return listen_until([&] { return heard.completions.count(event) > 0; });
  }
  // Whether the server ends the connection.
  bool is_sent_away() {
    listen_until([&] { return heard.gone; });
    return heard.gone;
  }

  // The same, whatever it says before that.
  bool is_hung_up_on() {
    std::array<std::byte, 4096> buffer;
    std::size_t size = 0;
    const Time until = soon();
    ReadStatus got = ReadStatus::data;
    while (got == ReadStatus::data) got = stream->read(buffer, size, until);
    return got == ReadStatus::closed;
  }

  std::string problem;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<FrameReader> input;
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
        auto& data = heard.data[answer.request()];
        if (!payload.empty()) {
          data.resize(std::max(data.size(), answer.value() + payload.size()));
          std::memcpy(data.data() + answer.value(), payload.data(), payload.size());
        }
        if (answer.more()) return;
        heard.answers[answer.request()] = answer.error();
        heard.values[answer.request()] = answer.value();
        return;
      }
      case wire::Event::Completion:
        heard.completions[item.event_as_Completion()->event()] = item.event_as_Completion()->status();
        return;
      case wire::Event::Failure:
        heard.failures.push_back(item.event_as_Failure()->error());
        return;
      case wire::Event::Goodbye:
        heard.goodbye = item.event_as_Goodbye()->text()->str();
        return;
      case wire::Event::Output:
        heard.output.append(reinterpret_cast<const char*>(payload.data()), payload.size());
        return;
      default:
        return;
    }
  }
};

}  // namespace cleave::remote
