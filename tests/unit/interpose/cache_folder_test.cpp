#include "interpose/state/cache_folder.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/kit/hostile_file.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

constexpr std::size_t kMax = 1000;

class CacheFolder : public testing::Test {
 protected:
  std::string path() const { return folder + "/file"; }
  std::string read() const { return read_file(folder, "file", kMax); }
  void rewrite(const std::string& text) const {
    rewrite_file(folder, "file", kMax, [&](const std::string& old) { return old + text; });
  }

  const kit::TemporaryFolder top;
  const std::string folder = top.file("cache/cleave");
};

TEST_F(CacheFolder, FileIsCreatedAndReplaced) {
  EXPECT_EQ(read(), "");
  rewrite("a");
  rewrite("b");
  EXPECT_EQ(read(), "ab");
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(CacheFolder, IgnoresOversizedAndSpecialFiles) {
  rewrite(std::string(kMax + 1, 'x'));
  EXPECT_EQ(read(), "");
  rewrite("short");
  EXPECT_EQ(read(), "short") << "and is replaced";
  unlink(path().c_str());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(read(), "");
  unlink(path().c_str());
  const std::string secret = top.write("secret", "secret");
  ASSERT_EQ(symlink(secret.c_str(), path().c_str()), 0);
  EXPECT_EQ(read(), "");
  rewrite("mine");
  EXPECT_EQ(read(), "mine");
  EXPECT_EQ(kit::file_contents(secret), "secret") << "a link's target is not written to";
}

TEST_F(CacheFolder, DoesNotBlockOnAHeldLock) {
  rewrite("a");
  const int guard = open((path() + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(guard, 0);
  ASSERT_EQ(flock(guard, LOCK_EX), 0);
  const auto start = std::chrono::steady_clock::now();
  rewrite("b");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(read(), "a");
  close(guard);
  rewrite("b");
  EXPECT_EQ(read(), "ab");
}

TEST_F(CacheFolder, DoesNotBlockOnAPipe) {
  std::filesystem::create_directories(folder);
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  append_line(folder, "file", "one\n");
  EXPECT_EQ(read(), "");
}

TEST_F(CacheFolder, NothingDoneToItsFilesHoldsUpAProgram) {
  for (const char* const end : {"", ".new", ".lock"}) {
    for (const kit::HostileFile& attack : kit::hostile_files(1 << 20)) {
      rewrite("a");
      EXPECT_EQ(read(), "a");
      const kit::Attack attacker(attack, path() + end);
      kit::must_return(attack.name + ": file" + end, [&] {
        EXPECT_LE(read().size(), kMax);
        append_line(folder, "file", "one\n");
        rewrite("b");
        EXPECT_LE(read().size(), kMax);
      });
      std::filesystem::remove_all(folder);
    }
  }
}

TEST_F(CacheFolder, UnwritableFolderIsNoError) {
  top.write("cache", "in the way");
  rewrite("a");
  EXPECT_EQ(read(), "");
}

TEST_F(CacheFolder, ConcurrentWritersSeeEachOthersData) {
  rewrite("");
  kit::on_threads(2, [&](std::size_t) {
    for (int i = 0; i < 10; ++i) rewrite("x");
  });
  const std::string text = read();
  EXPECT_EQ(text, std::string(text.size(), 'x'));
  EXPECT_GE(text.size(), 10U);
}

}  // namespace
}  // namespace cleave::interpose
