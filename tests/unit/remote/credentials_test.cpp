// Who may connect, with what, and for whom there is a place.
#include "remote/server/front/credentials.h"

#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/settings/configuration.h"
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
  [[nodiscard]] Credentials read() const { return {options_, CredentialFiles::read(options_)}; }

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
  EXPECT_EQ(read().find("any", "a certificate\n"), Grant{.tenant = "certificate:a certificate?"});
}

TEST_F(CredentialsTest, TokensAreReadFromAPrivateFile) {
  set_tokens("# a comment\n\nfirst\nsecond one\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("first", ""), Grant{});
  EXPECT_EQ(known.find("second one", ""), Grant{});
  for (const char* token : {"", "firs", "first ", "# a comment", "second"})
    EXPECT_FALSE(known.find(token, "")) << token;
  ::chmod(options_.token_file.c_str(), 0644);
  EXPECT_EQ(problem(),
            "--token-file: every user can read or write " + options_.token_file + "; chmod it to 600");
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
      "[alice]\ntoken = 'first'\nmemory = '2G'\nsessions = 3\nweight = 200\ncap = '30%,borrow'\npriority = "
      "'high'\n"
      "[bob]\ncertificate = 'bob.example'\n[\"c@d\"]\ntoken = 'third'\ncertificate = 'carol.example'\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("first", ""),
            (Grant{"alice", std::uint64_t{2} << 30U, 3, "200", "30%,borrow", "high"}));
  EXPECT_EQ(known.find("", "bob.example"), Grant{.tenant = "bob"});
  EXPECT_EQ(known.find("third", "carol.example"), Grant{.tenant = "c@d"});
  EXPECT_FALSE(known.find("", ""));
  EXPECT_FALSE(known.find("third", "")) << "it must prove both";
  EXPECT_FALSE(known.find("third", "mallory.example"));
  EXPECT_FALSE(known.find("", "mallory.example"));
}

TEST_F(CredentialsTest, CommonTokenIsNoWayToAnotherNameOrOutOfItsLimits) {
  options_.tls.authority = "ca.pem";
  set_tokens("common\n");
  set_clients("[alice]\ntoken = 'own'\nsessions = 1\n[bob]\ncertificate = 'bob.example'\ntoken = 'his'\n");
  const Credentials known = read();
  EXPECT_EQ(known.find("common", ""), Grant{});
  EXPECT_EQ(known.find("own", "")->tenant, "alice");
  EXPECT_EQ(known.find("common", "alice"), Grant{.tenant = "certificate:alice"}) << "it only says so";
  EXPECT_FALSE(known.find("common", "bob.example")) << "he has limits";
  EXPECT_FALSE(known.find("other", ""));
  EXPECT_FALSE(known.find("other", "alice"));
  EXPECT_EQ(known.find("own", "bob.example")->tenant, "alice");
}

TEST_F(CredentialsTest, WhoCouldBeTwoIsNeither) {
  options_.tls.authority = "ca.pem";
  set_clients("[alice]\ntoken = 'a'\n[bob]\ncertificate = 'b'\n[carol]\ntoken = 'a'\ncertificate = 'c'\n");
  EXPECT_FALSE(read().find("a", "b"));
  EXPECT_EQ(read().find("a", "c")->tenant, "carol");
  EXPECT_EQ(read().find("a", "")->tenant, "alice");
}

TEST_F(CredentialsTest, MistakesNameTheLineButNoSecret) {
  const auto line = [this](int number) {
    return "--clients-file: " + options_.clients_file + ":" + std::to_string(number) + ": ";
  };
  set_clients("[alice]\ntoken = 'secret'\nmemory = 'much'\n");
  EXPECT_EQ(problem(), line(3) + "not understood; expected memory in bytes, such as \"4G\"");
  set_clients("[alice]\ntoken = 'secret'\nwieght = 3\n");
  EXPECT_EQ(
      problem(),
      line(3) + "not understood; expected token, certificate, memory, sessions, weight, cap or priority");
  set_clients("token = 'secret'\n");
  EXPECT_EQ(problem(), line(1) + "expected a table for each client, such as [alice], with its token in it");
  for (const char* wrong : {"weight = 0", "weight = 10001", "sessions = 0", "priority = 'urgent'",
                            "token = ''", "cap = '0%'", "cap = 30"}) {
    set_clients("[alice]\n" + std::string(wrong) + "\n");
    EXPECT_TRUE(problem().starts_with(line(2))) << problem();
  }
  set_clients("[alice]\ntoken = 'first'\n[bob]\n");
  EXPECT_EQ(problem(), line(3) + "a table without a token or a certificate");
  for (const char* name : {"certificate:alice", "a b", ""}) {
    set_clients("['" + std::string(name) + "']\ntoken = 'first'\n");
    EXPECT_TRUE(problem().starts_with(line(2) + "a client's name has")) << problem();
  }
  for (const char* broken :
       {"[alice]\ntoken = 'the secret\n", "[alice]\nthe secret = 1\n", "[alice]\nthe-secret = 1\n"}) {
    set_clients(broken);
    EXPECT_FALSE(problem().empty());
    EXPECT_EQ(problem().find("secret"), std::string::npos) << problem();
  }
}

