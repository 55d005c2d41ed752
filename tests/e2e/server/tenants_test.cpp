// Clients with names: what each may use, and which of them are served together.
#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/e2e/server/certificates.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

class Tenants : public testing::Test {
 protected:
  // What sessions book is in a file of the registry.
  Tenants() { ::setenv("CLEAVE_REGISTRY", folder_.path().c_str(), 1); }
  ~Tenants() override { ::unsetenv("CLEAVE_REGISTRY"); }

  void write(const std::string& text) {
    folder_.write("clients.toml", text);
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  }
  // No walls are between the workers of these servers.
  [[nodiscard]] ServerProcess start(std::vector<std::string> options) const {
    options.insert(options.end(), {"--clients-file", path_, "--spare", "1"});
    return ServerProcess(options);
  }

  // Empty: admitted.
  static std::string refusal(RawClient& client, const std::string& token) {
    if (!client.send_hello({.token = token})) return "not connected";
    const auto* const welcome = client.await_welcome();
    if (welcome == nullptr) return "no answer";
    return welcome->refusal() == wire::Refusal::none ? "" : welcome->text()->str();
  }
  static std::string refusal(const Endpoint& endpoint, const std::string& token) {
    RawClient client(endpoint);
    return refusal(client, token);
  }

  const kit::TemporaryFolder folder_;
  const std::string path_ = folder_.file("clients.toml");
  const std::string two_ = "[alice]\ntoken = 'first'\n[bob]\ntoken = 'second'\n";
};

TEST_F(Tenants, OfDifferentNamesAreNotServedTogetherWithoutWalls) {
  write(two_);
  ServerProcess server = start({});
  const Endpoint endpoint = server.endpoint();
  EXPECT_TRUE(server.logs("clients of different names are not served at the same time"));
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  EXPECT_TRUE(server.logs(" (alice) \"raw client\": connected"));
  EXPECT_EQ(refusal(endpoint, "first"), "");
  EXPECT_EQ(refusal(endpoint, "second"), "a client of another name is served, or waits");
  EXPECT_EQ(refusal(endpoint, "third"), "the token is wrong or missing");
  alice.stream->shutdown();
  EXPECT_TRUE(kit::eventually([&] { return refusal(endpoint, "second").empty(); }));
}

