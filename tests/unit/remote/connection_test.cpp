// Which thread reads a connection, which thread incoming data wakes, and what happens while the server reads nothing: a client's
// connection to a server under the test's control.
#include "remote/client/link/connection.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <numeric>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/no_destructor.h"
#include "daemon/listening_socket.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/link/wire_types.h"
#include "remote/protocol/features.h"
#include "remote/protocol/limits.h"
#include "remote/transport/endpoint.h"
#include "remote/transport/frames.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A server that hangs counts as lost after this time; a wait without success ends earlier.
constexpr seconds kTimeout{30};
constexpr seconds kLong{20};

struct Setup {
  bool is_query = true;
  std::string session =
      {};  // of the server's trace; empty: it has none, or is of a version that knows of none
  milliseconds timeout{kTimeout};  // of the client
  std::uint32_t heartbeat = 1000;  // of the server, ms
  std::uint64_t features = 0;      // of the server
};

// The trace of this process's connections.
struct Trace {
  kit::TemporaryFolder folder;
  base::NoDestructor<base::ForkLocks> forks;
  base::NoDestructor<CallTrace> calls{folder.file("trace"), *forks};

  Trace() { call_trace = &*calls; }
  // What is in it.
  std::string text() {
    calls->end();
    return kit::file_contents(folder.file("trace.remote"));
  }
  static Trace& made() {
    static Trace trace;
    return trace;
  }
};

