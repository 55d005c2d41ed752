// What happens to what a client sends while the server reads nothing.
#include <algorithm>
#include <future>
#include <numeric>
#include <pthread.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "remote/client/link/connection.h"
#include "remote/client/link/wire_types.h"
#include "tests/unit/remote/client/scripted_server.h"

namespace cleave::remote::client {
namespace {

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
