// Which clients are admitted, and what unauthenticated peers can do before that.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files/discard.h"
#include "base/files/file_descriptor.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"
#include "tests/kit/lingering_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cleave::remote {
namespace {

// A connection from another address of this host; not open if it was closed at once.
base::FileDescriptor connect_from(const char* address, std::uint16_t port) {
  base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &name.sin_addr);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return {};
  ::inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  name.sin_port = htons(port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return {};
  return socket;
}

// All memory of a process that can be read, as text. Empty: it has ended, or it must not be read.
std::string memory_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps");
  const base::FileDescriptor memory(::open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::string all;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" r") == std::string::npos || line.find("[v") != std::string::npos) continue;
    std::size_t end_text = 0;
    const std::size_t begin = std::stoull(line, &end_text, 16);
    const std::size_t end = std::stoull(line.substr(end_text + 1), nullptr, 16);
    constexpr std::size_t kMost = std::size_t{64} << 20U;  // of a mapping that is mostly not there
    const std::size_t size = std::min(end - begin, kMost);
    const std::size_t before = all.size();
    all.resize(before + size);
    const ssize_t got = ::pread(memory.get(), all.data() + before, size, static_cast<off_t>(begin));
    all.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  }
  return all;
}

TEST(Admission, StrangersOfOneAddressKeepNobodyOut) {
  ServerProcess server({"--spare", "1"});
  const Endpoint endpoint = server.endpoint();
  std::vector<base::FileDescriptor> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(connect_from("127.0.0.2", endpoint.address.port));
    ASSERT_TRUE(strangers.back().is_open());
    // A frame that never ends.
    if (i % 2 == 0) ::send(strangers.back().get(), "\x10", 1, MSG_NOSIGNAL);
  }
  RawClient client(endpoint);
  EXPECT_TRUE(client.begin());
}

// Descriptors of any kind, and sockets that take an hour to close; with a valid Hello and without.
TEST(Admission, DescriptorsOfStrangersCostNothing) {
  kit::LingeringSockets sockets;
  const kit::TemporaryFolder folder;
  ServerProcess server({"--max-clients", "64"}, "unix:" + folder.file("socket"));
  const Endpoint endpoint = server.endpoint();
  ASSERT_EQ(endpoint.address.kind, base::Address::Kind::unix_socket);
  ASSERT_TRUE(RawClient(endpoint).begin());
  const std::string descriptors = "/proc/" + std::to_string(server.front()) + "/fd";
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(descriptors),
                         std::filesystem::directory_iterator());
  };
  const auto before = count();
  const std::string begin = "x";
  for (int i = 0; i < 24; ++i) {
    RawClient stranger(endpoint);
    std::vector<base::FileDescriptor> sent;
    std::vector<int> numbers;
    for (std::size_t each = 0; each < kMaxDescriptors; ++each) {
      sent.emplace_back(sockets.make());
      numbers.push_back(sent.back().get());
    }
    if (i % 3 == 0) {
      ASSERT_TRUE(stranger.send_hello_with_descriptor(numbers.front(), 0));
    } else {
      ASSERT_TRUE(
          send_with_descriptors(stranger.stream->descriptor(), std::as_bytes(std::span(begin)), numbers));
    }
    discard(std::move(sent));  // the server may have closed its own before
    if (i % 3 == 1) stranger.send_bytes("garbage garbage garbage", 23);
  }
  RawClient client(endpoint);
  EXPECT_TRUE(client.begin()) << "it comes after those of its own user";
  EXPECT_TRUE(kit::eventually([&] { return count() <= before + 2; })) << "some are held";
}

TEST(Admission, SilentStrangersCostNoProcess) {
  ServerProcess server({"--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  std::vector<base::FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connect_from("127.0.0.2", endpoint.address.port));
  EXPECT_TRUE(server.logs("refused: no Hello in time"));
  EXPECT_TRUE(server.workers().empty());
}

TEST(Admission, QueriesAreLimitedLikeClients) {
  ServerProcess server({"--max-clients", "2", "--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  std::vector<std::unique_ptr<RawClient>> queries;
  for (int i = 0; i < 2; ++i) {
    queries.push_back(std::make_unique<RawClient>(endpoint));
    EXPECT_TRUE(queries.back()->begin({.query = true}));
  }
  RawClient third(endpoint);
  EXPECT_EQ(third.refusal({.query = true}), wire::Refusal::full);
  queries.front()->stream->shutdown();
  EXPECT_TRUE(kit::eventually([&] {
    RawClient another(endpoint);
    return another.begin({.query = true});
  }));
}

TEST(Admission, QueryIsNoSession) {
  ServerProcess server;
  RawClient query(server.endpoint());
  ASSERT_TRUE(query.begin({.query = true}));
  query.create_objects(64);
  query.send();
  EXPECT_TRUE(query.is_disconnected());
}

TEST(Admission, ClientsOfOnePeerAreLimited) {
  ServerProcess server({"--clients-per-peer", "1", "--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  RawClient first(endpoint);
  ASSERT_TRUE(first.begin());
  RawClient second(endpoint);
  EXPECT_EQ(second.refusal(), wire::Refusal::full);
  first.stream->shutdown();
  EXPECT_TRUE(kit::eventually([&] {
    RawClient another(endpoint);
    return another.begin();
  }));
}

// The front holds the tokens of all clients, and their names; worker processes run any client's code.
TEST(Admission, WorkersHoldNothingOfOtherClients) {
  const kit::TemporaryFolder folder;
  const std::string mine = "planted-token-of-this-client-4711";
  const std::string other = "planted-token-of-another-client-4712";
  const std::string tokens = folder.write("token", "planted-token-4713\n");
  const std::string clients = folder.write(
      "clients.toml", "[this-tenant]\ntoken = '" + mine + "'\n[planted-tenant]\ntoken = '" + other + "'\n");
  for (const std::string& secret : {tokens, clients}) ASSERT_EQ(::chmod(secret.c_str(), 0600), 0);
  ServerProcess server({"--token-file", tokens, "--clients-file", clients, "--spare", "1"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin({.token = mine}));
  const std::string front = memory_of(server.front());
  if (front.empty()) GTEST_SKIP() << "only root can read it";
  for (const char* secret : {"planted-token-of-another", "planted-token-4713", "planted-tenant"})
    ASSERT_NE(front.find(secret), std::string::npos) << "the search finds nothing";
  const auto workers = server.workers();
  ASSERT_FALSE(workers.empty());
  for (const pid_t worker : workers) {
    const std::string memory = memory_of(worker);
    EXPECT_FALSE(memory.empty());
    EXPECT_EQ(memory.find("planted-t"), std::string::npos);
    for (const std::string& secret : {tokens, clients})
      EXPECT_EQ(memory.find(secret), std::string::npos) << "it knows where they are";
  }
}

TEST(Admission, FrontThatDiesIsReplaced) {
  ServerProcess server;
  const Endpoint endpoint = server.endpoint();
  RawClient before(endpoint);
  ASSERT_TRUE(before.begin());
  const pid_t front = server.front();
  ASSERT_GT(front, 0);
  ::kill(front, SIGKILL);
  EXPECT_TRUE(kit::eventually([&] { return server.front() > 0 && server.front() != front; }));
  RawClient after(endpoint);
  EXPECT_TRUE(after.begin());
  before.create_objects(64);
  EXPECT_EQ(before.read(1), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::remote
