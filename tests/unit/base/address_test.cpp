#include "base/address.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::base {
namespace {

using Kind = Address::Kind;

TEST(Address, ParsesAllThreeForms) {
  EXPECT_EQ(parse_address("unix:/run/a b.sock")->path, "/run/a b.sock");
  EXPECT_EQ(parse_address("unix:@name")->path, "@name");
  const auto tcp = parse_address("tcp:host.example:27460");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(tcp->kind, Kind::tcp);
  EXPECT_EQ(tcp->host, "host.example");
  EXPECT_EQ(tcp->port, 27460U);
  EXPECT_EQ(parse_address("tcp:[::1]:1")->host, "::1");
  const auto vsock = parse_address("vsock:3:4294967294");
  ASSERT_TRUE(vsock);
  EXPECT_EQ(vsock->kind, Kind::vsock);
  EXPECT_EQ(vsock->cid, 3U);
  EXPECT_EQ(vsock->port, UINT32_MAX - 1);
  EXPECT_EQ(parse_address("vsock:any:1")->cid, Address::kAnyCid);
  EXPECT_EQ(parse_address("vsock:host:1")->cid, Address::kHostCid);
}

TEST(Address, TextRoundTrips) {
  for (const char* const text :
       {"unix:/x", "unix:@x", "tcp:a:0", "tcp:[::]:65535", "vsock:2:1", "vsock:any:1"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(as_text(*address), text);
  }
}

TEST(Address, RejectsMalformedText) {
  for (const std::string text : {"",
                                 "unix:",
                                 "unix:x",
                                 "unix:/",
                                 "unix:@",
                                 "tcp:",
                                 "tcp::1",
                                 "tcp:a",
                                 "tcp:a:",
                                 "tcp:a:65536",
                                 "tcp:a:-1",
                                 "tcp:::1:1",
                                 "tcp:[]:1",
                                 "vsock:",
                                 "vsock:1",
                                 "vsock:x:1",
                                 "vsock:4294967295:1",
                                 "vsock:1:4294967295",
                                 "UNIX:/x",
                                 "udp:a:1",
                                 " unix:/x"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  EXPECT_FALSE(parse_address("unix:/" + std::string(107, 'x')));
  EXPECT_TRUE(parse_address("unix:/" + std::string(106, 'x')));
  EXPECT_FALSE(parse_address(std::string("unix:/a\0b", 9)));
  EXPECT_FALSE(parse_address("tcp:" + std::string(254, 'x') + ":1"));
}

}  // namespace
}  // namespace cleave::base
