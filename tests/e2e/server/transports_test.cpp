// The same server over unix sockets with memory passed by descriptor, over TLS, and with its metrics read.
#include <cstdio>
#include <fcntl.h>
#include <numeric>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/opencl.h"
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

class Transports : public testing::Test {
 protected:
  Transports() {
    char made[] = "/tmp/cleave-transport-test.XXXXXX";
    folder_ = ::mkdtemp(made);
  }
  ~Transports() override { run("rm -r " + folder_); }

  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

  // A certificate by the authority NAME.pem, for this address.
  void make_authority(const std::string& name) const {
    run("cd " + folder_ +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".pem 2>/dev/null");
  }
  void make_certificate(const std::string& name, const std::string& authority) const {
    run("cd " + folder_ +
        " && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
        name + ".key -out " + name + ".csr 2>/dev/null && printf 'subjectAltName=IP:127.0.0.1' > " + name +
        ".ext && openssl x509 -req -in " + name + ".csr -CA " + authority + ".pem -CAkey " + authority +
        ".key -CAcreateserial" + " -days 2 -extfile " + name + ".ext -out " + name + ".pem 2>/dev/null");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

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

TEST_F(Transports, TlsLetsInWhomItKnows) {
  make_authority("ours");
  make_authority("theirs");
  make_certificate("server", "ours");
  make_certificate("client", "ours");
  make_certificate("stranger", "theirs");
  ServerProcess server(
      {"--tls-cert", path("server.pem"), "--tls-key", path("server.key"), "--client-ca", path("ours.pem")},
      "tls:127.0.0.1:0");
  const Endpoint endpoint = server.endpoint();
  ASSERT_TRUE(endpoint.tls);
  RawClient client(endpoint, {path("ours.pem"), path("client.pem"), path("client.key")});
  ASSERT_TRUE(client.stream) << client.problem;
  ASSERT_TRUE(client.begin());
  EXPECT_TRUE(server.says("(client)"));
  make_basics(client);
  std::vector<cl_int> data(kShared / sizeof(cl_int));
  std::iota(data.begin(), data.end(), 3);
  client.add({.queue = kQueue, .payload = kShared},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kShared));
  client.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, kShared));
  client.send({std::as_bytes(std::span(data))});
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(std::memcmp(client.heard.data[1].data(), data.data(), kShared), 0);
  // Strangers, people without a certificate, and servers that are somebody else's.
  RawClient stranger(endpoint, {path("ours.pem"), path("stranger.pem"), path("stranger.key")});
  EXPECT_FALSE(stranger.stream && stranger.begin());
  RawClient nobody(endpoint, {path("ours.pem"), {}, {}});
  EXPECT_FALSE(nobody.stream && nobody.begin());
  RawClient wary(endpoint, {path("theirs.pem"), path("client.pem"), path("client.key")});
  EXPECT_FALSE(wary.stream);
  EXPECT_NE(wary.problem.find("TLS"), std::string::npos);
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
  while (reader.stream->read(buffer, size, RawClient::soon()) == Got::data) {
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

}  // namespace
}  // namespace cleave::remote
