// What is written at exit, and where.

#include "interpose/interposer.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::interpose {
namespace {

class Statistics : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  static void write_statistics(const std::string& stats, int launches = 1, bool explain = false) {
    base::Configuration configuration;
    configuration.settings.stats = stats;
    configuration.settings.explain = explain;
    Interposer interposer(Table{}, {"drop-in", "nothing"}, configuration, base::Clock::system());
    for (int i = 0; i < launches; ++i) interposer.counters.of("k").count_unsplit(0);
    interposer.write_summary();
  }

 private:
  const kit::TemporaryFolder folder_;
};

TEST_F(Statistics, ReplaceAFileAtomically) {
  write_statistics(path("stats"));
  write_statistics(path("stats"), 2);
  EXPECT_NE(kit::file_contents(path("stats")).find("\"launches\":2"), std::string::npos);
  EXPECT_EQ(std::system(("test $(ls " + path("") + " | wc -l) -eq 1").c_str()), 0);
}

TEST_F(Statistics, NothingIsWrittenWithoutALaunch) {
  write_statistics(path("stats"), 0);
  EXPECT_NE(access(path("stats").c_str(), F_OK), 0);
}

TEST_F(Statistics, PathMayContainTheProcessId) {
  write_statistics(path("stats-%p.json"));
  EXPECT_EQ(access(path("stats-" + std::to_string(getpid()) + ".json").c_str(), F_OK), 0);
}

TEST_F(Statistics, SymlinkIsKept) {
  std::ofstream(path("target")) << "old";
  ASSERT_EQ(symlink(path("target").c_str(), path("link").c_str()), 0);
  write_statistics(path("link"));
  struct stat status {};
  ASSERT_EQ(lstat(path("link").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_NE(kit::file_contents(path("target")).find("\"version\":1"), std::string::npos);
}

TEST_F(Statistics, PipeIsWrittenTo) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_statistics(path("pipe"));
  char text[64] = {};
  EXPECT_GT(read(reader, text, sizeof text - 1), 0);
  EXPECT_EQ(std::string(text).substr(0, 12), "{\"version\":1");
  close(reader);
  struct stat status {};
  ASSERT_EQ(lstat(path("pipe").c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
}

TEST_F(Statistics, UnwritablePathIsReportedInOneLine) {
  testing::internal::CaptureStderr();
  write_statistics(path("no/such/folder"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("CLEAVE_STATS"), std::string::npos);
  EXPECT_EQ(said.find('\n'), said.size() - 1);
}

TEST_F(Statistics, ExplanationsGoToStandardErrorAndFollowTheTable) {
  constexpr const char* kExplained = "cleave: k: 2 launches, 0 split\ncleave:   2 policy: ";
  for (const std::string& stats : {std::string(), path("stats"), std::string("stderr")}) {
    testing::internal::CaptureStderr();
    write_statistics(stats, 2, true);
    const std::string said = testing::internal::GetCapturedStderr();
    const std::size_t at = said.find(kExplained);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_EQ(at == 0, stats != "stderr") << said;
  }
  testing::internal::CaptureStderr();
  write_statistics("", 0, true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "without a launch";
}

}  // namespace
}  // namespace cleave::interpose
