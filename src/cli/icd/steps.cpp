#include "cli/icd/steps.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "cli/icd/folders.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kForAll = 0644;

[[noreturn]] void refuse(const std::string& what, int error) {
  std::string text = what + ": " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) text += "; run it as root";
  if (error == EBUSY) text += "; something is mounted there";
  throw IcdError(text);
}

// Some file systems do not support the flag; there, the target is checked beforehand.
bool rename_to_free_name(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  struct stat ignored {};
  if (::lstat(to.c_str(), &ignored) == 0) {
    errno = EEXIST;
    return false;
  }
  return ::rename(from.c_str(), to.c_str()) == 0;
}

std::string describe_move(const fs::path& from, const fs::path& to) {
  return "move " + from.string() + " to " + to.string();
}

}  // namespace

IcdStep make_folder(const fs::path& folder, unsigned mode) {
  return {"create the folder " + folder.string(), [=] {
            if (::mkdir(folder.c_str(), 0700) != 0) refuse("cannot create " + folder.string(), errno);
            if (::chmod(folder.c_str(), mode) != 0)
              refuse("cannot change the mode of " + folder.string(), errno);
          }};
}

IcdStep write_file(const fs::path& file, const std::string& text) {
  return {"write " + file.string(), [=] {
            constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
            const base::FileDescriptor open(::open(file.c_str(), flags, kForAll));
            if (!open.is_open()) refuse("cannot open " + file.string(), errno);
            if (!base::write_all(open.get(), text)) refuse("cannot write " + file.string(), errno);
            if (::fchmod(open.get(), kForAll) != 0 || ::fsync(open.get()) != 0) {
              refuse("cannot write " + file.string(), errno);
            }
          }};
}

IcdStep move(const fs::path& from, const fs::path& to) {
  return {describe_move(from, to), [=] {
            if (!rename_to_free_name(from, to)) refuse("cannot " + describe_move(from, to), errno);
          }};
}

IcdStep move_over(const fs::path& from, const fs::path& to) {
  return {describe_move(from, to), [=] {
            if (::rename(from.c_str(), to.c_str()) != 0) refuse("cannot " + describe_move(from, to), errno);
          }};
}

IcdStep remove_file(const fs::path& file) {
  return {"remove " + file.string(), [=] {
            if (::unlink(file.c_str()) != 0) refuse("cannot remove " + file.string(), errno);
          }};
}

IcdStep remove_folder(const fs::path& folder) {
  return {"remove the folder " + folder.string(), [=] {
            if (::rmdir(folder.c_str()) != 0) refuse("cannot remove " + folder.string(), errno);
          }};
}

IcdStep set_time(const fs::path& folder, const std::timespec& time) {
  return {"restore the time of " + folder.string(), [=] {
            const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, time};
            if (::utimensat(AT_FDCWD, folder.c_str(), times.data(), 0) != 0) {
              refuse("cannot restore the time of " + folder.string(), errno);
            }
          }};
}

void show(const IcdSteps& steps, bool needs_root) {
  for (const IcdStep& step : steps) std::cout << "would " << step.text << '\n';
  std::cout << "Nothing was changed." << (needs_root ? " Run as root, or with --apply.\n" : "\n");
}

void apply(const IcdSteps& steps) {
  for (const IcdStep& step : steps) {
    step.apply();
    std::cout << step.text << std::endl;  // flushed: it may be the last
  }
}

}  // namespace cleave::cli