// As what the parser would write in place of them they would be known to everybody.
TEST_F(CredentialsTest, SecretsAreStrings) {
  for (const char* token : {"2026-11-25", "[1]", "['old', 'new']", "true", "0x1F", "1.5"}) {
    set_clients("[alice]\ntoken = " + std::string(token) + "\n");
    EXPECT_NE(problem().find("expected token = \"...\""), std::string::npos) << token << ": " << problem();
  }
}

TEST_F(CredentialsTest, ClientsMustDiffer) {
  const auto says = [this](const char* words) { return problem().find(words) != std::string::npos; };
  set_clients("[alice]\nweight = 3\n");
  EXPECT_TRUE(says("alice has neither a token nor a certificate"));
  set_clients("[alice]\ncertificate = 'a'\n");
  EXPECT_TRUE(says("alice has a certificate; give --client-ca"));
  set_clients("[alice]\ntoken = 'a'\n[bob]\ntoken = 'a'\n");
  EXPECT_TRUE(says("cannot be told apart"));
  options_.tls.authority = "ca.pem";
  set_clients("[alice]\ncertificate = 'a'\n[bob]\ncertificate = 'a'\n");
  EXPECT_TRUE(says("cannot be told apart"));
  set_clients("# nobody\n");
  EXPECT_TRUE(says("there is no client in it"));
}

TEST_F(CredentialsTest, CopiesStayAsTheyAre) {
  set_clients("[alice]\ntoken = 'first'\n");
  const CredentialFiles copies = CredentialFiles::read(options_);
  set_clients("[alice]\ntoken = 'second'\n");
  EXPECT_TRUE(Credentials(options_, copies).find("first", ""));
  EXPECT_FALSE(Credentials(options_, copies).find("second", ""));
  EXPECT_NE(::ftruncate(copies.clients.get(), 0), 0) << "its reader could change it";
}

TEST_F(CredentialsTest, WhatNamesAreGrantedIsKnownWithoutProof) {
  set_clients("[alice]\ntoken = 'first'\nsessions = 3\n[bob]\ntoken = 'second'\n");
  const NamedGrants named = read().named();
  Grant alice{.tenant = "alice", .memory = 5, .sessions = 1};
  named.renew(alice);
  EXPECT_EQ(alice, (Grant{.tenant = "alice", .sessions = 3}));
  EXPECT_TRUE(named.has("bob"));
  EXPECT_FALSE(named.has("carol"));
  for (const char* const name : {"", "certificate:carol"}) {
    Grant other{.tenant = name, .sessions = 1};
    EXPECT_TRUE(named.has(name)) << "is not the file's";
    named.renew(other);
    EXPECT_EQ(other, (Grant{.tenant = name, .sessions = 1}));
  }
  EXPECT_TRUE(NamedGrants().has(""));
}

TEST_F(CredentialsTest, ManyClientsTakeNoTime) {
  std::string text;
  for (int i = 0; i < 10'000; ++i)
    text += "[c" + std::to_string(i) + "]\ntoken = 't" + std::to_string(i) + "'\n";
  set_clients(text);
  EXPECT_EQ(read().find("t9999", "")->tenant, "c9999");
  set_clients(text + "[more]\ntoken = 'more'\n");
  EXPECT_NE(problem().find("more than 10000 clients"), std::string::npos);
}

TEST(Grant, IsTheSettingsOfTheClientsSplitter) {
  const base::Environment server = [](const char* name) -> const char* {
    if (std::string_view(name) == "CLEAVE_WEIGHT") return "7";
    if (std::string_view(name) == "CLEAVE_TENANT") return "the-servers";
    return std::string_view(name) == "CLEAVE_ALPHA" ? "3" : nullptr;
  };
  const base::Settings all =
      base::load(environment_for({"alice", 1U << 20U, 3, "200", "30.5%,borrow", "background"}, server))
          .settings;
  EXPECT_EQ(all.limits.tenant, "alice");
  EXPECT_EQ(all.limits.memory, 1U << 20U);
  EXPECT_EQ(all.limits.cap, (base::Cap{305, true}));
  EXPECT_EQ(all.turns.weight, 200U);
  EXPECT_EQ(all.turns.priority, base::TurnPriority::background);
  const base::Settings none = base::load(environment_for({.tenant = "certificate: \n"}, server)).settings;
  EXPECT_EQ(none.limits.tenant, "") << "it is no name, and not the server's either";
  EXPECT_EQ(none.turns.weight, 7U);
  EXPECT_EQ(none.limits.memory, 0U);
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
    return obstacle_for(newcomer, served, lost, limits);
  };
  EXPECT_EQ(why(introduction("a"), {.clients = 3}), Obstacle::none);
  EXPECT_EQ(why(introduction("a"), {.clients = 2}), Obstacle::clients);
  EXPECT_EQ(why(introduction("a"), {.clients = 3}, 1), Obstacle::clients);
  EXPECT_EQ(why(introduction("a"), {.clients = 3, .per_peer = 1}), Obstacle::peer);
  EXPECT_EQ(why(introduction("c"), {.clients = 3, .per_peer = 1}), Obstacle::none);
  EXPECT_EQ(why(introduction("c", {}, true), {.clients = 2}), Obstacle::none)
      << "queries have places of their own";
  EXPECT_EQ(why(introduction("c", {}, true), {.clients = 1}), Obstacle::clients);
}

