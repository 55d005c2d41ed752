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
    const auto* const welcome = client.greet({.token = token});
    if (welcome == nullptr) return "no answer";
    return welcome->refusal() == wire::Refusal::none ? "" : welcome->text()->str();
  }
  static std::string refusal(const Endpoint& endpoint, const std::string& token) {
    RawClient client(endpoint);
    return refusal(client, token);
  }
  struct Admitted : RawClient {
    Admitted(const Endpoint& endpoint, const std::string& token) : RawClient(endpoint) {
      EXPECT_EQ(Tenants::refusal(*this, token), "");
    }
  };
  struct Waiting : RawClient {
    Waiting(ServerProcess& server, const std::string& token, std::string_view says)
        : RawClient(server.endpoint()) {
      EXPECT_TRUE(send_hello({.token = token}));
      EXPECT_TRUE(server.logs(says));
    }
  };

  const kit::TemporaryFolder folder_;
  const std::string path_ = folder_.file("clients.toml");
  const std::string two_ = "[alice]\ntoken = 'first'\n[bob]\ntoken = 'second'\n";
};

TEST_F(Tenants, OfDifferentNamesAreNotServedTogetherWithoutWalls) {
  write(two_);
  ServerProcess server = start({});
  const Endpoint endpoint = server.endpoint();
  EXPECT_TRUE(server.logs("clients of different names are not served at the same time"));
  Admitted alice(endpoint, "first");
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
  Admitted alice(endpoint, "first");
  EXPECT_EQ(refusal(endpoint, "second"), "");
}

TEST_F(Tenants, HaveLimitsOfTheirOwn) {
  write("[alice]\ntoken = 'first'\nmemory = '1M'\nsessions = 1\n[bob]\ntoken = 'second'\n");
  ServerProcess server = start({"--mixed-tenants", "--memory-per-client", "3M"});
  const Endpoint endpoint = server.endpoint();
  Admitted alice(endpoint, "first");
  EXPECT_EQ(refusal(endpoint, "first"), "too many sessions of alice");
  Admitted bob(endpoint, "second");
  EXPECT_EQ(alice.most_memory, 1U << 20U) << "she is told what she has";
  EXPECT_EQ(bob.most_memory, 3U << 20U);
  alice.create_objects(2U << 20U);
  bob.create_objects(2U << 20U);
  EXPECT_NE(alice.read(1).value_or(CL_SUCCESS), CL_SUCCESS) << "there is no such buffer";
  EXPECT_EQ(bob.read(1), CL_SUCCESS);
}

TEST_F(Tenants, ShareTheirMemoryAmongTheirSessions) {
  write("[alice]\ntoken = 'first'\nmemory = '3M'\n[bob]\ntoken = 'second'\nmemory = '3M'\n");
  ServerProcess server = start({"--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  const auto allocates = [](RawClient& client) {
    client.create_objects(2U << 20U);
    return client.read(1) == CL_SUCCESS;
  };
  Admitted one(endpoint, "first");
  EXPECT_TRUE(allocates(one));
  Admitted two(endpoint, "first");
  EXPECT_FALSE(allocates(two));
  Admitted bob(endpoint, "second");
  EXPECT_TRUE(allocates(bob)) << "his own";
}

TEST_F(Tenants, AreReadAgainWhenTheyHaveChanged) {
  write(two_);
  ServerProcess server = start({"--mixed-tenants"});
  const Endpoint endpoint = server.endpoint();
  Admitted alice(endpoint, "first");
  Admitted bob(endpoint, "second");
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
  EXPECT_EQ(bob.read(1), CL_SUCCESS) << "he has proved who he is before";
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
  Admitted alice(endpoint, "first");
  Admitted bob(endpoint, "second");
  Waiting alice_again(server, "first", "waits for a place: too many sessions of alice");
  Waiting bob_again(server, "second", "waits for a place: too many sessions of bob");
  write("[alice]\ntoken = 'first'\nsessions = 2\n");
  server.signal(SIGHUP);
  EXPECT_EQ(alice_again.await_refusal(), wire::Refusal::none);
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
  Admitted alice(endpoint, "first");
  Waiting waits(server, "second", "waits for a place: too many clients");
  EXPECT_EQ(refusal(endpoint, "second"), "too many clients") << "one may wait for each place";
  alice.stream->shutdown();
  EXPECT_EQ(waits.await_refusal(), wire::Refusal::none);
}

TEST_F(Tenants, WaitNoLongerThanTheyMay) {
  write(two_);
  ServerProcess server = start({"--queue-time", "1"});
  const Endpoint endpoint = server.endpoint();
  Admitted alice(endpoint, "first");
  EXPECT_EQ(refusal(endpoint, "second"), "no place in the time that clients may wait");
  EXPECT_TRUE(server.logs("refused after it has waited"));
}

// Those of the name that is served would otherwise always come first.
TEST_F(Tenants, WhoWaitsForOtherNamesIsNotOvertaken) {
  write(two_);
  ServerProcess server = start({"--queue-time", "600"});
  const Endpoint endpoint = server.endpoint();
  Admitted alice(endpoint, "first");
  Waiting bob(server, "second", "(bob) \"raw client\": waits for a place");
  Waiting again(server, "first", "(alice) \"raw client\": waits for a place");
  alice.stream->shutdown();
  EXPECT_NE(bob.await_welcome(), nullptr);
  bob.stream->shutdown();
  EXPECT_NE(again.await_welcome(), nullptr);
}

TEST_F(Tenants, WhoLeavesWaitsNoMore) {
  write(two_);
  ServerProcess server = start({"--queue-time", "600", "--max-clients", "1"});
  const Endpoint endpoint = server.endpoint();
  Admitted alice(endpoint, "first");
  { const Waiting leaves(server, "second", "waits for a place"); }
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
  EXPECT_EQ(bob.refusal(), wire::Refusal::token) << "the file does not name him";
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
  Admitted alice(endpoint, "first");
  Admitted bob(endpoint, "second");
  Waiting third(server, "first", "(alice) \"raw client\": waits for a place");  // of the first front
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
    EXPECT_EQ(each->await_refusal(), wire::Refusal::none);
    each->stream->shutdown();
  }
}

}  // namespace
}  // namespace cleave::remote
