// The server over UNIX sockets with shared memory, its metrics, and options that it refuses.
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/opencl.h"
#include "daemon/listening_socket.h"
#include "remote/protocol/limits.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote {
namespace {

constexpr std::size_t kShared = 1U << 20U;

TEST(Transports, TransfersUseSharedMemory) {
  const kit::TemporaryFolder folder;
  ServerProcess server({}, "unix:" + folder.file("server.sock"));
  RawClient client(server.endpoint());
  const int memory = ::memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, kShared), 0);
  ASSERT_EQ(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  auto* const data =
      static_cast<cl_int*>(::mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
  ASSERT_TRUE(client.send_hello_with_descriptor(memory, bit(Feature::shared_memory)));
  const auto* const welcome = client.await_welcome();
  ASSERT_NE(welcome, nullptr);
  ASSERT_EQ(welcome->features(), bit(Feature::shared_memory)) << "features that the client did not offer";
  client.create_objects(kShared);
  constexpr std::size_t kHalf = kShared / 2;
  std::iota(data, data + kHalf / sizeof(cl_int), 5);
  client.add({.queue = kQueue, .event = 20, .shared = wire::Shared(0, kHalf)},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kHalf));
  client.add({.request = 1, .queue = kQueue, .shared = wire::Shared(kHalf, kHalf)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, kHalf));
  client.send();
  ASSERT_EQ(client.error_of(1), CL_SUCCESS);
  EXPECT_EQ(client.received.completions.at(20), CL_COMPLETE);
  EXPECT_TRUE(client.received.data[1].empty());
  EXPECT_EQ(std::memcmp(data, data + kHalf / sizeof(cl_int), kHalf), 0);
  // Beyond its end.
  client.add({.request = 2, .queue = kQueue, .shared = wire::Shared(kShared - 8, 64)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, 64));
  client.send();
  EXPECT_TRUE(client.is_disconnected());
  ::munmap(data, kShared);
  ::close(memory);
}

// The client keeps a range of its memory, and the server copies from there and to there.
TEST(Transports, KeptRangesAreUsedUntilTheyAreForgotten) {
  constexpr std::uint64_t kAt = kKeptSharedMemory + 4096;
  constexpr std::uint64_t kSize = std::uint64_t{2} << 20U;
  const kit::TemporaryFolder folder;
  ServerProcess server({}, "unix:" + folder.file("server.sock"));
  const int memory = ::memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, kAt + kSize), 0);
  ASSERT_EQ(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  auto* const data = static_cast<cl_int*>(
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory, static_cast<off_t>(kAt)));
  const std::uint64_t features = bit(Feature::shared_memory) | bit(Feature::kept_shared);
  struct Range {
    std::uint64_t offset;
    std::uint64_t size;
    bool is_kept;
  };
  for (const Range wrong :
       {Range{0, kSize, true}, Range{kAt, kSize + 4096, true}, Range{kAt, kSize, false}}) {
    RawClient client(server.endpoint());
    ASSERT_TRUE(client.send_hello_with_descriptor(memory, features));
    ASSERT_NE(client.await_welcome(), nullptr);
    client.add({}, wire::CreateKeepShared(client.builder, wrong.offset, wrong.size, wrong.is_kept));
    client.send();
    EXPECT_TRUE(client.is_disconnected());
  }
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.send_hello_with_descriptor(memory, features));
  const auto* const welcome = client.await_welcome();
  ASSERT_NE(welcome, nullptr);
  ASSERT_EQ(welcome->features(), features);
  client.create_objects(kSize);
  std::iota(data, data + kSize / sizeof(cl_int), 5);
  const std::vector<cl_int> before(data, data + kSize / sizeof(cl_int));
  client.add({}, wire::CreateKeepShared(client.builder, kAt, kSize, true));
  client.add({.queue = kQueue, .event = 20, .shared = wire::Shared(kAt, kSize)},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kSize));
  client.send();
  ASSERT_TRUE(client.await_completion(20));
  std::fill_n(data, kSize / sizeof(cl_int), 0);
  client.add({.request = 1, .queue = kQueue, .shared = wire::Shared(kAt, kSize)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, kSize));
  client.send();
  ASSERT_EQ(client.error_of(1), CL_SUCCESS);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), data));
  client.add({}, wire::CreateKeepShared(client.builder, kAt, kSize, false));
  client.add({.request = 2, .queue = kQueue, .shared = wire::Shared(kAt, kSize)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, kSize));
  client.send();
  EXPECT_EQ(client.error_of(2), CL_SUCCESS) << "it is shared memory as before";
  ::munmap(data, kSize);
  ::close(memory);
}

