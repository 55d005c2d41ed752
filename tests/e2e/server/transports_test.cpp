// The same server over unix sockets with memory passed by descriptor, over TLS, and with its metrics read.
#include <fcntl.h>
#include <numeric>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/opencl.h"
#include "tests/e2e/server/certificates.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::size_t kShared = 1U << 20U;

void make_basics(RawClient& client) {
  auto& b = client.builder;
  client.add({}, wire::CreateCreateContext(b, kContext, b.CreateVector<std::uint64_t>({client.device})));
  client.add({}, wire::CreateCreateQueue(b, kQueue, kContext, client.device,
                                         b.CreateVector<std::uint64_t>({0}), true));
  client.add({}, wire::CreateCreateBuffer(b, kBuffer, kContext, CL_MEM_READ_WRITE, kShared));
}

class Transports : public WithCertificates {};

TEST_F(Transports, DataGoesThroughSharedMemory) {
  ServerProcess server({}, "unix:" + path("server.sock"));
  RawClient client(server.endpoint());
  const int memory = ::memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, kShared), 0);
  ASSERT_EQ(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  auto* const data =
      static_cast<cl_int*>(::mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
  ASSERT_TRUE(client.say_hello_with(memory, bit(Feature::shared_memory)));
  const auto* const welcome = client.await_welcome();
  ASSERT_NE(welcome, nullptr);
  ASSERT_EQ(welcome->features(), bit(Feature::shared_memory)) << "and nothing that it does not know";
  make_basics(client);
  constexpr std::size_t kHalf = kShared / 2;
  std::iota(data, data + kHalf / sizeof(cl_int), 5);
  client.add({.queue = kQueue, .event = 20, .shared = wire::Shared(0, kHalf)},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kHalf));
  client.add({.request = 1, .queue = kQueue, .shared = wire::Shared(kHalf, kHalf)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, kHalf));
  client.send();
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(client.heard.answers[1], CL_SUCCESS);
  EXPECT_EQ(client.heard.completions.at(20), CL_COMPLETE);
  EXPECT_TRUE(client.heard.data[1].empty());
  EXPECT_EQ(std::memcmp(data, data + kHalf / sizeof(cl_int), kHalf), 0);
  // Beyond its end there is nothing to be had.
  client.add({.request = 2, .queue = kQueue, .shared = wire::Shared(kShared - 8, 64)},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, 64));
  client.send();
  EXPECT_TRUE(client.is_sent_away());
  ::munmap(data, kShared);
  ::close(memory);
}

TEST_F(Transports, MemoryThatMayShrinkIsNotShared) {
  ServerProcess server({}, "unix:" + path("server.sock"));
  RawClient client(server.endpoint());
  const int memory = ::memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memory, kShared), 0);
  ASSERT_TRUE(client.say_hello_with(memory, bit(Feature::shared_memory)));
  const auto* const welcome = client.await_welcome();
  ASSERT_NE(welcome, nullptr);
  EXPECT_EQ(welcome->features() & bit(Feature::shared_memory), 0U);
  ::close(memory);
}

TEST_F(Transports, ASocketThatIsLeftOverIsTakenOver) {
  const std::string listen = "unix:" + path("server.sock");
  {
    ServerProcess server({}, listen);
    ASSERT_TRUE(server.says("listening"));
    server.stop(SIGKILL);
  }
  ServerProcess next({}, listen);
  RawClient client(next.endpoint());
  EXPECT_TRUE(client.begin());
  ServerProcess third({}, listen);
  EXPECT_TRUE(third.says("somebody else listens there"));
}

TEST_F(Transports, MetricsTellWhatHappens) {
  ServerProcess server({"--metrics", "tcp:127.0.0.1:0"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  ASSERT_TRUE(server.says("metrics on tcp:127.0.0.1:"));
  ASSERT_TRUE(server.says("came"));
  const std::string words = "metrics on ";
  const std::size_t at = server.text().find(words) + words.size();
  const auto endpoint = read_endpoint(server.text().substr(at, server.text().find('\n', at) - at));
  ASSERT_TRUE(endpoint);
  RawClient reader(*endpoint);
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  ASSERT_TRUE(reader.send_bytes(request.data(), request.size()));
  std::string answer;
  std::array<std::byte, 4096> buffer;
  std::size_t size = 0;
  while (reader.stream->read(buffer, size, RawClient::soon()) == ReadStatus::data) {
    answer.append(reinterpret_cast<const char*>(buffer.data()), size);
  }
  EXPECT_NE(answer.find("\ncleave_server_clients 1\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\ncleave_server_admitted_total 1\n"), std::string::npos);
}

TEST_F(Transports, OtherMachinesNeedAToken) {
  ServerProcess server({}, "tcp:0.0.0.0:0");
  EXPECT_TRUE(server.says("other machines can connect there; give --token-file"));
  EXPECT_EQ(WEXITSTATUS(server.stop(0)), 2);
}

TEST_F(Transports, AUserThatIsNoneIsKnownAtTheStart) {
  ServerProcess server({"--user", "cleave-nobody-of-that-name"});
  EXPECT_TRUE(server.says("--user: there is no user \"cleave-nobody-of-that-name\""));
  EXPECT_EQ(WEXITSTATUS(server.stop(0)), 2);
  EXPECT_EQ(server.text().find("listening"), std::string::npos);
}

}  // namespace
}  // namespace cleave::remote
