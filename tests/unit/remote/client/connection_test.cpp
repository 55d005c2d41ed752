// Which thread reads a connection, which thread incoming data wakes, and what the two sides tell each other of traces and shared
// memory.
#include "remote/client/link/connection.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/no_destructor.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/link/wire_types.h"
#include "remote/protocol/features.h"
#include "remote/protocol/limits.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/unit/remote/client/scripted_server.h"

namespace cleave::remote::client {
namespace {

using std::chrono::milliseconds;

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

// It may copy to and from the program's memory.
TEST(Connection, WatcherTakesTheSignalsOfFaultsAlone) {
  ScriptedServer server;
  sigset_t blocked;
  std::atomic<bool> over{false};
  server.client().on_memory_released(1, 7, [&] {
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    over = true;
  });
  EXPECT_TRUE(server.say_gone(1));
  ASSERT_TRUE(kit::eventually([&] { return over.load(); }));
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    EXPECT_EQ(sigismember(&blocked, signal), 0) << signal;
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF})
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
}

// A context ends after all that is in it, whatever comes first.
TEST(Connection, ContextEndsAfterItsMemory) {
  ScriptedServer server;
  constexpr Id kContext = 7;
  constexpr Id kOther = 8;
  std::vector<Id> ended;
  std::atomic<bool> over{false};
  for (const Id memory : {Id{1}, Id{2}})
    server.client().on_memory_released(memory, kContext, [&, memory] { ended.push_back(memory); });
  server.client().on_context_released(kOther, [&] { ended.push_back(kOther); });
  server.client().on_context_released(kContext, [&] {
    ended.push_back(kContext);
    over = true;
  });
  EXPECT_TRUE(server.say_gone(2));
  EXPECT_TRUE(server.say_gone(1));
  server.client().wait([&] { return over.load(); });
  EXPECT_EQ(ended, (std::vector<Id>{kOther, 2, 1, kContext}));
}

// One thread reads. What another one waits for comes after that has looked for it, and before it sleeps.
// What a server says goes to the program's terminal.
TEST(ServerTexts, HoldNothingThatATerminalActsOn) {
  EXPECT_EQ(printable("\x1b]0;own\x07red\n\u009b2J\u2067\xff"), "?]0;own?red??2J??");
  EXPECT_EQ(printable("日本語"), "日本語");
  EXPECT_LE(printable(std::string(10'000, 'x')).size(), 200U);
}

TEST(Connection, DataArrivingBeforeTheSleepWakesTheReader) {
  ScriptedServer server;
  std::atomic<bool> has_come{false};
  server.client().on_memory_released(1, 0, [&] { has_come = true; });
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

}  // namespace
}  // namespace cleave::remote::client
