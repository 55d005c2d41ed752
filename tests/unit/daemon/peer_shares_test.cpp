#include "daemon/peer_shares.h"

#include <sstream>

#include <gtest/gtest.h>

namespace cleave::daemon {
namespace {

using WhenFull = PeerShares::WhenFull;

TEST(PeerShares, OnePeerLeavesPlacesForOthers) {
  PeerShares shares(4, 0, WhenFull::newcomers_wait);
  for (PeerShares::Id id = 1; id <= 4; ++id) EXPECT_TRUE(shares.add(id, {"many"}).granted);
  EXPECT_FALSE(shares.add(5, {"many"}).granted);
  const auto first = shares.add(6, {"few"});
  EXPECT_TRUE(first.granted);
  EXPECT_EQ(first.instead, 4U) << "those who came first stay";
  EXPECT_EQ(shares.add(7, {"few"}).instead, 3U);
  EXPECT_FALSE(shares.add(8, {"few"}).granted) << "it has as many as the other";
  EXPECT_EQ(shares.add(9, {"third"}).instead, 2U) << "by name the last of those with the most";
  EXPECT_EQ(shares.taken(), 4U);
}

TEST(PeerShares, SharesDoNotSwingToAndFro) {
  PeerShares shares(3, 0, WhenFull::newcomers_wait);
  shares.add(1, {"a"});
  shares.add(2, {"a"});
  shares.add(3, {"b"});
  EXPECT_FALSE(shares.add(4, {"b"}).granted) << "it would have more than the other then";
}

TEST(PeerShares, APeerHasALimitOfItsOwn) {
  PeerShares shares(10, 2, WhenFull::newcomers_wait);
  shares.add(1, {"a"});
  shares.add(2, {"a"});
  EXPECT_FALSE(shares.add(3, {"a"}).granted);
  shares.remove(1);
  shares.remove(1);
  EXPECT_TRUE(shares.add(4, {"a"}).granted);
  EXPECT_TRUE(shares.add(5, {"b"}).granted);
}

TEST(PeerShares, TheOldestMayGo) {
  PeerShares shares(4, 3, WhenFull::oldest_goes);
  shares.add(1, {"a"});
  shares.add(2, {"a"});
  shares.add(3, {"a"});
  const auto own = shares.add(4, {"a"});
  EXPECT_TRUE(own.granted);
  EXPECT_EQ(own.instead, 1U);
  EXPECT_FALSE(shares.add(5, {"b"}).instead);
  EXPECT_EQ(shares.add(6, {"b"}).instead, 2U);
  EXPECT_EQ(shares.add(7, {"b"}).instead, 5U) << "of two peers with the most, the newcomer's";
  EXPECT_EQ(shares.taken(), 4U);
}

TEST(PeerShares, ManyAddressesKeepNobodyOfThisHostOut) {
  for (const PeerRank rank : {PeerRank::local, PeerRank::privileged}) {
    PeerShares shares(3, 0, WhenFull::newcomers_wait);
    PeerShares::Id id = 0;
    for (const char* address : {"a", "b", "c"}) shares.add(++id, {address, PeerRank::network});
    EXPECT_FALSE(shares.add(++id, {"d", PeerRank::network}).granted) << "of equals those who came first stay";
    const auto place = shares.add(++id, {"user", rank});
    EXPECT_TRUE(place.granted);
    EXPECT_EQ(place.instead, 3U);
    EXPECT_TRUE(shares.add(++id, {"user", rank}).granted);
    EXPECT_TRUE(shares.add(++id, {"user", rank}).granted);
    EXPECT_EQ(shares.taken(), 3U);
  }
}

TEST(PeerShares, NobodyTakesAPrivilegedPeersPlace) {
  PeerShares shares(4, 0, WhenFull::newcomers_wait);
  for (PeerShares::Id id = 1; id <= 4; ++id) shares.add(id, {"root", PeerRank::privileged});
  EXPECT_FALSE(shares.add(5, {"user", PeerRank::local}).granted);
  EXPECT_FALSE(shares.add(6, {"a", PeerRank::network}).granted);
  EXPECT_EQ(shares.add(7, {"own", PeerRank::privileged}).instead, 4U) << "but another one that has few";
}

TEST(PeerShares, ALocalPeerSharesWithTheNetwork) {
  PeerShares shares(4, 0, WhenFull::newcomers_wait);
  for (PeerShares::Id id = 1; id <= 4; ++id) shares.add(id, {"user", PeerRank::local});
  EXPECT_EQ(shares.add(5, {"a", PeerRank::network}).instead, 4U);
  EXPECT_EQ(shares.add(6, {"b", PeerRank::network}).instead, 3U);
  EXPECT_EQ(shares.add(7, {"c", PeerRank::network}).instead, 2U);
  EXPECT_FALSE(shares.add(8, {"d", PeerRank::network}).granted) << "it keeps one";
  EXPECT_EQ(shares.add(9, {"user", PeerRank::local}).instead, 7U);
}

TEST(PeerShares, LimitsMayChange) {
  PeerShares shares(2, 0, WhenFull::newcomers_wait);
  shares.add(1, {"a"});
  shares.add(2, {"b"});
  EXPECT_FALSE(shares.add(3, {"c"}).granted);
  shares.set_limits(4, 1);
  EXPECT_TRUE(shares.add(4, {"c"}).granted);
  EXPECT_FALSE(shares.add(5, {"c"}).granted);
  shares.set_limits(1, 0);
  EXPECT_FALSE(shares.add(6, {"d"}).granted);
  EXPECT_EQ(shares.taken(), 3U) << "those who have a place keep it";
}

// As newuidmap(1) makes them for every user.
TEST(PeerShares, SubordinateUsersOfOneUserAreOnePeer) {
  std::istringstream lines(
      "# none\nalice:100000:65536\nbroken\n1001:165536:65536\nhuge:300000:18446744073709551615\n");
  const SubordinateUsers subordinates(lines);
  EXPECT_EQ(user_peer(99999, subordinates).key, "user 99999");
  EXPECT_EQ(user_peer(165536, subordinates).key, "subordinate users of 1001");
  EXPECT_EQ(user_peer(4000000000, subordinates).key, "subordinate users of huge");
  PeerShares shares(100, 0, PeerShares::WhenFull::newcomers_wait);
  PeerShares::Id id = 0;
  for (uid_t user = 100000; user < 100100; ++user)
    EXPECT_TRUE(shares.add(++id, user_peer(user, subordinates)).granted);
  EXPECT_TRUE(shares.add(++id, user_peer(1000, subordinates)).granted) << "another user finds no place";
  EXPECT_EQ(shares.taken(), 100U);
}

}  // namespace
}  // namespace cleave::daemon