// It reads and sends only what the test asks for.
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
         std::this_thread::sleep_for(milliseconds(100))) {
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

// One thread reads. What another one waits for comes after that has looked for it, and before it sleeps.
TEST(Connection, DataArrivingBeforeTheSleepWakesTheReader) {
  ScriptedServer server;
  std::atomic<bool> has_come{false};
  server.client().on_memory_released(1, [&] { has_come = true; });
  std::atomic<unsigned> looks{0};
  std::atomic<bool> over{false};
  std::thread reader([&] { server.client().wait([&] { return ++looks, over.load(); }); });
  while (looks < 3) std::this_thread::yield();  // the last one before it reads

  auto sleeper = std::async(std::launch::async, [&] {
    unsigned number = 0;
    server.client().wait([&] {
      if (has_come || ++number != 2) return has_come.load();  // the second is the one within the wait
      const unsigned before = looks;
      EXPECT_TRUE(server.say_gone(1));
      while (looks == before) std::this_thread::yield();  // the reader has seen it, and goes on
      return false;                                       // which is what this one saw
    });
  });
  EXPECT_EQ(sleeper.wait_for(kLong), std::future_status::ready);

  over = true;
  EXPECT_TRUE(server.say_gone(2));
  reader.join();
}

TEST(Connection, ServerOfAnOlderVersionIsSentNoExchanges) {
  Trace& trace = Trace::made();
  ScriptedServer server({.is_query = false, .timeout = milliseconds(200), .heartbeat = 60'000});
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(server.next_ping(), 0U) << "a heartbeat";
  EXPECT_TRUE(server.client().alive());
  EXPECT_THAT(trace.text(), testing::HasSubstr(R"("name":"cleave_untraced","args":{"server":"server"})"));
}

TEST(Connection, ClocksAreComparedWithAServerThatTraces) {
  Trace& trace = Trace::made();
  ScriptedServer server({.is_query = false, .session = "S1\"x", .heartbeat = 60'000});
  std::string text;
  // Of an exchange whose answer is late, the next Ping begins another one.
  for (unsigned i = 0; i < 100 && text.find("\"server_ns\":5000,") == std::string::npos; ++i) {
    const auto number = server.next_ping();
    ASSERT_TRUE(number && *number != 0);
    EXPECT_TRUE(server.answer(*number + 1, 10)) << "is no answer";
    EXPECT_TRUE(server.answer(*number, 5000));
    text = trace.text();
  }
  EXPECT_THAT(text, testing::HasSubstr(R"("session":"S1x","role":"client")"));
  EXPECT_THAT(text, testing::HasSubstr("\"server_ns\":5000,"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\"server_ns\":10,")));
}

// Enqueues the write of a map of this size in a region, or says that there is none.
bool write_in_region(Connection& client, std::size_t size) {
  const auto region = client.take_region(size);
  if (region == nullptr) return false;
  const Box box = Box::contiguous(region->data() + 4096, size - 4096);
  EXPECT_EQ(client.post_in_region({.queue = 1, .event = 2}, box, region,
                                  [&](auto& b) { return wire::CreateWriteBuffer(b, 3, 4096, box.bytes()); }),
            CL_SUCCESS);
  client.flush();
  return true;
}

constexpr std::uint64_t kShares = bit(Feature::shared_memory);
constexpr std::size_t kMapped = std::size_t{3} << 20U;

TEST(Connection, RegionsAreAnnouncedAndNamedByWrites) {
  ScriptedServer server(
      {.is_query = false, .heartbeat = 60'000, .features = kShares | bit(Feature::kept_shared)});
  ASSERT_TRUE(write_in_region(server.client(), kMapped));
  std::uint64_t kept_at = 0;
  server.see_commands([&](const wire::Command& command) {
    if (const auto* const kept = command.body_as_KeepShared()) {
      EXPECT_TRUE(kept->kept());
      EXPECT_EQ(kept->size(), kMapped);
      kept_at = kept->offset();
      return true;
    }
    EXPECT_GE(kept_at, kKeptSharedMemory) << "it has been announced before";
    EXPECT_EQ(command.body_type(), wire::Body::WriteBuffer);
    EXPECT_EQ(command.payload(), 0U);
    EXPECT_TRUE(command.shared() != nullptr && command.shared()->offset() == kept_at + 4096 &&
                command.shared()->size() == kMapped - 4096);
    return false;
  });
  EXPECT_EQ(server.client().take_region(MapRegions::kMinSize - 1), nullptr);
}

// Bytes of the system's memory that this process's connections share with servers.
std::size_t shared_bytes() {
  std::size_t bytes = 0;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string target = std::filesystem::read_symlink(each.path(), error).string();
    struct stat status {};
    if (target.starts_with("/memfd:cleave-remote") && ::stat(each.path().c_str(), &status) == 0)
      bytes += static_cast<std::size_t>(status.st_blocks) * 512;
  }
  return bytes;
}

// Objects may keep a connection that has ended for as long as the program likes.
TEST(Connection, SharedMemoryGoesWithItButForWhatTheProgramHasMapped) {
  ScriptedServer server(
      {.is_query = false, .heartbeat = 60'000, .features = kShares | bit(Feature::kept_shared)});
  Connection& client = server.client();
  ASSERT_TRUE(write_in_region(client, kMapped));
  std::vector<std::byte> data(kMapped);
  const Box box = Box::contiguous(data.data(), data.size());
  EXPECT_EQ(client.post_shared({.queue = 1, .event = 5}, box, client.share(kMapped),
                               [&](auto& b) { return wire::CreateWriteBuffer(b, 3, 0, box.bytes()); }),
            CL_SUCCESS);
  auto mapped = client.take_region(kMapped);
  ASSERT_NE(mapped, nullptr);
  EXPECT_GE(shared_bytes(), 3 * kMapped);
  server.end();
  EXPECT_TRUE(kit::eventually([] { return shared_bytes() == kMapped; })) << shared_bytes();
  mapped->data()[kMapped - 1] = std::byte{1};
  mapped.reset();
  EXPECT_EQ(shared_bytes(), 0U);
}

TEST(Connection, ServerOfAnOlderVersionIsToldOfNoRegions) {
  ScriptedServer server({.is_query = false, .heartbeat = 60'000, .features = kShares});
  ASSERT_TRUE(write_in_region(server.client(), kMapped));
  server.see_commands([](const wire::Command& command) {
    EXPECT_EQ(command.body_type(), wire::Body::WriteBuffer);
    EXPECT_NE(command.shared(), nullptr);
    return false;
  });
  ScriptedServer far({.is_query = false, .heartbeat = 60'000});
  EXPECT_FALSE(write_in_region(far.client(), kMapped)) << "it has no memory in common with the client";
}

// A server with much to send may not read before it is sent. If no thread waits it is the client's
// own thread that takes it, and it must do so also when it is the one that has something to send.
TEST(Connection, IsReadWhileItsThreadSends) {
  ScriptedServer server;
  std::vector<std::byte> data(4096);
  std::atomic<std::size_t> sent{0};
  auto program = std::async(std::launch::async, [&] {
    cl_int error = CL_SUCCESS;
    // More than what is held while the socket is full.
    while (sent < Outbox::kMost + (std::size_t{1} << 20U) && error == CL_SUCCESS) {
      for (unsigned i = 0; i < 8 && error == CL_SUCCESS; ++i, sent += data.size()) {
        const Box box = Box::contiguous(data.data(), data.size());
        error = server.client().post_data(
            {.queue = 1}, box, [&](auto& b) { return wire::CreateWriteBuffer(b, 2, 0, data.size()); });
      }
      std::this_thread::sleep_for(milliseconds(1));  // so that it is sent by the connection's thread
    }
    if (error == CL_SUCCESS)
      error = server.client().post({.queue = 1}, [](auto& b) { return wire::CreateFlushQueue(b); });
    server.client().flush();
    return error;
  });
  while (sent < Outbox::kMost && program.wait_for(milliseconds(1)) == std::future_status::timeout) {
  }
  server.await_silence();
  for (unsigned i = 0; i < 16; ++i) ASSERT_TRUE(server.say_gone(1, std::size_t{1} << 20U));
  EXPECT_TRUE(server.read_until(wire::Body::FlushQueue));
  EXPECT_EQ(program.get(), CL_SUCCESS);
  EXPECT_TRUE(server.client().alive());
}

// A write that is as large as data that is copied can be, and more than a socket holds of them.
constexpr std::size_t kWrite = 4096;
constexpr std::uint64_t kWrites = 300;

cl_int write_to_offset(Connection& connection, std::uint64_t offset, std::vector<std::byte> data) {
  std::fill(data.begin(), data.end(), static_cast<std::byte>(offset));
  const cl_int error =
      connection.post_data({.queue = 1}, Box::contiguous(data.data(), data.size()),
                           [&](auto& b) { return wire::CreateWriteBuffer(b, 2, offset, data.size()); });
  std::fill(data.begin(), data.end(), std::byte{0xff});
  return error;
}

cl_int post_flush(Connection& connection) {
  return connection.post({.queue = 1}, [](auto& b) { return wire::CreateFlushQueue(b); });
}

cl_int fill_socket(Connection& connection) {
  cl_int error = CL_SUCCESS;
  for (std::uint64_t i = 0; i < kWrites && error == CL_SUCCESS; ++i)
    error = write_to_offset(connection, i, std::vector<std::byte>(kWrite));
  connection.flush();
  return error;
}

std::vector<std::uint64_t> numbers_up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// As ScriptedServer, which has read nothing of what the client has sent.
class FullConnectionTest : public testing::Test {
 protected:
  FullConnectionTest() { EXPECT_EQ(fill_socket(server_.client()), CL_SUCCESS); }

  ScriptedServer server_;
};

TEST_F(FullConnectionTest, CommandsDoNotWait) {
  EXPECT_EQ(post_flush(server_.client()), CL_SUCCESS);
  server_.client().flush();
  EXPECT_EQ(server_.written_offsets(), numbers_up_to(kWrites));
}

TEST_F(FullConnectionTest, LargeDataIsSentBehindThemFromTheProgramsMemory) {
  auto program = std::async(std::launch::async, [&] {
    const cl_int error =
        write_to_offset(server_.client(), kWrites, std::vector<std::byte>(std::size_t{1} << 20U));
    return error == CL_SUCCESS ? post_flush(server_.client()) : error;
  });
  EXPECT_EQ(server_.written_offsets(), numbers_up_to(kWrites + 1));
  EXPECT_EQ(program.get(), CL_SUCCESS);
}

TEST_F(FullConnectionTest, EndOfTheConnectionFailsAllCalls) {
  auto program = std::async(std::launch::async, [&] {
    PendingRequest pending;
    return server_.client().call({}, pending, [](auto& b) { return wire::CreatePing(b, 0); });
  });
  server_.end();
  EXPECT_EQ(program.get(), kConnectionLost);
  server_.client().wait([] { return false; });
  EXPECT_EQ(post_flush(server_.client()), kConnectionLost);
}

TEST_F(FullConnectionTest, ForkedChildSendsNothingOfIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    server_.client().close_in_child();
    ::_exit(server_.client().alive() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(post_flush(server_.client()), CL_SUCCESS);
  EXPECT_EQ(server_.written_offsets(), numbers_up_to(kWrites));
}

TEST(Connection, CancelledThreadLeavesNoPartOfAMessage) {
  ScriptedServer server;
  const auto run = [](void* client) -> void* {
    pthread_cancel(pthread_self());
    write_to_offset(*static_cast<Connection*>(client), 0, std::vector<std::byte>(std::size_t{1} << 16U));
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, run, &server.client()), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(write_to_offset(server.client(), 1, std::vector<std::byte>(kWrite)), CL_SUCCESS);
  EXPECT_EQ(post_flush(server.client()), CL_SUCCESS);
  server.client().flush();
  EXPECT_EQ(server.written_offsets(), numbers_up_to(2));
}

// It may be the one that reads, also for others.
TEST(Connection, CancelledThreadWaitsToTheEnd) {
  ScriptedServer server;
  std::atomic<bool> over{false};
  struct Waiter {
    Connection& client;
    std::atomic<bool>& over;
    std::atomic<bool> waits{false};
  } waiter{server.client(), over};
  const auto run = [](void* given) -> void* {
    auto& self = *static_cast<Waiter*>(given);
    self.waits = true;
    self.client.wait([&self] { return self.over.load(); });
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, run, &waiter), 0);
  ASSERT_TRUE(kit::eventually([&] { return waiter.waits.load(); }));
  pthread_cancel(thread);
  over = true;
  ASSERT_TRUE(server.say_gone(1));  // something to be read
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  bool done = false;
  std::thread next([&] { server.client().wait([&done] { return std::exchange(done, true); }); });
  ASSERT_TRUE(server.say_gone(2));
  next.join();
}

// At the end of the process, after which nothing else sends.
TEST_F(FullConnectionTest, AtTheEndOfTheProcessEverythingIsSent) {
  EXPECT_EQ(post_flush(server_.client()), CL_SUCCESS);
  auto program = std::async(std::launch::async, [&] {
    server_.client().flush_all();
    server_.client().close();
  });
  EXPECT_EQ(server_.written_offsets(), numbers_up_to(kWrites));
  program.get();
}

}  // namespace
}  // namespace cleave::remote::client
