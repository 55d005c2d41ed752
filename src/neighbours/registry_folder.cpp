#include "neighbours/registry_folder.h"

#include <cstdint>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <memory>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/registry_file.h"

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
  // If the system cannot say, the process counts as live.
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

struct EntryFile {
  const char* name;
  uid_t user;
  int file;
  FileState state;
  std::uint64_t size;
};

// Calls visit() for each regular file among the first `most_names` that may be an entry, and of which `wants` its owner.
template <typename Wants, typename Visit>
void for_each_file(int folder, std::size_t most_names, Wants wants, Visit visit) {
  const base::FolderList list = base::open_folder_list(folder);
  if (!list) return;
  for (std::size_t i = 0; i < most_names; ++i) {
    const dirent* const each = readdir(list.get());
    if (each == nullptr) return;
    if (!is_entry_name(each->d_name)) continue;
    // The owner first: a user with too many files costs no more than that.
    struct stat status {};
    if (fstatat(folder, each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    if (!wants(status.st_uid)) continue;
    const base::FileDescriptor file(
        base::open_own_at(folder, each->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open() || fstat(file.get(), &status) != 0) continue;
    std::uint64_t size = 0;
    const FileState state = state_of(file.get(), size);
    visit(EntryFile{each->d_name, status.st_uid, file.get(), state, size});
  }
}

}  // namespace

std::vector<LiveEntry> live_entries(const std::string& folder, const std::string& own) {
  std::vector<LiveEntry> entries;
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  if (!registry.is_open()) return entries;
  std::map<uid_t, std::size_t> files;
  const auto wants = [&](uid_t user) { return files[user]++ < kMaxEntriesOfUser; };
  for_each_file(registry.get(), SIZE_MAX, wants, [&](const EntryFile& each) {
    cleave_registry_entry entry;
    if (each.state != FileState::live || each.name == own) return;
    if (pread(each.file, &entry, sizeof entry, 0) != static_cast<ssize_t>(sizeof entry)) return;
    if (cleave_registry_entry_is_sound(&entry, each.size) != 0)
      entries.push_back({each.name, each.user, entry});
  });
  return entries;
}

void remove_dead_entries(int folder) {
  constexpr std::size_t kMaxNames = 4096;
  const uid_t self = geteuid();
  const auto wants = [&](uid_t user) { return self == 0 || user == self; };
  for_each_file(folder, kMaxNames, wants, [&](const EntryFile& each) {
    if (each.state == FileState::dead) unlinkat(folder, each.name, 0);
  });
}

}  // namespace cleave::neighbours