class DefaultAddress : public testing::Test {
 protected:
  DefaultAddress() { ::setenv("RUNTIME_DIRECTORY", folder_.path().c_str(), 1); }
  ~DefaultAddress() override { ::unsetenv("RUNTIME_DIRECTORY"); }

  // All addresses on which the server says that it listens, once it also serves metrics.
  static std::vector<std::string> addresses(ServerProcess& server) {
    EXPECT_TRUE(server.logs("metrics on ")) << server.log();
    std::vector<std::string> found;
    std::istringstream log(server.log());
    const std::string words = "listening on ";
    for (std::string line; std::getline(log, line);) {
      const std::size_t start = line.find(words);
      if (start != std::string::npos) found.push_back(line.substr(start + words.size()));
    }
    return found;
  }

  const std::vector<std::string> metrics_{"--metrics", "tcp:127.0.0.1:0"};
  const kit::TemporaryFolder folder_;
  const std::string default_ = "unix:" + folder_.file("server.sock");
  const std::string other_ = "unix:" + folder_.file("other.sock");
};

TEST_F(DefaultAddress, IsInTheServiceManagersFolder) {
  ServerProcess server(metrics_, "");
  EXPECT_EQ(addresses(server), std::vector<std::string>{default_});
}

TEST_F(DefaultAddress, IsReplacedByTheCommandLineAndByTheFile) {
  ServerProcess named(metrics_, other_);
  EXPECT_EQ(addresses(named), std::vector<std::string>{other_});
  named.stop();
  std::vector<std::string> options = metrics_;
  options.insert(options.end(), {"--config", folder_.write("serverd.toml", "listen = '" + other_ + "'\n")});
  ServerProcess configured(options, "");
  EXPECT_EQ(addresses(configured), std::vector<std::string>{other_});
}

TEST_F(DefaultAddress, IsReplacedByInheritedSockets) {
  const auto socket = daemon::listen_on(read_endpoint(default_)->address, {});
  ServerProcess server(metrics_, "", socket.socket.get());
  EXPECT_EQ(addresses(server), std::vector<std::string>{default_});
  EXPECT_EQ(server.stop(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("server.sock"))) << "the socket is the service manager's";
}

TEST(Transports, ShrinkableMemoryIsNotShared) {
  const kit::TemporaryFolder folder;
  ServerProcess server({}, "unix:" + folder.file("server.sock"));
  RawClient client(server.endpoint());
  const int memory = ::memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, kShared), 0);
  ASSERT_TRUE(client.send_hello_with_descriptor(memory, bit(Feature::shared_memory)));
  const auto* const welcome = client.await_welcome();
  ASSERT_NE(welcome, nullptr);
  EXPECT_EQ(welcome->features() & bit(Feature::shared_memory), 0U);
  ::close(memory);
}

TEST(Transports, StaleSocketIsReplaced) {
  const kit::TemporaryFolder folder;
  const std::string listen = "unix:" + folder.file("server.sock");
  {
    ServerProcess server({}, listen);
    ASSERT_TRUE(server.logs("listening"));
    server.stop(SIGKILL);
  }
  ServerProcess next({}, listen);
  ASSERT_TRUE(next.logs("listening")) << next.log();
  RawClient client(next.endpoint());
  EXPECT_TRUE(client.begin());
  ServerProcess third({}, listen);
  EXPECT_TRUE(third.logs("another process listens there"));
}

TEST(Transports, MetricsCountClients) {
  ServerProcess server({"--metrics", "tcp:127.0.0.1:0"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  ASSERT_TRUE(server.logs(": connected"));
  RawClient reader(server.endpoint("metrics on "));
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  ASSERT_TRUE(reader.send_bytes(request.data(), request.size()));
  std::string answer;
  std::array<std::byte, 4096> buffer;
  std::size_t size = 0;
  while (reader.stream->read(buffer, size, RawClient::deadline()) == ReadStatus::data) {
    answer.append(reinterpret_cast<const char*>(buffer.data()), size);
  }
  EXPECT_NE(answer.find("\ncleave_server_clients 1\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\ncleave_server_admitted_total 1\n"), std::string::npos);
}

TEST(Transports, RemoteListenAddressNeedsAToken) {
  ServerProcess server({}, "tcp:0.0.0.0:0");
  EXPECT_TRUE(server.refuses("other machines can connect there; give --token-file")) << server.log();
}

TEST(Transports, UnknownUserIsReportedAtStart) {
  ServerProcess server({"--user", "cleave-nobody-of-that-name"});
  EXPECT_TRUE(server.refuses("--user: there is no user \"cleave-nobody-of-that-name\"")) << server.log();
}

}  // namespace
}  // namespace cleave::remote
