#include "base/settings/share.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::base {
namespace {

TEST(Share, ACapIsAPercentageInTenths) {
  EXPECT_EQ(parse_cap("30%"), (Cap{300, false}));
  EXPECT_EQ(parse_cap("12.5%"), (Cap{125, false}));
  EXPECT_EQ(parse_cap("0.1%"), (Cap{1, false}));
  EXPECT_EQ(parse_cap("30%,borrow"), (Cap{300, true}));
}

TEST(Share, AllOfTheTimeIsNoCap) {
  EXPECT_EQ(parse_cap("100%"), Cap{});
  EXPECT_EQ(parse_cap("100%,borrow"), Cap{});
  EXPECT_EQ(parse_cap("off"), Cap{});
}

TEST(Share, AnythingElseIsNoCap) {
  for (const char* text : {"", "%", "30", "0%", "0.0%", "101%", "100.1%", "-1%", "30 %", "1.25%", "30.%",
                           "30%,", "30%borrow", "borrow"})
    EXPECT_FALSE(parse_cap(text)) << text;
}

TEST(Share, SizesAreInPowersOf1024) {
  EXPECT_EQ(parse_size("1"), 1U);
  EXPECT_EQ(parse_size("3K"), 3072U);
  EXPECT_EQ(parse_size("512M"), std::uint64_t{512} << 20U);
  EXPECT_EQ(parse_size("2G"), std::uint64_t{2} << 30U);
  EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30U);
  EXPECT_EQ(parse_size("1T"), std::uint64_t{1} << 40U);
  EXPECT_EQ(parse_size("off"), 0U);
}

TEST(Share, AnythingElseIsNoSize) {
  for (const char* text :
       {"", "0", "G", "-1", "1.5G", "2GB", "2 G", "2g", "1025T", "99999999999999999999", "iB", "5iB"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Share, ATenantsNameIsShortAndPlain) {
  EXPECT_TRUE(is_tenant_name("alice"));
  EXPECT_TRUE(is_tenant_name("job_17.batch@host:0/a-b"));
  EXPECT_TRUE(is_tenant_name(std::string(63, 'a')));
  for (const std::string& text : {std::string(), std::string("cgroup"), std::string("a b"),
                                  std::string("a\"b"), std::string("\xC3\xA4"), std::string(64, 'a')})
    EXPECT_FALSE(is_tenant_name(text)) << text;
}

TEST(Share, AControlGroupIsNamedByItsPathInTheUnifiedHierarchy) {
  EXPECT_EQ(tenant_of_control_group("12:cpu:/other\n0::/system.slice/train.service\n", "host"),
            "system.slice/train.service");
  EXPECT_EQ(tenant_of_control_group("4:memory:/docker/0123\n", "host"), "docker/0123");
}

TEST(Share, AContainerThatSeesNoPathIsNamedByItsHostName) {
  EXPECT_EQ(tenant_of_control_group("0::/\n", "3f2a91"), "3f2a91");
  EXPECT_EQ(tenant_of_control_group("0::/../elsewhere\n", "3f2a91"), "3f2a91");
  EXPECT_EQ(tenant_of_control_group("", "3f2a91"), "3f2a91");
  EXPECT_EQ(tenant_of_control_group("rubbish", ""), "");
}

TEST(Share, ALongOrOddControlGroupStillGivesAName) {
  const std::string name = tenant_of_control_group("0::/a b/" + std::string(100, 'x') + "/end\n", "host");
  EXPECT_EQ(name.size(), kMaxTenantName);
  EXPECT_TRUE(name.ends_with("x/end"));
  EXPECT_EQ(tenant_of_control_group("0::/a b\\c\n", "host"), "a_b_c");
}

}  // namespace
}  // namespace cleave::base
