#include "interpose/programs/known_binaries.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

using kernels::Scan;
using Scans = BinaryFacts::Scans;

Binary bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

BinaryFacts tagged_facts(const Scan& whole = {.reads_ndrange = true}) {
  BinaryFacts facts;
  facts.scans = std::make_shared<const Scans>(Scans{whole, {{"add", {}}}});
  facts.tagged = facts.may_have_prelude = true;
  return facts;
}

class KnownBinariesTest : public testing::Test {
 protected:
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_ + "/known-binaries");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  const kit::TemporaryFolder top_;
  const std::string folder_ = top_.file("cache/cleave");
  const std::string first_ = "one";
  const std::string second_ = "two";
  const std::string driver_ = "the driver";
  base::ForkLocks forks_;
};

TEST_F(KnownBinariesTest, AreSharedBetweenProcesses) {
  KnownBinaries here(forks_, folder_);
  EXPECT_FALSE(here.find(bytes(first_), driver_));
  here.note(bytes(first_), driver_, tagged_facts());
  here.note(bytes(first_), driver_, tagged_facts());
  KnownBinaries there(forks_, folder_);
  for (KnownBinaries* each : {&here, &there}) {
    const auto found = each->find(bytes(first_), driver_);
    ASSERT_TRUE(found);
    EXPECT_TRUE(*found == tagged_facts());
    EXPECT_FALSE(each->find(bytes(second_), driver_));
    EXPECT_FALSE(each->find(bytes(first_ + "x"), driver_)) << "another binary that begins like this";
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(KnownBinariesTest, AreKeptInMemoryWithoutAFolder) {
  KnownBinaries here(forks_, "");
  here.note(bytes(first_), driver_, tagged_facts());
  const auto found = here.find(bytes(first_), driver_);
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == tagged_facts());
  EXPECT_FALSE(KnownBinaries(forks_, "").find(bytes(first_), driver_));
}

TEST_F(KnownBinariesTest, OfAnotherDriverOnlyMayHaveThePrelude) {
  for (const std::string& folder : {std::string(), folder_}) {
    KnownBinaries here(forks_, folder);
    here.note(bytes(first_), driver_, tagged_facts());
    const auto found = here.find(bytes(first_), driver_ + " 2");
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->scans);
    EXPECT_FALSE(found->tagged);
    EXPECT_TRUE(found->may_have_prelude);
  }
  const auto found = KnownBinaries(forks_, folder_).find(bytes(first_), driver_ + " 2");
  EXPECT_TRUE(found && !found->scans && found->may_have_prelude) << "in a later process";
}

TEST_F(KnownBinariesTest, DamagedFilesAreLearntAgain) {
  KnownBinaries(forks_, folder_).note(bytes(first_), driver_, tagged_facts());
  for (const auto& file : std::filesystem::directory_iterator(folder_ + "/known-binaries"))
    std::filesystem::resize_file(file.path(), 20);
  KnownBinaries here(forks_, folder_);
  const auto found = here.find(bytes(first_), driver_);
  EXPECT_TRUE(found && !found->scans) << "it came from Cleave, and no more is known";
  here.note(bytes(first_), driver_, tagged_facts());
  const auto again = KnownBinaries(forks_, folder_).find(bytes(first_), driver_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again == tagged_facts());
}

TEST_F(KnownBinariesTest, TwoBuildsWithTheSameBytesAreMerged) {
  BinaryFacts plain = tagged_facts({.communicates = true});
  plain.tagged = false;
  KnownBinaries(forks_, folder_).note(bytes(first_), driver_, tagged_facts());
  KnownBinaries(forks_, folder_).note(bytes(first_), driver_, plain);
  const auto found = KnownBinaries(forks_, folder_).find(bytes(first_), driver_);
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == merge(tagged_facts(), plain));
}

// A file holds so much and no more.
TEST_F(KnownBinariesTest, ManyKernelsCountAsTheirProgramInALaterProcess) {
  Scans scans{{.reads_ndrange = true}, {}};
  for (int i = 0; i < 5000; ++i) scans.kernels.emplace("kernel" + std::to_string(i), Scan{});
  BinaryFacts facts = tagged_facts();
  facts.scans = std::make_shared<const Scans>(scans);
  KnownBinaries here(forks_, folder_);
  here.note(bytes(first_), driver_, facts);
  const auto same = here.find(bytes(first_), driver_);
  ASSERT_TRUE(same && same->scans);
  EXPECT_EQ(same->scans->kernels.size(), 5000U);
  const auto later = KnownBinaries(forks_, folder_).find(bytes(first_), driver_);
  ASSERT_TRUE(later && later->scans);
  EXPECT_TRUE(later->scans->kernels.empty());
  EXPECT_EQ(later->scans->whole, scans.whole);
}

TEST_F(KnownBinariesTest, TheOldestInMemoryAreForgottenButNotWhereTheyComeFrom) {
  KnownBinaries here(forks_, "");
  for (int i = 0; i < 5000; ++i) here.note(bytes("binary" + std::to_string(i)), driver_, tagged_facts());
  const auto oldest = here.find(bytes("binary0"), driver_);
  ASSERT_TRUE(oldest);
  EXPECT_FALSE(oldest->scans);
  EXPECT_TRUE(oldest->may_have_prelude);
  const auto newest = here.find(bytes("binary4999"), driver_);
  EXPECT_TRUE(newest && newest->scans);
}

TEST_F(KnownBinariesTest, SeveralProcessesNoteAtOnce) {
  kit::on_threads(4, [&](std::size_t) {
    base::ForkLocks forks;
    KnownBinaries here(forks, folder_);
    for (int i = 0; i < 25; ++i) {
      const std::string binary = "binary" + std::to_string(i);
      here.note(bytes(binary), driver_, tagged_facts());
      const auto found = here.find(bytes(binary), driver_);
      EXPECT_TRUE(found && *found == tagged_facts());
    }
  });
  KnownBinaries later(forks_, folder_);
  for (int i = 0; i < 25; ++i) {
    const auto found = later.find(bytes("binary" + std::to_string(i)), driver_);
    EXPECT_TRUE(found && *found == tagged_facts()) << i;
  }
  EXPECT_EQ(files(), 25U);
}

}  // namespace
}  // namespace cleave::interpose
