#include "interpose/state/entry_folder.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

namespace fs = std::filesystem;

class Entries : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder + "/" + name; }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  static void set_age(const std::string& file, std::time_t seconds) {
    const std::timespec then{std::time(nullptr) - seconds, 0};
    const std::timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }

  const kit::TemporaryFolder top;
  const std::string folder = top.file("cache/cleave/entries");
  EntryFolder entries{folder};
};

TEST_F(Entries, AreReadAsTheyWereWritten) {
  EXPECT_EQ(entries.read("a"), std::nullopt) << "there is not even a folder";
  const std::string text = std::string("some\0thing\n", 11);
  for (const std::string& each : {std::string("old"), text}) entries.write("a", each);
  entries.write("b", "");
  EXPECT_EQ(entries.read("a"), text);
  EXPECT_EQ(entries.read("b"), "");
  EXPECT_EQ(EntryFolder(folder).read("a"), text) << "in another process";
  EXPECT_EQ(count(), 2U) << "and nothing else is there";
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_TRUE(entries.has_prefix("a"));
  EXPECT_FALSE(entries.has_prefix("c"));
}

TEST_F(Entries, WithoutAFolderNothingIsKept) {
  EntryFolder none("");
  none.write("a", "text");
  EXPECT_EQ(none.read("a"), std::nullopt);
  EXPECT_FALSE(none.has_prefix("a"));
}

TEST_F(Entries, DamagedOnesAreIgnoredAndReplaced) {
  entries.write("a", "what is known\n");
  const std::string whole = kit::file_contents(path("a"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    top.write("cache/cleave/entries/a", whole.substr(0, length));
    EXPECT_EQ(entries.read("a"), std::nullopt) << length;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    top.write("cache/cleave/entries/a", damaged);
    EXPECT_EQ(entries.read("a"), std::nullopt) << i;
  }
  for (const std::string& other : {whole + whole, whole + "\n", std::string(100, '\0')}) {
    top.write("cache/cleave/entries/a", other);
    EXPECT_EQ(entries.read("a"), std::nullopt);
  }
  entries.write("a", "again");
  EXPECT_EQ(entries.read("a"), "again");
  fs::rename(path("a"), path("b"));
  EXPECT_EQ(entries.read("b"), std::nullopt) << "it was written under another name";
}

TEST_F(Entries, ThatOthersCouldHaveWrittenAreIgnored) {
  entries.write("a", "text");
  for (const auto writable : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path("a"), writable, fs::perm_options::add);
    EXPECT_EQ(entries.read("a"), std::nullopt);
    fs::permissions(path("a"), writable, fs::perm_options::remove);
    EXPECT_EQ(entries.read("a"), "text");
    fs::permissions(folder, writable, fs::perm_options::add);
    EXPECT_EQ(entries.read("a"), std::nullopt);
    entries.write("new", "text");
    EXPECT_FALSE(fs::exists(path("new")));
    fs::permissions(folder, writable, fs::perm_options::remove);
  }
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path("a").c_str(), 12345, 12345), 0);
  EXPECT_EQ(entries.read("a"), std::nullopt) << "another user's";
  entries.write("a", "mine");
  EXPECT_EQ(entries.read("a"), "mine");
  ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_EQ(entries.read("a"), std::nullopt) << "in another user's folder";
}

TEST_F(Entries, LinksAndSpecialFilesAreNotFollowed) {
  entries.write("a", "text");
  fs::rename(path("a"), path("target"));
  fs::create_symlink(path("target"), path("a"));
  EXPECT_EQ(entries.read("a"), std::nullopt);
  entries.write("a", "new");
  EXPECT_EQ(entries.read("a"), "new");
  EXPECT_FALSE(fs::is_symlink(path("a")));
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(entries.read("fifo"), std::nullopt);
  const std::string link = top.file("link");
  fs::create_directory_symlink(folder, link);
  EXPECT_EQ(EntryFolder(link).read("a"), std::nullopt);
}

TEST_F(Entries, WhatCannotBeWrittenIsNotKept) {
  const std::string file = top.write("file", "");
  EntryFolder below(file + "/entries");
  below.write("a", "text");
  EXPECT_EQ(below.read("a"), std::nullopt);
  EntryFolder unnamed("/entries-of-no-one\x01/\x01/");
  EXPECT_EQ(unnamed.read("a"), std::nullopt);
}

// The limit of a file's size makes a write end as on a full disk: the first part of it is there.
TEST_F(Entries, HalfWrittenOnesLeaveNothing) {
  entries.write("a", "old");
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{40, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  entries.write("a", "new");
  entries.write("b", "new");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(entries.read("a"), "old");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Entries, LargerOnesThanTheLimitAreNotKept) {
  EntryFolder small(folder, {.entries = 10, .bytes = 10000, .entry_bytes = 100});
  small.write("a", std::string(100, 'x'));
  EXPECT_EQ(small.read("a"), std::nullopt);
  entries.write("b", std::string(100, 'x'));
  EXPECT_NE(entries.read("b"), std::nullopt);
  EXPECT_EQ(small.read("b"), std::nullopt);
}

TEST_F(Entries, TheLeastRecentlyUsedAreRemoved) {
  EntryFolder bounded(folder, {.entries = 100, .bytes = std::size_t{1} << 20U, .entry_bytes = 1000});
  for (int i = 0; i < 90; ++i) {
    bounded.write("old" + std::to_string(i), "text");
    set_age(path("old" + std::to_string(i)), 10000);
  }
  EXPECT_EQ(bounded.read("old7"), "text") << "used again";
  for (int i = 0; i < 300; ++i) {
    bounded.write("new" + std::to_string(i), "text");
    set_age(path("new" + std::to_string(i)), 1000 - i);
    EXPECT_LE(count(), 100U + 32U);
  }
  EXPECT_EQ(bounded.read("new299"), "text");
  EXPECT_EQ(bounded.read("old8"), std::nullopt);
  EXPECT_FALSE(bounded.has_prefix("old8"));
}

TEST_F(Entries, UsedOnesAreNotTheOldest) {
  entries.write("a", "text");
  set_age(path("a"), 10000);
  const auto before = fs::last_write_time(path("a"));
  EXPECT_EQ(entries.read("a"), "text");
  EXPECT_GT(fs::last_write_time(path("a")), before);
}

TEST_F(Entries, TheirSizesAreBounded) {
  EntryFolder bounded(folder, {.entries = 1000, .bytes = 20000, .entry_bytes = 2000});
  for (int i = 0; i < 200; ++i) bounded.write("a" + std::to_string(i), std::string(1000, 'x'));
  std::uintmax_t all = 0;
  for (const auto& entry : fs::directory_iterator(folder)) all += entry.file_size();
  EXPECT_LE(all, 20000U + 33U * 1065U);
  EXPECT_NE(bounded.read("a199"), std::nullopt);
}

TEST_F(Entries, SeveralWritersAndReadersSeeWholeOnes) {
  kit::on_threads(6, [&](std::size_t thread) {
    EntryFolder own(folder);
    for (int i = 0; i < 100; ++i) {
      own.write("shared", std::string(1000 + thread, 'x'));
      const auto text = own.read("shared");
      EXPECT_TRUE(text && text->size() >= 1000 && text->size() < 1006);
    }
  });
  EXPECT_EQ(count(), 1U) << "unfinished files";
}

}  // namespace
}  // namespace cleave::interpose
