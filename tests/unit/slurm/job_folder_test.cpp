#include "slurm/job_folder.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::slurm {
namespace {

namespace fs = std::filesystem;

TEST(JobFolder, IsTheUsersAloneAndEndsWithAllThatIsInIt) {
  const kit::TemporaryFolder folder;
  const JobFolder job = job_folder(folder.file("run/jobs"), "12");
  EXPECT_FALSE(has_user_folder(job));
  ASSERT_EQ(make_job_folder(job, ::getuid(), ::getgid()), "");
  EXPECT_TRUE(has_user_folder(job));
  EXPECT_EQ(fs::status(job.of_user).permissions(), fs::perms::owner_all);
  fs::create_directories(job.of_user + "/a/b");
  std::ofstream(job.of_user + "/a/b/c").put('c');
  EXPECT_EQ(remove_job_folder(job), "");
  EXPECT_FALSE(fs::exists(job.path));
  EXPECT_EQ(remove_job_folder(job), "");
}

TEST(JobFolder, OfARequeuedJobIsUsedAgain) {
  const kit::TemporaryFolder folder;
  const JobFolder job = job_folder(folder.path(), "12");
  EXPECT_EQ(make_job_folder(job, ::getuid(), ::getgid()), "");
  EXPECT_EQ(make_job_folder(job, ::getuid(), ::getgid()), "");
}

TEST(JobFolder, LinksAreNotFollowed) {
  const kit::TemporaryFolder folder;
  const fs::path outside = folder.file("outside");
  fs::create_directories(outside);
  const JobFolder job = job_folder(folder.file("jobs"), "12");
  ASSERT_EQ(make_job_folder(job, ::getuid(), ::getgid()), "");
  fs::create_directory_symlink(outside, job.of_user + "/link");
  EXPECT_EQ(remove_job_folder(job), "");
  EXPECT_TRUE(fs::exists(outside));
  fs::create_directory_symlink(outside, job.path);
  EXPECT_EQ(make_job_folder(job, ::getuid(), ::getgid()), job.path + " is not a folder of root's");
}

}  // namespace
}  // namespace cleave::slurm
