// Where the server keeps what a program includes.
#include "remote/server/builds/source_folder.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "remote/protocol/limits.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::server {
namespace {

// Other test processes remove stale folders from the temporary folder, too: they would lock those of these tests.
struct OwnTemporaryFolder {
  OwnTemporaryFolder() { ::setenv("TMPDIR", folder.path().c_str(), 1); }
  kit::TemporaryFolder folder;
};
const OwnTemporaryFolder own_temporary_folder;

// With one more, so that builds that run at the same time have folders of different names.
IncludedFiles some(const std::vector<std::pair<std::string, std::string>>& list) {
  IncludedFiles files;
  files.names.push_back("/process/" + std::to_string(::getpid()));
  files.sizes.push_back(0);
  for (const auto& one : list) {
    files.names.push_back(one.first);
    files.sizes.push_back(one.second.size());
    files.texts += one.second;
  }
  return files;
}

TEST(SourcePaths, NeverLeadAboveTheRoot) {
  for (const char* path : {"/a", "/a/b.h", "/a/../b", "/a/./b", "//a//b", "/a/b/../../c", "/a/", "/a/../"})
    EXPECT_TRUE(is_include_path(path)) << path;
  for (const char* path :
       {"", "/", "a", "../a", "/..", "/../a", "/a/../../b", "/a/..", "/.", "/a/../../a/b/c"})
    EXPECT_FALSE(is_include_path(path) && std::string(path) != "/") << path;
  EXPECT_FALSE(is_include_path(std::string_view("/a\0b", 4)));
  EXPECT_FALSE(is_include_path("/" + std::string(kMaxIncludePath, 'a')));
}

TEST(SourceFolders, HoldTheirFilesWhileTheyLive) {
  std::string path;
  {
    const SourceFolder folder(some({{"/home/me/././inc/../a.h", "first"},
                                    {"/home/me/a.h", "the same place again"},
                                    {"/opt/b.h", "second"},
                                    {"/opt/empty/", ""}}));
    path = folder.path();
    EXPECT_EQ(folder.problem(), "");
    EXPECT_EQ(kit::file_contents(path + "/home/me/a.h"), "first");
    EXPECT_EQ(kit::file_contents(path + "/opt/b.h"), "second");
    EXPECT_TRUE(std::filesystem::is_directory(path + "/opt/empty"));
    EXPECT_TRUE(std::filesystem::is_directory(path + "/home/me/inc")) << "a compiler goes through it";
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SourceFolders, WriteNothingOutsideOfThemselves) {
  const std::filesystem::path outside = std::filesystem::temp_directory_path() / "cleave-outside.h";
  std::filesystem::remove(outside);
  const SourceFolder folder(some({{"/../cleave-outside.h", "x"}, {"/a/../../cleave-outside.h", "x"}}));
  EXPECT_FALSE(std::filesystem::exists(outside));
  EXPECT_NE(folder.problem(), "");
}

TEST(SourceFolders, AreNamedByTheirContents) {
  const auto files = some({{"/a.h", "1"}});
  std::string first;
  {
    const SourceFolder folder(files);
    const SourceFolder other(files);
    first = folder.path();
    EXPECT_NE(other.path(), first) << "two builds at once";
    EXPECT_EQ(kit::file_contents(other.path() + "/a.h"), "1");
  }
  EXPECT_EQ(SourceFolder(files).path(), first);
  EXPECT_NE(SourceFolder(some({{"/a.h", "2"}})).path(), first);
  EXPECT_NE(SourceFolder(some({{"/b.h", "1"}})).path(), first);
}

TEST(SourceFolders, FoldersOfOtherUsersAreNotUsed) {
  const auto files = some({{"/a.h", "1"}});
  const std::string path = SourceFolder(files).path();
  for (const bool linked : {false, true}) {
    if (linked) {
      std::filesystem::create_symlink("/", path);
    } else {
      std::filesystem::create_directory(path);
    }
    EXPECT_NE(SourceFolder(files).path(), path);
    std::filesystem::remove(path);
  }
}

TEST(SourceFolders, AreTheWorkingFolderOfTheirThreadOnly) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::thread([&] {
    {
      const SourceFolder folder(some({{"/a.h", "1"}}));
      EXPECT_EQ(kit::file_contents("a.h"), "1");
      std::thread([&] {
        EXPECT_EQ(kit::file_contents("a.h"), "1") << "a thread of the compiler's own";
      }).join();
    }
    EXPECT_EQ(std::filesystem::current_path(), before);
  }).join();
  EXPECT_EQ(std::filesystem::current_path(), before);
}

TEST(SourceFolders, AreRemovedFromCompilerOutput) {
  const SourceFolder folder(some({{"/a.h", "1"}}));
  const std::string& path = folder.path();
  EXPECT_EQ(strip_source_folders(path + "/home/me/././inc/a.h:1:2: error\n" + path + "/opt/b.h:3: \"" + path +
                                 "/home/me/././../c.h\" " + path),
            "inc/a.h:1:2: error\n/opt/b.h:3: \"../c.h\" ");
  EXPECT_EQ(strip_source_folders("nothing of the kind"), "nothing of the kind");
  EXPECT_EQ(strip_source_folders(path.substr(0, path.size() - 3)), "");
}

TEST(SourceFolders, LeftoversOfACrashAreRemoved) {
  const SourceFolder in_use(some({{"/a.h", "1"}}));
  const std::string beginning = in_use.path().substr(0, in_use.path().size() - 16);
  const std::string left = beginning + "0123456789abcdef";
  const std::string young = beginning + "0123456789abcdee";
  for (const std::string& path : {left, young}) std::filesystem::create_directories(path + "/home/me");
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(left, long_ago);
  std::filesystem::last_write_time(in_use.path(), long_ago);
  remove_stale_source_folders();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(young)) << "another worker may be about to lock it";
  EXPECT_TRUE(std::filesystem::exists(in_use.path() + "/a.h"));
  std::filesystem::remove_all(young);
}

TEST(SourceFolders, NoneWithoutFiles) {
  IncludedFiles files;
  files.problem = "too much";
  const SourceFolder folder(files);
  EXPECT_EQ(folder.path(), "");
  EXPECT_EQ(folder.problem(), "too much");
}

}  // namespace
}  // namespace cleave::remote::server
