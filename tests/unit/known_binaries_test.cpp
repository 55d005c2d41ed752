#include "interpose/programs/known_binaries.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::interpose {
namespace {

using Mark = KnownBinaries::Mark;

Binary bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class KnownBinariesTest : public testing::Test {
 protected:
  const kit::TemporaryFolder top_;
  const std::string folder_ = top_.file("cache/cleave");
};

TEST_F(KnownBinariesTest, AreSharedBetweenProcesses) {
  const std::string first = "one";
  const std::string second = "two";
  base::ForkLocks forks;
  KnownBinaries here(forks, folder_);
  EXPECT_FALSE(here.has(Mark::unsplittable, bytes(first)));
  here.note(Mark::unsplittable, bytes(first));
  here.note(Mark::unsplittable, bytes(first));
  EXPECT_TRUE(here.has(Mark::unsplittable, bytes(first)));
  EXPECT_FALSE(here.has(Mark::unsplittable, bytes(second)));
  KnownBinaries there(forks, folder_);
  EXPECT_TRUE(there.has(Mark::unsplittable, bytes(first)));
  EXPECT_FALSE(there.has(Mark::unsplittable, bytes(second)));
  EXPECT_FALSE(there.has(Mark::instrumented, bytes(first)));
  const std::string file = kit::file_contents(folder_ + "/binaries");
  EXPECT_EQ(std::count(file.begin(), file.end(), '\n'), 1);
}

TEST_F(KnownBinariesTest, AreKeptInMemoryWithoutAFolder) {
  const std::string binary = "one";
  base::ForkLocks forks;
  KnownBinaries here(forks, "");
  here.note(Mark::unsplittable, bytes(binary));
  EXPECT_TRUE(here.has(Mark::unsplittable, bytes(binary)));
}

TEST(SplittableBinary, HasThePreludeOrNeedsNone) {
  const auto known = [](kernels::Scan scan, bool tagged) {
    ProgramRecord record;
    record.scan = std::make_shared<const kernels::ProgramScan>(scan);
    if (tagged) record.tagged.push_back(nullptr);
    return is_correct_in_slices(record, nullptr);
  };
  EXPECT_TRUE(known({}, false));
  EXPECT_TRUE(known({.reads_ndrange = true, .reads_global_id = true}, true));
  EXPECT_FALSE(known({.reads_ndrange = true}, false));
  EXPECT_FALSE(known({.reads_global_id = true}, false));
  EXPECT_FALSE(known({.opaque = true}, true));
  EXPECT_FALSE(is_correct_in_slices(ProgramRecord{}, nullptr)) << "nothing is known of it";
  ProgramRecord trusted;
  trusted.trusted = true;
  EXPECT_TRUE(is_correct_in_slices(trusted, nullptr));
}

}  // namespace
}  // namespace cleave::interpose
