#include "cli/slurm/exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/regular_file.h"
#include "cli/slurm/job.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = 65'536;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw std::runtime_error(path.string() + ": " + std::strerror(error));
}

// Text that has not been published before under that name.
void write_new(const fs::path& path, const std::string& text) {
  const base::FileDescriptor stream(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!stream.is_open() || !base::write_all(stream.get(), text)) fail(path, errno);
}

fs::path default_folder() {
  const std::string cache =
      variable("XDG_CACHE_HOME").empty() ? variable("HOME") + "/.cache" : variable("XDG_CACHE_HOME");
  return fs::path(cache) / "cleave" / ("slurm-" + variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID"));
}

}  // namespace

Exchange::Exchange(const std::string& folder)
    : path_(folder.empty() ? default_folder() : fs::path(folder)),
      rank_(variable("SLURM_PROCID")),
      tasks_(number_variable("SLURM_NTASKS")) {
  if (rank_.empty() || tasks_ == 0)
    throw std::runtime_error("this is no task of a Slurm job: start it with srun");
  std::error_code ignored;
  fs::create_directories(path_.parent_path(), ignored);
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail(path_, errno);
  struct stat found {};
  if (::lstat(path_.c_str(), &found) != 0) fail(path_, errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) {
    throw std::runtime_error(path_.string() + " is not a folder of this user's");
  }
}

std::string Exchange::agree(const std::string& name, const std::string& offer) const {
  const fs::path offered = path_ / ("." + name + "-" + rank_);
  write_new(offered, offer);
  const bool is_first = ::link(offered.c_str(), (path_ / name).c_str()) == 0;
  const int error = errno;
  ::unlink(offered.c_str());
  if (!is_first && error != EEXIST) fail(path_ / name, error);
  return base::read_regular_file(path_ / name, kMostText).text.value_or("");
}

void Exchange::publish(const std::string& kind, const std::string& text) const {
  const fs::path written = path_ / ("." + kind + "-" + rank_);
  const fs::path published = path_ / (kind + "-" + rank_);
  write_new(written, text);
  if (::rename(written.c_str(), published.c_str()) != 0) fail(published, errno);
}

std::vector<std::string> Exchange::all(const std::string& kind) const {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kind + "-")) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  texts.reserve(files.size());
  for (const fs::path& file : files)
    texts.push_back(base::read_regular_file(file, kMostText).text.value_or(""));
  return texts;
}

bool Exchange::is_complete() const { return all("server").size() + all("client").size() >= tasks_; }

bool Exchange::is_over() const {
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return true;
  return is_complete() && all("done").size() >= all("client").size();
}

void Exchange::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace cleave::cli
