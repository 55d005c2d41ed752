#include "cli/top/processes.h"

#include <algorithm>
#include <cctype>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <tuple>
#include <unistd.h>

#include <sys/stat.h>

#include "base/file_descriptor.h"
#include "cleave/registry.h"

namespace cleave::cli {
namespace {

bool is_locked(int file) {
  struct flock all {};
  all.l_type = F_RDLCK;
  all.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &all) == 0 && all.l_type == F_WRLCK;
}

std::string printable(const char* text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

RunningProcess process_of(const cleave_registry_entry& entry, const char* file) {
  RunningProcess process;
  process.file = file;
  process.pid = entry.pid;
  process.program = printable(entry.program);
  process.vms = entry.vms;
  process.devices = static_cast<unsigned>(std::count_if(std::begin(entry.devices), std::end(entry.devices),
                                                        [](std::uint64_t device) { return device != 0; }));
  process.started = entry.started;
  process.launches = entry.split + entry.whole;
  process.split = entry.split;
  process.slices = entry.slices;
  process.whole = entry.whole;
  process.added_ns = entry.added_ns;
  return process;
}

std::optional<RunningProcess> read_process(int folder, const char* name) {
  const base::FileDescriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  cleave_registry_entry entry;
  const bool read = ::pread(file.get(), &entry, sizeof entry, 0) == static_cast<ssize_t>(sizeof entry);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!read || cleave_registry_entry_is_sound(&entry, size) == 0 || !is_locked(file.get()))
    return std::nullopt;
  return process_of(entry, name);
}

}  // namespace

std::vector<RunningProcess> running_processes(const std::string& folder) {
  std::vector<RunningProcess> processes;
  const auto close_list = [](DIR* list) { ::closedir(list); };
  const int place = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const std::unique_ptr<DIR, decltype(close_list)> list(place >= 0 ? ::fdopendir(place) : nullptr,
                                                        close_list);
  for (int i = 0; list && i < CLEAVE_REGISTRY_MOST_ENTRIES; ++i) {
    const dirent* const each = ::readdir(list.get());
    if (each == nullptr) break;
    if (std::isdigit(static_cast<unsigned char>(each->d_name[0])) == 0) continue;
    if (auto process = read_process(place, each->d_name)) processes.push_back(std::move(*process));
  }
  std::sort(processes.begin(), processes.end(), [](const RunningProcess& a, const RunningProcess& b) {
    return std::tie(a.pid, a.file) < std::tie(b.pid, b.file);
  });
  return processes;
}

}  // namespace cleave::cli
