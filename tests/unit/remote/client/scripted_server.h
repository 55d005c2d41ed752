// A server under the test's control, and a client's connection to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "daemon/listening_socket.h"
#include "remote/client/link/connection.h"
#include "remote/client/link/wire_types.h"
#include "remote/protocol/features.h"
#include "remote/protocol/limits.h"
#include "remote/transport/endpoint.h"
#include "remote/transport/frames.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::client {

// A server that hangs counts as lost after this time; a wait without success ends earlier.
inline constexpr std::chrono::seconds kTimeout{30};
inline constexpr std::chrono::seconds kLong{20};

struct Setup {
  bool is_query = true;
  std::string session =
      {};  // of the server's trace; empty: it has none, or is of a version that knows of none
  std::chrono::milliseconds timeout{kTimeout};  // of the client
  std::uint32_t heartbeat = 1000;               // of the server, ms
  std::uint64_t features = 0;                   // of the server
};

// It reads and sends only what the test requests.
class ScriptedServer {
 public:
  explicit ScriptedServer(const Setup& setup = {}) {
    const auto endpoint = read_endpoint("unix:" + folder_.file("socket"));
    daemon::ListeningSocket listener = daemon::listen_on(endpoint->address, {});
    const int listening = listener.socket.get();
    base::RemoteSettings settings;
    settings.timeout = setup.timeout;
    auto opened = std::async(std::launch::async, [&] {
      std::string problem;
      return Connection::open(as_text(*endpoint), settings, setup.is_query,
                              std::chrono::steady_clock::now() + kLong, problem);
    });
    EXPECT_TRUE(wait_for(listening, POLLIN, std::chrono::steady_clock::now() + kLong));
    stream_ = make_socket_stream(::accept(listening, nullptr, nullptr));
    listener = {};
    input_ = std::make_unique<FrameReader>(*stream_, kTimeout);
    FrameHeader header;
    EXPECT_EQ(input_->next(header, std::chrono::steady_clock::now() + kLong), ReadStatus::data);
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("server");
    const auto trace_session = builder.CreateString(setup.session);
    wire::WelcomeBuilder welcome(builder);
    welcome.add_name(name);
    if (!setup.session.empty()) welcome.add_trace_session(trace_session);
    welcome.add_version(kVersion);
    welcome.add_window_commands(1U << 20U);
    welcome.add_window_bytes(std::uint64_t{1} << 30U);
    welcome.add_heartbeat(setup.heartbeat);
    welcome.add_features(setup.features);
    builder.Finish(welcome.Finish());
    EXPECT_TRUE(send(FrameKind::welcome, builder));
    connection_ = opened.get();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() { stream_->shutdown(); }

  [[nodiscard]] Connection& client() const { return *connection_; }

  // That this memory object is gone, and so many bytes that mean nothing.
  bool say_gone(Id memory, std::size_t bytes = 0) {
    flatbuffers::FlatBufferBuilder builder;
    const auto gone = wire::CreateMemoryReleased(builder, memory);
    const std::vector<flatbuffers::Offset<wire::Item>> items{
        wire::CreateItem(builder, bytes, wire::Event::MemoryReleased, gone.Union())};
    builder.Finish(wire::CreateEvents(builder, builder.CreateVector(items), 0, 0));
    return send(FrameKind::events, builder, bytes);
  }

  // Returns when the client has sent something and sends no more, or cannot.
  void await_silence() const {
    for (int before = -1, now = 0; now == 0 || now != before;
         std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      before = now;
      ::ioctl(stream_->descriptor(), FIONREAD, &now);
    }
  }

  // The number of the client's next Ping, which is the first of its message. Empty: none comes.
  std::optional<std::uint64_t> next_ping() {
    FrameHeader header;
    if (input_->next(header, std::chrono::steady_clock::now() + kLong) != ReadStatus::data)
      return std::nullopt;
    const wire::Command* const first =
        flatbuffers::GetRoot<wire::Commands>(input_->message().data())->commands()->Get(0);
    if (first->body_type() != wire::Body::Ping) return std::nullopt;
    return first->body_as_Ping()->number();
  }

  // Calls see() with each of the client's commands, in one frame or several, until it returns false.
  template <typename See>
  void see_commands(See see) {
    FrameHeader header;
    for (bool wants_more = true; wants_more;) {
      ASSERT_EQ(input_->next(header, std::chrono::steady_clock::now() + kLong), ReadStatus::data);
      EXPECT_EQ(header.payload, 0U);
      for (const wire::Command* const one :
           *flatbuffers::GetRoot<wire::Commands>(input_->message().data())->commands())
        wants_more = see(*one);
    }
  }

  bool answer(std::uint64_t number, std::uint64_t time) {
    flatbuffers::FlatBufferBuilder builder;
    const auto pong = wire::CreatePong(builder, number, time);
    const std::vector<flatbuffers::Offset<wire::Item>> items{
        wire::CreateItem(builder, 0, wire::Event::Pong, pong.Union())};
    builder.Finish(wire::CreateEvents(builder, builder.CreateVector(items), 0, 0));
    return send(FrameKind::events, builder);
  }

  // Everything, until the client's `last` command has come.
  bool read_until(wire::Body last) {
    FrameHeader header;
    while (input_->next(header, std::chrono::steady_clock::now() + kLong) == ReadStatus::data) {
      const auto* const commands = flatbuffers::GetRoot<wire::Commands>(input_->message().data())->commands();
      const bool is_last = commands->Get(commands->size() - 1)->body_type() == last;
      if (!input_->skip_payload(header.payload)) return false;
      if (is_last) return true;
    }
    return false;
  }

  // The offsets of all WriteBuffer commands until a FlushQueue comes. Each one's data is to be bytes of its offset's value.
  std::vector<std::uint64_t> written_offsets() {
    std::vector<std::uint64_t> offsets;
    FrameHeader header;
    while (input_->next(header, std::chrono::steady_clock::now() + kLong) == ReadStatus::data) {
      for (const auto* const command :
           *flatbuffers::GetRoot<wire::Commands>(input_->message().data())->commands()) {
        if (command->body_type() == wire::Body::FlushQueue) return offsets;
        if (command->body_type() != wire::Body::WriteBuffer) continue;
        offsets.push_back(command->body_as_WriteBuffer()->offset());
        std::vector<std::byte> data(command->payload());
        if (!input_->read_payload(data)) return {};
        const auto expected = static_cast<std::byte>(offsets.back());
        if (std::any_of(data.begin(), data.end(), [&](std::byte each) { return each != expected; }))
          ADD_FAILURE() << "other data for offset " << offsets.back();
      }
    }
    return {};
  }
  void end() { stream_->shutdown(); }

 private:
  bool send(FrameKind kind, const flatbuffers::FlatBufferBuilder& builder, std::size_t bytes = 0) {
    const std::vector<std::byte> nothing(bytes);
    const std::vector<std::span<const std::byte>> payloads{nothing};
    return write_frame(*stream_, kind,
                       std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), payloads,
                       kTimeout);
  }

  const kit::TemporaryFolder folder_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<FrameReader> input_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace cleave::remote::client
