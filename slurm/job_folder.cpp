#include "slurm/job_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::slurm {
namespace {

namespace fs = std::filesystem;

std::string failure(const std::string& path, int error) { return path + ": " + std::strerror(error); }

// Root's own folder, whatever was there before under this name.
std::string make_own(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failure(path, errno);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return failure(path, errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) return path + " is not a folder of root's";
  // Whatever the umask is.
  return ::chmod(path.c_str(), mode) == 0 ? std::string() : failure(path, errno);
}

}  // namespace

JobFolder job_folder(const std::string& jobs, const std::string& job) {
  const std::string path = jobs + "/job-" + job;
  return {path, path + "/user"};
}

std::string make_job_folder(const JobFolder& folder, uid_t user, gid_t group) {
  std::error_code ignored;
  const fs::path jobs = fs::path(folder.path).parent_path();
  fs::create_directories(jobs.parent_path(), ignored);
  for (const std::string& path : {jobs.string(), folder.path}) {
    std::string problem = make_own(path, 0711);
    if (!problem.empty()) return problem;
  }
  const char* const own = folder.of_user.c_str();
  if (::mkdir(own, 0700) != 0) return errno == EEXIST ? std::string() : failure(folder.of_user, errno);
  if (::chmod(own, 0700) != 0 || ::lchown(own, user, group) != 0) return failure(folder.of_user, errno);
  return {};
}

std::string remove_job_folder(const JobFolder& folder) {
  std::error_code error;
  fs::remove_all(folder.path, error);
  // Gone already, it may be another's: several slurmd on one machine share the folder.
  return error && error != std::errc::no_such_file_or_directory ? folder.path + ": " + error.message()
                                                                : std::string();
}

bool has_user_folder(const JobFolder& folder) {
  std::error_code ignored;
  return fs::is_directory(folder.of_user, ignored);
}

}  // namespace cleave::slurm
