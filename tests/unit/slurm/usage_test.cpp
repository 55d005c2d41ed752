#include "slurm/usage.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "slurm/command.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::slurm {
namespace {

TEST(Usage, IsOneLineOfTheNode) {
  EXPECT_EQ(text_of({.device = 12'345'678'901, .waited = 3'210'000, .processes = 4, .memory = 0}, "GPU1"),
            "cleave gpu1 device=12.345s waited=0.003s processes=4");
  EXPECT_EQ(text_of({.device = 0, .waited = 0, .processes = 1, .memory = 256 << 20}, "gpu1"),
            "cleave gpu1 device=0.000s waited=0.000s processes=1 memory=262144k");
}

TEST(Usage, PartsOfOtherNodesAndOthersTextsAreKept) {
  EXPECT_EQ(with_part("", "cleave gpu1 a"), "cleave gpu1 a");
  EXPECT_EQ(with_part("cleave gpu1 a", "cleave gpu2 b"), "cleave gpu1 a; cleave gpu2 b");
  EXPECT_EQ(with_part("checked; cleave gpu1 a; cleave gpu2 b", "cleave gpu1 c"),
            "checked; cleave gpu1 c; cleave gpu2 b");
  EXPECT_EQ(with_part("cleave gpu1 a", "cleave gpu1 a"), "cleave gpu1 a");
  EXPECT_EQ(with_part("cleave gpu1 a; x", "cleave gpu1 b"), "cleave gpu1 b; x");
  EXPECT_EQ(with_part("cleave gpu10 a", "cleave gpu1 b"), "cleave gpu10 a; cleave gpu1 b");
}

TEST(Usage, TheLargestPeakIsFoundInWhatProcessesHaveLeft) {
  const kit::TemporaryFolder folder;
  EXPECT_EQ(largest_peak(folder.file("nothing")), 0U);
  folder.write("1.json", R"({"memory":[{"bytes":1,"peak_bytes":100},{"peak_bytes": 4096}]})");
  folder.write("2.json",
               R"({"peak_bytes":300,"peak_bytes":99999999999999999999999,"peak_bytes":"x","peak_bytes":)");
  folder.write("3.txt", R"({"peak_bytes":5000})");
  std::filesystem::create_symlink(folder.file("3.txt"), folder.file("4.json"));
  EXPECT_EQ(largest_peak(folder.path()), 4096U);
}

TEST(Command, RunsWithoutAShellAndEndsInTime) {
  using namespace std::chrono_literals;
  EXPECT_EQ(run_command({"printf", "%s|", "a b", "$HOME"}, 30s).output, "a b|$HOME|");
  EXPECT_EQ(run_command({"false"}, 30s).status, 1);
  EXPECT_EQ(run_command({"cleave-no-such-command"}, 30s).status, 127);
  EXPECT_EQ(run_command({"sleep", "1000"}, 50ms).status, 128 + 9);
}

}  // namespace
}  // namespace cleave::slurm
