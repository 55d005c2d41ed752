#include "neighbours/registry_folder.h"

#include <cstdint>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>

#include "base/file_descriptor.h"

namespace cleave::neighbours {
namespace {

// Seconds after which an empty file counts as abandoned.
constexpr time_t kCreationTimeout = 60;

enum class FileState : std::uint8_t { live, dead, incomplete, foreign };

bool is_entry_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const auto dot = name.find_first_not_of(kDigits);
  return dot != 0 && dot != std::string_view::npos && name[dot] == '.' && name.size() - dot == 17 &&
         name.find_first_not_of("0123456789abcdef", dot + 1) == std::string_view::npos;
}

bool is_locked(int file) {
  struct flock all {};
  all.l_type = F_RDLCK;
  all.l_whence = SEEK_SET;
  // If the system cannot tell, the process counts as live.
  return fcntl(file, F_OFD_GETLK, &all) != 0 || all.l_type == F_WRLCK;
}

FileState state_of(int file, std::uint64_t& size) {
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return FileState::foreign;
  size = static_cast<std::uint64_t>(status.st_size);
  if (is_locked(file)) return FileState::live;
  const bool young = time(nullptr) - status.st_mtime < kCreationTimeout;
  return size == 0 && young ? FileState::incomplete : FileState::dead;
}

// Calls visit(name, file, state, size) for each file that may be an entry.
template <typename Visit>
void for_each_file(int folder, Visit visit) {
  const auto done = [](DIR* list) { closedir(list); };
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, decltype(done)> list(again >= 0 ? fdopendir(again) : nullptr, done);
  if (!list) {
    if (again >= 0) close(again);
    return;
  }
  for (int i = 0; i < CLEAVE_REGISTRY_MAX_ENTRIES; ++i) {
    const dirent* const each = readdir(list.get());
    if (each == nullptr) return;
    if (!is_entry_name(each->d_name)) continue;
    const base::FileDescriptor file(
        openat(folder, each->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) continue;
    std::uint64_t size = 0;
    const FileState state = state_of(file.get(), size);
    visit(each->d_name, file.get(), state, size);
  }
}

}  // namespace

int open_registry(const std::string& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

std::vector<LiveEntry> live_entries(const std::string& folder, const std::string& own) {
  std::vector<LiveEntry> entries;
  const base::FileDescriptor registry(open_registry(folder));
  if (!registry.is_open()) return entries;
  for_each_file(registry.get(), [&](const char* name, int file, FileState state, std::uint64_t size) {
    cleave_registry_entry entry;
    if (state != FileState::live || name == own) return;
    if (pread(file, &entry, sizeof entry, 0) != static_cast<ssize_t>(sizeof entry)) return;
    if (cleave_registry_entry_is_sound(&entry, size) != 0) entries.push_back({name, entry});
  });
  return entries;
}

void remove_dead_entries(int folder) {
  for_each_file(folder, [&](const char* name, int, FileState state, std::uint64_t) {
    if (state == FileState::dead) unlinkat(folder, name, 0);
  });
}

}  // namespace cleave::neighbours
