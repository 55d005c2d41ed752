// Who may connect, with what, and for whom there is a place.
#include "remote/server/front/credentials.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "remote/server/supervisor/places.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::server {
namespace {

class CredentialsTest : public testing::Test {
 protected:
  std::string secret(const char* name, const std::string& text) {
    const std::string path = folder_.write(name, text);
    ::chmod(path.c_str(), 0600);
    return path;
  }
  void set_tokens(const std::string& text) { options_.token_file = secret("tokens", text); }
  void set_clients(const std::string& text) { options_.clients_file = secret("clients.toml", text); }
  [[nodiscard]] Credentials read() const { return {options_, CredentialFiles::open(options_)}; }

  // What is wrong with the files; empty: nothing.
  [[nodiscard]] std::string problem() const {
    try {
      static_cast<void>(read());
      return {};
    } catch (const OptionError& error) {
      return error.what();
    }
  }

  const kit::TemporaryFolder folder_;
  Options options_;
};

TEST_F(CredentialsTest, WithoutFilesEverybodyMayConnect) {
  EXPECT_EQ(read().find("", ""), Grant{});
  EXPECT_EQ(read().find("any", "a certificate\n"), Grant{.tenant = "a certificate?"});
}

TEST_F(CredentialsTest, TokensAreReadFromAPrivateFile) {
  set_tokens("# a comment\n\nfirst\nsecond one\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("first", ""), Grant{});
  EXPECT_EQ(known.find("second one", ""), Grant{});
  for (const char* token : {"", "firs", "first ", "# a comment", "second"})
    EXPECT_FALSE(known.find(token, "")) << token;
  ::chmod(options_.token_file.c_str(), 0644);
  EXPECT_EQ(problem(), "--token-file: every user can read " + options_.token_file + "; chmod it to 600");
  set_tokens("# nothing\n");
  EXPECT_EQ(problem(), "--token-file: there is no token in " + options_.token_file);
  options_.token_file = folder_.file("absent");
  EXPECT_NE(problem().find("cannot be read (No such file"), std::string::npos);
  options_.token_file = folder_.path();
  EXPECT_EQ(problem(), "--token-file: " + folder_.path() + " is not a regular file");
}

TEST_F(CredentialsTest, ClientHasItsNameAndLimits) {
  options_.tls.authority = "ca.pem";
  set_clients(
      "[alice]\ntoken = 'first'\nmemory = '2G'\nsessions = 3\nweight = 200\npriority = 'high'\n"
      "[bob]\ncertificate = 'bob.example'\n[\"c d\"]\ntoken = 'third'\ncertificate = 'carol.example'\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("first", ""),
            (Grant{"alice", std::uint64_t{2} << 30U, 3, 200, base::TurnPriority::high}));
  EXPECT_EQ(known.find("", "bob.example"), Grant{.tenant = "bob"});
  EXPECT_EQ(known.find("third", "carol.example"), Grant{.tenant = "c d"});
  EXPECT_EQ(known.find("first", "bob.example")->tenant, "alice") << "both prove one thing";
  EXPECT_FALSE(known.find("", ""));
  EXPECT_FALSE(known.find("third", "")) << "it must prove both";
  EXPECT_FALSE(known.find("third", "mallory.example"));
  EXPECT_FALSE(known.find("", "mallory.example"));
}

TEST_F(CredentialsTest, TokenFileGrantsNoMore) {
  set_tokens("common\n");
  set_clients("[alice]\ntoken = 'own'\nweight = 5\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("common", ""), Grant{});
  EXPECT_EQ(known.find("own", "")->tenant, "alice");
  EXPECT_FALSE(known.find("other", ""));
}

TEST_F(CredentialsTest, MistakesNameTheLineButNoSecret) {
  const auto line = [this](int number) {
    return "--clients-file: " + options_.clients_file + ":" + std::to_string(number) + ": ";
  };
  set_clients("[alice]\ntoken = 'secret'\nmemory = 'much'\n");
  EXPECT_EQ(problem(), line(3) + "memory is not understood; expected bytes, such as \"4G\"");
  set_clients("[alice]\ntoken = 'secret'\nwieght = 3\n");
  EXPECT_EQ(
      problem(),
      line(3) +
          "wieght is not understood; expected token, certificate, memory, sessions, weight or priority");
  set_clients("token = 'secret'\n");
  EXPECT_EQ(problem(), line(1) + "expected a table for each client, such as [alice], with its token in it");
  for (const char* wrong :
       {"weight = 0", "weight = 10001", "sessions = 0", "priority = 'urgent'", "token = ''"}) {
    set_clients("[alice]\n" + std::string(wrong) + "\n");
    EXPECT_TRUE(problem().starts_with(line(2))) << problem();
  }
  set_clients("[alice]\ntoken = 'the secret\n");
  EXPECT_FALSE(problem().empty());
  EXPECT_EQ(problem().find("the secret"), std::string::npos) << problem();
}

TEST_F(CredentialsTest, ClientsMustDiffer) {
  const auto says = [this](const char* words) { return problem().find(words) != std::string::npos; };
  set_clients("[alice]\nweight = 3\n");
  EXPECT_TRUE(says("alice has neither a token nor a certificate"));
  set_clients("[alice]\ncertificate = 'a'\n");
  EXPECT_TRUE(says("alice has a certificate; give --client-ca"));
  set_clients("[alice]\ntoken = 'a'\n[bob]\ntoken = 'a'\n");
  EXPECT_TRUE(says("cannot be told apart"));
  set_clients("# nobody\n");
  EXPECT_TRUE(says("there is no client in it"));
}

Introduction introduction(std::string peer, Grant grant = {}, bool is_query = false) {
  Introduction result;
  result.peer_key = std::move(peer);
  result.client.is_query = is_query;
  result.grant = std::move(grant);
  return result;
}

TEST(Places, AreLimitedByNumberAndPeer) {
  const std::vector<Occupant> served{{false, "a", ""}, {false, "b", ""}, {true, "a", ""}};
  const auto why = [&](const Introduction& newcomer, const PlaceLimits& limits, std::size_t lost = 0) {
    return reason_against(newcomer, served, lost, limits);
  };
  EXPECT_EQ(why(introduction("a"), {.clients = 3}), "");
  EXPECT_EQ(why(introduction("a"), {.clients = 2}), "too many clients");
  EXPECT_EQ(why(introduction("a"), {.clients = 3}, 1), "too many clients");
  EXPECT_EQ(why(introduction("a"), {.clients = 3, .per_peer = 1}), "too many clients of its address or user");
  EXPECT_EQ(why(introduction("c"), {.clients = 3, .per_peer = 1}), "");
  EXPECT_EQ(why(introduction("c", {}, true), {.clients = 2}), "") << "queries have places of their own";
  EXPECT_EQ(why(introduction("c", {}, true), {.clients = 1}), "too many clients");
}

TEST(Places, SessionsOfATenantAreLimited) {
  const std::vector<Occupant> served{{false, "a", "alice"}, {false, "b", "alice"}};
  const PlaceLimits limits{.mixes_tenants = true};
  EXPECT_EQ(reason_against(introduction("c", {.tenant = "alice", .sessions = 3}), served, 0, limits), "");
  EXPECT_EQ(reason_against(introduction("c", {.tenant = "alice", .sessions = 2}), served, 0, limits),
            "too many sessions of alice");
  EXPECT_EQ(reason_against(introduction("c", {.tenant = "bob", .sessions = 1}), served, 0, limits), "");
}

TEST(Places, TenantsAreNotMixedWithoutWalls) {
  const std::vector<Occupant> served{{false, "a", "alice"}};
  const std::vector<Occupant> stranger{{false, "a", ""}};
  const char* const other = "a client of another name is served";
  EXPECT_EQ(reason_against(introduction("b", {.tenant = "alice"}), served, 0, {}), "");
  EXPECT_EQ(reason_against(introduction("a", {.tenant = "bob"}), served, 0, {}), other);
  EXPECT_EQ(reason_against(introduction("a"), served, 0, {}), other);
  EXPECT_EQ(reason_against(introduction("a", {.tenant = "bob"}), stranger, 0, {}), other);
  EXPECT_EQ(reason_against(introduction("a", {.tenant = "bob"}), served, 0, {.mixes_tenants = true}), "");
  EXPECT_EQ(reason_against(introduction("a", {.tenant = "bob"}, true), served, 0, {}), "")
      << "it runs no kernels";
}

TEST(Places, WaitingListKeepsTheOrder) {
  WaitingList list(2);
  for (const char* peer : {"a", "b"}) list.add({introduction(peer), {}}, {});
  EXPECT_TRUE(list.is_full());
  const auto any = [](const WaitingList::Entry&) { return true; };
  const auto of_b = [](const WaitingList::Entry& each) { return each.newcomer.introduction.peer_key == "b"; };
  EXPECT_EQ(list.take_first(of_b)->introduction.peer_key, "b");
  EXPECT_EQ(list.take_first(of_b), std::nullopt);
  EXPECT_FALSE(list.is_full());
  EXPECT_EQ(list.take_first(any)->introduction.peer_key, "a");
  EXPECT_TRUE(list.all().empty());
}

}  // namespace
}  // namespace cleave::remote::server