TEST(Places, SessionsOfATenantAreLimited) {
  const std::vector<Occupant> served{{false, "a", "alice"}, {false, "b", "alice"}};
  const PlaceLimits limits{.mixes_tenants = true};
  const auto why = [&](const Grant& grant) {
    return obstacle_for(introduction("c", grant), served, 0, limits);
  };
  EXPECT_EQ(why({.tenant = "alice", .sessions = 3}), Obstacle::none);
  EXPECT_EQ(why({.tenant = "alice", .sessions = 2}), Obstacle::sessions);
  EXPECT_EQ(why({.tenant = "bob", .sessions = 1}), Obstacle::none);
}

TEST(Places, TenantsAreNotMixedWithoutWalls) {
  const std::vector<Occupant> served{{false, "a", "alice"}};
  const std::vector<Occupant> stranger{{false, "a", ""}};
  const auto why = [](const Introduction& newcomer, const std::vector<Occupant>& present,
                      bool mixes = false) {
    return obstacle_for(newcomer, present, 0, {.mixes_tenants = mixes});
  };
  EXPECT_EQ(why(introduction("b", {.tenant = "alice"}), served), Obstacle::none);
  EXPECT_EQ(why(introduction("a", {.tenant = "bob"}), served), Obstacle::other_names);
  EXPECT_EQ(why(introduction("a"), served), Obstacle::other_names);
  EXPECT_EQ(why(introduction("a", {.tenant = "bob"}), stranger), Obstacle::other_names);
  EXPECT_EQ(why(introduction("a"), stranger), Obstacle::none);
  EXPECT_EQ(why(introduction("a", {.tenant = "bob"}), served, true), Obstacle::none);
  EXPECT_EQ(why(introduction("a", {.tenant = "bob"}, true), served), Obstacle::none) << "it runs no kernels";
}

TEST(WaitingList, KeepsTheOrder) {
  WaitingList list(4);
  for (const char* peer : {"a", "b", "c"}) list.add({introduction(peer), {}}, {});
  const auto next = [&](std::string_view served) {
    const auto taken = list.take_next([&](const Introduction& each) {
      return served.find(each.peer_key) == std::string_view::npos ? Obstacle::clients : Obstacle::none;
    });
    return taken ? taken->introduction.peer_key : "none";
  };
  EXPECT_EQ(next("d"), "none");
  EXPECT_EQ(next("cb"), "b");
  EXPECT_EQ(next("cb"), "c");
  EXPECT_EQ(next("a"), "a");
  EXPECT_TRUE(list.all().empty());
}

// Otherwise those of the name that is served could keep it out for ever.
TEST(WaitingList, WhoWaitsForOtherNamesIsNotOvertaken) {
  WaitingList list(4);
  for (const char* peer : {"alice", "bob", "alice's second"}) list.add({introduction(peer), {}}, {});
  const auto of_bob = [](const Introduction& each) {
    return each.peer_key == "bob" ? Obstacle::other_names : Obstacle::none;
  };
  EXPECT_EQ(list.take_next(of_bob)->introduction.peer_key, "alice");
  EXPECT_FALSE(list.take_next(of_bob)) << "bob is next";
}

TEST(WaitingList, OnePeerOrNameHasHalfOfIt) {
  WaitingList list(4);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(list.has_place_for(introduction("a", {.tenant = "alice"})));
    list.add({introduction("a", {.tenant = "alice"}), {}}, {});
  }
  EXPECT_FALSE(list.has_place_for(introduction("a")));
  EXPECT_FALSE(list.has_place_for(introduction("b", {.tenant = "alice"})));
  for (const char* peer : {"b", "c"}) {
    ASSERT_TRUE(list.has_place_for(introduction(peer)));
    list.add({introduction(peer), {}}, {});
  }
  EXPECT_FALSE(list.has_place_for(introduction("d"))) << "it is full";
}

}  // namespace
}  // namespace cleave::remote::server