TEST_F(Tenants, AreServedTogetherIfTheOperatorSaysSo) {
  write(two_);
  ServerProcess server = start({"--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  EXPECT_EQ(refusal(endpoint, "second"), "");
}

TEST_F(Tenants, HaveLimitsOfTheirOwn) {
  write("[alice]\ntoken = 'first'\nmemory = '1M'\nsessions = 1\n[bob]\ntoken = 'second'\n");
  ServerProcess server = start({"--mixed-tenants", "--memory-per-client", "3M"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  EXPECT_EQ(refusal(endpoint, "first"), "too many sessions of alice");
  RawClient bob(endpoint);
  ASSERT_EQ(refusal(bob, "second"), "");
  EXPECT_EQ(alice.most_memory, 1U << 20U) << "she is told what she has";
  EXPECT_EQ(bob.most_memory, 3U << 20U);
  for (RawClient* client : {&alice, &bob}) {
    client->create_objects(2U << 20U);
    client->add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(client->builder, kBuffer, 0, 64));
    client->send();
  }
  EXPECT_NE(alice.error_of(1), CL_SUCCESS) << "there is no such buffer";
  EXPECT_EQ(bob.error_of(1), CL_SUCCESS);
}

TEST_F(Tenants, ShareTheirMemoryAmongTheirSessions) {
  write("[alice]\ntoken = 'first'\nmemory = '3M'\n[bob]\ntoken = 'second'\nmemory = '3M'\n");
  ServerProcess server = start({"--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  const auto allocate = [](RawClient& client) {
    client.create_objects(2U << 20U);
    client.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, 64));
    client.send();
    return client.error_of(1);
  };
  RawClient one(endpoint);
  ASSERT_EQ(refusal(one, "first"), "");
  EXPECT_EQ(allocate(one), CL_SUCCESS);
  RawClient two(endpoint);
  ASSERT_EQ(refusal(two, "first"), "");
  EXPECT_NE(allocate(two), CL_SUCCESS);
  RawClient bob(endpoint);
  ASSERT_EQ(refusal(bob, "second"), "");
  EXPECT_EQ(allocate(bob), CL_SUCCESS) << "his own";
}

TEST_F(Tenants, AreReadAgainWhenTheyHaveChanged) {
  write(two_);
  ServerProcess server = start({"--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  RawClient bob(endpoint);
  ASSERT_EQ(refusal(bob, "second"), "");
  write("[bob]\ntoken = 'changed'\n");
  EXPECT_EQ(refusal(endpoint, "second"), "") << "nobody has said so";
  server.signal(SIGHUP);
  ASSERT_TRUE(server.logs("the clients have been read again"));
  EXPECT_TRUE(kit::eventually([&] { return !refusal(endpoint, "first").empty(); }));
  EXPECT_EQ(refusal(endpoint, "second"), "the token is wrong or missing");
  EXPECT_EQ(refusal(endpoint, "changed"), "");
  // A mistake changes nothing, nor does a front that is started again.
  write("[bob]\ntoken = ''\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.logs("who may connect is as before"));
  EXPECT_EQ(refusal(endpoint, "changed"), "");
  const pid_t front = server.front();
  ::kill(front, SIGKILL);
  ASSERT_TRUE(kit::eventually([&] { return server.front() > 0 && server.front() != front; }));
  EXPECT_EQ(refusal(endpoint, "changed"), "");
  EXPECT_TRUE(server.logs("(alice) \"raw client\": disconnected: it is no longer in the clients file"));
  EXPECT_TRUE(alice.is_disconnected());
  bob.create_objects(64);
  bob.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(bob.builder, kBuffer, 0, 64));
  bob.send();
  EXPECT_EQ(bob.error_of(1), CL_SUCCESS) << "he has proved who he is before";
}

// A client with a token that is about to become invalid may have connected before, to present it later.
TEST_F(Tenants, ProveWhoTheyAreByTheFileOfThatMoment) {
  write("[alice]\ntoken = 'stolen'\n");
  ServerProcess server = start({});
  const Endpoint endpoint = server.endpoint();
  flatbuffers::FlatBufferBuilder hello;
  const auto token = hello.CreateString("stolen");
  hello.Finish(wire::CreateHello(hello, kVersion, kOldestVersion, 0, wire::ByteOrder::little, token));
  const HeaderBytes header = encode({FrameKind::hello, hello.GetSize(), 0});
  RawClient early(endpoint);
  ASSERT_TRUE(early.send_bytes(header.data(), header.size()));
  EXPECT_EQ(refusal(endpoint, "stolen"), "");
  write("[alice]\ntoken = 'changed'\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(kit::eventually([&] { return refusal(endpoint, "changed").empty(); }));
  ASSERT_TRUE(early.send_bytes(hello.GetBufferPointer(), hello.GetSize()));
  const auto* const welcome = early.await_welcome();
  ASSERT_NE(welcome, nullptr);
  ASSERT_NE(welcome->text(), nullptr) << "admitted";
  EXPECT_EQ(welcome->text()->str(), "the token is wrong or missing");
}

TEST_F(Tenants, WhoWaitsIsGrantedWhatTheFileSaysNow) {
  write("[alice]\ntoken = 'first'\nsessions = 1\n[bob]\ntoken = 'second'\nsessions = 1\n");
  ServerProcess server = start({"--queue-time", "600", "--max-clients", "4", "--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  RawClient bob(endpoint);
  ASSERT_EQ(refusal(bob, "second"), "");
  RawClient alice_again(endpoint);
  ASSERT_TRUE(alice_again.send_hello({.token = "first"}));
  ASSERT_TRUE(server.logs("waits for a place: too many sessions of alice"));
  RawClient bob_again(endpoint);
  ASSERT_TRUE(bob_again.send_hello({.token = "second"}));
  ASSERT_TRUE(server.logs("waits for a place: too many sessions of bob"));
  write("[alice]\ntoken = 'first'\nsessions = 2\n");
  server.signal(SIGHUP);
  const auto* const admitted = alice_again.await_welcome();
  ASSERT_NE(admitted, nullptr);
  EXPECT_EQ(admitted->refusal(), wire::Refusal::none);
  const auto* const refused = bob_again.await_welcome();
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->text()->str(), "it is no longer in the clients file");
  EXPECT_TRUE(bob.is_disconnected());
}

TEST_F(Tenants, MistakesAreReportedAtTheStart) {
  write("[alice]\ntoken = 'first'\nweight = 'heavy'\n");
  ServerProcess server = start({});
  EXPECT_TRUE(server.refuses(":3: not understood; expected a weight from 1 to 10000")) << server.log();
}

// A waiting client is admitted as soon as there is a place, or refused when its time is up.
TEST_F(Tenants, WaitForAPlace) {
  write(two_);
  ServerProcess server = start({"--queue-time", "600", "--max-clients", "1", "--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  RawClient waits(endpoint);
  ASSERT_TRUE(waits.send_hello({.token = "second"}));
  ASSERT_TRUE(server.logs("waits for a place: too many clients"));
  EXPECT_EQ(refusal(endpoint, "second"), "too many clients") << "one may wait for each place";
  alice.stream->shutdown();
  const auto* const welcome = waits.await_welcome();
  ASSERT_NE(welcome, nullptr);
  EXPECT_EQ(welcome->refusal(), wire::Refusal::none);
}

TEST_F(Tenants, WaitNoLongerThanTheyMay) {
  write(two_);
  ServerProcess server = start({"--queue-time", "1"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  EXPECT_EQ(refusal(endpoint, "second"), "no place in the time that clients may wait");
  EXPECT_TRUE(server.logs("refused after it has waited"));
}

// Those of the name that is served would otherwise always come first.
TEST_F(Tenants, WhoWaitsForOtherNamesIsNotOvertaken) {
  write(two_);
  ServerProcess server = start({"--queue-time", "600"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  RawClient bob(endpoint);
  ASSERT_TRUE(bob.send_hello({.token = "second"}));
  ASSERT_TRUE(server.logs("(bob) \"raw client\": waits for a place"));
  RawClient again(endpoint);
  ASSERT_TRUE(again.send_hello({.token = "first"}));
  ASSERT_TRUE(server.logs("(alice) \"raw client\": waits for a place"));
  alice.stream->shutdown();
  EXPECT_NE(bob.await_welcome(), nullptr);
  bob.stream->shutdown();
  EXPECT_NE(again.await_welcome(), nullptr);
}

TEST_F(Tenants, WhoLeavesWaitsNoMore) {
  write(two_);
  ServerProcess server = start({"--queue-time", "600", "--max-clients", "1"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  auto leaves = std::make_unique<RawClient>(endpoint);
  ASSERT_TRUE(leaves->send_hello({.token = "second"}));
  ASSERT_TRUE(server.logs("waits for a place"));
  leaves.reset();
  EXPECT_TRUE(server.logs("refused after it has waited: it has left"));
}

class TenantsWithCertificates : public CertificateTest {
 protected:
  void SetUp() override {
    make_authority("authority");
    for (const char* name : {"server", "alice", "bob"}) make_certificate(name, "authority");
    run("printf '[alice]\\ncertificate = \"alice\"\\nsessions = 1\\n' > clients.toml && chmod 600 "
        "clients.toml");
  }
  [[nodiscard]] ServerProcess start(std::vector<std::string> options) const {
    options.insert(options.end(),
                   {"--tls-cert", path("server.pem"), "--tls-key", path("server.key"), "--client-ca",
                    path("authority.pem"), "--clients-file", path("clients.toml"), "--mixed-tenants"});
    return ServerProcess(options, "tls:127.0.0.1:0");
  }
  [[nodiscard]] TlsFiles files(const std::string& name) const {
    return {path("authority.pem"), path(name + ".pem"), path(name + ".key")};
  }
};

TEST_F(TenantsWithCertificates, AreKnownByThem) {
  ServerProcess server = start({});
  RawClient alice(server.endpoint(), files("alice"));
  EXPECT_TRUE(alice.begin());
  EXPECT_TRUE(server.logs(" (alice) \"raw client\": connected"));
  RawClient bob(server.endpoint(), files("bob"));
  ASSERT_TRUE(bob.send_hello());
  EXPECT_EQ(bob.await_welcome()->refusal(), wire::Refusal::token) << "the file does not name him";
}

// Its connection to the supervisor is the front's.
TEST_F(TenantsWithCertificates, WhoLeavesWaitsNoMore) {
  ServerProcess server = start({"--queue-time", "600"});
  RawClient alice(server.endpoint(), files("alice"));
  ASSERT_TRUE(alice.begin());
  RawClient again(server.endpoint(), files("alice"));
  ASSERT_TRUE(again.send_hello());
  ASSERT_TRUE(server.logs("waits for a place: too many sessions of alice"));
  again.stream->shutdown();
  EXPECT_TRUE(server.logs("refused after it has waited: it has left"));
}

// The front that has introduced it is gone, and the next one counts from 1 again.
TEST_F(Tenants, WhoWaitsIsNotTakenForAnother) {
  write("[alice]\ntoken = 'first'\nsessions = 1\n[bob]\ntoken = 'second'\nsessions = 1\n");
  ServerProcess server = start({"--queue-time", "600", "--max-clients", "8", "--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  RawClient alice(endpoint);
  ASSERT_EQ(refusal(alice, "first"), "");
  RawClient bob(endpoint);
  ASSERT_EQ(refusal(bob, "second"), "");
  RawClient third(endpoint);  // of the first front
  ASSERT_TRUE(third.send_hello({.token = "first"}));
  ASSERT_TRUE(server.logs("(alice) \"raw client\": waits for a place"));
  const pid_t front = server.front();
  ::kill(front, SIGKILL);
  ASSERT_TRUE(kit::eventually([&] { return server.front() > 0 && server.front() != front; }));
  std::vector<std::unique_ptr<RawClient>> others;  // of the second one, with the third's number among theirs
  for (std::size_t i = 1; i <= 3; ++i) {
    others.push_back(std::make_unique<RawClient>(endpoint));
    ASSERT_TRUE(others.back()->send_hello({.token = "second"}));
    ASSERT_TRUE(
        kit::eventually([&] { return server.count_of("(bob) \"raw client\": waits for a place") == i; }));
  }
  third.stream->shutdown();  // which is answered to nobody
  bob.stream->shutdown();
  for (const auto& each : others) {
    const auto* const welcome = each->await_welcome();
    ASSERT_NE(welcome, nullptr);
    EXPECT_EQ(welcome->refusal(), wire::Refusal::none);
    each->stream->shutdown();
  }
}

}  // namespace
}  // namespace cleave::remote
