#include "remote/server/sandbox/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

namespace cleave::remote::server {
namespace {

constexpr const char* kPrefix = "cleave-worker.";
// The most passes over a folder from which everything moves up; more than any tree needs that is not being added to.
constexpr unsigned kMaxPasses = 100'000;

std::string parent_folder() {
  const char* const parent = std::getenv("TMPDIR");
  return parent != nullptr && *parent == '/' ? parent : "/tmp";
}

base::FileDescriptor open_folder(int parent, const char* name) {
  return base::FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Calls visit(name) for each entry. It may remove what it is called for.
template <typename Visit>
void for_each_entry(int folder, Visit visit) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy >= 0 ? ::fdopendir(copy) : nullptr, ::closedir);
  while (const dirent* const entry = entries != nullptr ? ::readdir(entries.get()) : nullptr) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) visit(entry->d_name);
  }
}

// Opens a folder whose owner may have closed it to himself.
base::FileDescriptor open_locked_folder(int parent, const char* name) {
  base::FileDescriptor folder = open_folder(parent, name);
  struct stat status {};
  const bool is_folder =
      ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  if (is_folder && (status.st_mode & 0700U) != 0700U) {
    [[maybe_unused]] const int changed = ::fchmodat(parent, name, 0700, 0);
    folder = open_folder(parent, name);
  }
  return folder;
}

// Removes a folder of `top`'s. The folders in it move up into `top` first, where they are removed in their turn: a tree of
// any depth takes two descriptors.
bool remove_or_flatten(int top, const char* name, unsigned& moved) {
  if (::unlinkat(top, name, AT_REMOVEDIR) == 0) return true;
  const base::FileDescriptor folder = open_locked_folder(top, name);
  if (!folder.is_open()) return false;
  for_each_entry(folder.get(), [&](const char* entry) {
    if (::unlinkat(folder.get(), entry, 0) == 0) return;
    open_locked_folder(folder.get(), entry).close();  // for one that may not be written to cannot be moved
    const std::string other = "..moved." + std::to_string(moved++);
    if (::renameat(folder.get(), entry, top, other.c_str()) != 0)
      ::unlinkat(folder.get(), entry, AT_REMOVEDIR);
  });
  return ::unlinkat(top, name, AT_REMOVEDIR) == 0;
}

}  // namespace

bool remove_folder(const std::string& path) {
  const base::FileDescriptor top = open_locked_folder(AT_FDCWD, path.c_str());
  if (!top.is_open()) return errno == ENOENT;
  unsigned moved = 0;
  bool changes = true;
  for (unsigned pass = 0; changes && pass < kMaxPasses; ++pass) {
    changes = false;
    for_each_entry(top.get(), [&](const char* entry) {
      if (::unlinkat(top.get(), entry, 0) == 0 || remove_or_flatten(top.get(), entry, moved)) changes = true;
    });
  }
  return ::rmdir(path.c_str()) == 0;
}

void remove_stale_folders() {
  const std::string parent = parent_folder();
  const base::FileDescriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for_each_entry(folder.get(), [&](const char* entry) {
    if (std::strncmp(entry, kPrefix, std::strlen(kPrefix)) != 0) return;
    const base::FileDescriptor stale = open_folder(folder.get(), entry);
    // If it has only just been made, and is not locked yet, its maker notices that it is gone.
    if (stale.is_open() && ::flock(stale.get(), LOCK_EX | LOCK_NB) == 0) remove_folder(parent + "/" + entry);
  });
}

PrivateFolder::PrivateFolder(uid_t user, gid_t group) {
  for (int attempt = 0; attempt < 3 && path_.empty(); ++attempt) {
    std::string path = parent_folder() + "/" + kPrefix + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return;
    lock_ = open_folder(AT_FDCWD, path.c_str());
    if (lock_.is_open() && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) path_ = path;
  }
  if (path_.empty() || user == ::geteuid()) return;
  if (::fchown(lock_.get(), user, group) == 0) return;
  const int error = errno;
  ::rmdir(path_.c_str());
  path_.clear();
  errno = error;
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) remove_folder(path_);
}

}  // namespace cleave::remote::server
