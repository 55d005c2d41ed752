#include "interpose/programs/allowed_kernels.h"

#include <gtest/gtest.h>

namespace cleave::interpose {
namespace {

TEST(AllowedKernels, AreTheUsersAndThoseKnownOfAProgram) {
  base::Configuration configuration;
  EXPECT_FALSE(is_allowed(configuration, "scan_a"));
  configuration.settings.allow = {"scan_*"};
  EXPECT_TRUE(is_allowed(configuration, "scan_a"));
  EXPECT_FALSE(is_allowed(configuration, "m00000_m04"));
  configuration.program = "/opt/hashcat/hashcat.bin";
  EXPECT_TRUE(is_allowed(configuration, "m00000_m04"));
  EXPECT_FALSE(is_allowed(configuration, "main"));
  configuration.program = "/opt/hashcat/other";
  EXPECT_FALSE(is_allowed(configuration, "m00000_m04"));
}

}  // namespace
}  // namespace cleave::interpose
