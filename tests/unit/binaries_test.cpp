#include "interpose/binaries.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace cleave::interpose {
namespace {

using Mark = Binaries::Mark;

Binary bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class BinariesTest : public testing::Test {
 protected:
  BinariesTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~BinariesTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "cleave-binaries-XXXXXX").string();
};

TEST_F(BinariesTest, AreKnownAgainByOtherProcesses) {
  const std::string first = "one";
  const std::string second = "two";
  Binaries here(folder_ + "/cache/cleave");
  EXPECT_FALSE(here.has(Mark::refused, bytes(first)));
  here.note(Mark::refused, bytes(first));
  here.note(Mark::refused, bytes(first));
  EXPECT_TRUE(here.has(Mark::refused, bytes(first)));
  EXPECT_FALSE(here.has(Mark::refused, bytes(second)));
  Binaries there(folder_ + "/cache/cleave");
  EXPECT_TRUE(there.has(Mark::refused, bytes(first)));
  EXPECT_FALSE(there.has(Mark::refused, bytes(second)));
  EXPECT_FALSE(there.has(Mark::dressed, bytes(first)));
  std::ifstream file(folder_ + "/cache/cleave/binaries");
  std::string line;
  std::size_t lines = 0;
  while (std::getline(file, line)) ++lines;
  EXPECT_EQ(lines, 1U);
}

TEST_F(BinariesTest, AreKnownInThisProcessWithoutAFolder) {
  const std::string binary = "one";
  Binaries here("");
  here.note(Mark::refused, bytes(binary));
  EXPECT_TRUE(here.has(Mark::refused, bytes(binary)));
}

TEST(RightInSlices, IsWhatHasThePreludeOrNeedsNone) {
  const auto known = [](kernels::Scan scan, bool tagged) {
    ProgramRecord record;
    record.scan = std::make_shared<const kernels::ProgramScan>(scan);
    if (tagged) record.tagged.push_back(nullptr);
    return is_right_in_slices(record, nullptr);
  };
  EXPECT_TRUE(known({}, false));
  EXPECT_TRUE(known({.sees = true, .ids = true}, true));
  EXPECT_FALSE(known({.sees = true}, false));
  EXPECT_FALSE(known({.ids = true}, false));
  EXPECT_FALSE(known({.opaque = true}, true));
  EXPECT_FALSE(is_right_in_slices(ProgramRecord{}, nullptr)) << "nothing is known of it";
  ProgramRecord trusted;
  trusted.trusted = true;
  EXPECT_TRUE(is_right_in_slices(trusted, nullptr));
}

}  // namespace
}  // namespace cleave::interpose
