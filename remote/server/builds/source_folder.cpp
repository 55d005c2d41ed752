#include "remote/server/builds/source_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sched.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/text/hash.h"
#include "remote/protocol/include_paths.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kDigits = 16;

// The common prefix of the folders' paths. It becomes part of build options, which blanks would split.
const std::string& path_prefix() {
  static const std::string path = [] {
    const char* const set = std::getenv("TMPDIR");
    std::string parent = set != nullptr ? set : "";
    if (!parent.starts_with('/') || !std::all_of(parent.begin(), parent.end(), is_plain)) parent = "/tmp";
    while (parent.ends_with('/')) parent.pop_back();
    return parent + "/cleave-sources-";
  }();
  return path;
}

// A collision gains an attacker nothing: two contents are never in the same folder.
std::uint64_t content_hash(const IncludedFiles& files) {
  std::uint64_t hash = base::hash_of(files.texts);
  for (const std::string& name : files.names) hash = base::hash_of(name, base::hash_of("\n", hash));
  for (const std::uint64_t size : files.sizes) hash = base::hash_of(std::to_string(size) + "\n", hash);
  return hash;
}

base::FileDescriptor open_folder(const std::string& path) {
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Locks the folder until the descriptor is closed. False: another process has.
bool lock_folder(const base::FileDescriptor& folder) {
  return folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

// Whether the folder is this user's, and older than any that its process may not have locked yet.
bool may_be_stale(const base::FileDescriptor& folder) {
  constexpr std::time_t kMinStaleAge = 60;
  struct stat status {};
  return folder.is_open() && ::fstat(folder.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         status.st_mtime + kMinStaleAge < std::time(nullptr);
}

// Calls visit(name, is_last) for each component of the path. False: a call returned false.
template <typename Visit>
bool for_each_component(std::string_view path, Visit visit) {
  while (!path.empty()) {
    const std::size_t size = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, size);
    path.remove_prefix(std::min(size + 1, path.size()));
    if (!component.empty() && component != "." && !visit(component, path.empty())) return false;
  }
  return true;
}

bool write_file(const std::string& path, std::string_view text) {
  const base::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return errno == EEXIST;  // the same file by two paths
  return base::write_all(file.get(), text);
}

}  // namespace

bool is_include_path(std::string_view path) {
  std::size_t depth = 0;
  bool ends_in_name = false;
  const bool stays = for_each_component(path, [&](std::string_view component, bool) {
    ends_in_name = component != "..";
    if (!ends_in_name && depth == 0) return false;
    depth += ends_in_name ? 1 : SIZE_MAX;
    return true;
  });
  return stays && path.starts_with('/') && path.size() <= kMaxIncludePath &&
         path.find('\0') == std::string_view::npos && (ends_in_name || path.ends_with('/'));
}

SourceFolder::SourceFolder(const IncludedFiles& files) : problem_(files.problem) {
  if (files.names.empty()) return;
  static const bool first = (remove_stale_source_folders(), true);
  static_cast<void>(first);
  std::random_device random;
  const bool made = make(content_hash(files)) || make(std::uint64_t{random()} << 32U | random());
  std::size_t missing = made ? 0 : files.names.size();
  std::string_view rest = files.texts;
  for (std::size_t i = 0; made && i < files.names.size(); ++i) {
    const std::string_view text = rest.substr(0, files.sizes[i]);
    rest.remove_prefix(text.size());
    if (!is_include_path(files.names[i]) || !write(files.names[i], text)) ++missing;
  }
  if (missing != 0) problem_ = "the server cannot store " + std::to_string(missing) + " included files";
}

SourceFolder::~SourceFolder() {
  if (previous_folder_.is_open()) static_cast<void>(!::fchdir(previous_folder_.get()));
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

bool SourceFolder::make(std::uint64_t number) {
  std::array<char, kDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  const std::string path = path_prefix() + digits.data();
  if (::mkdir(path.c_str(), 0700) != 0) return false;
  path_ = path;
  lock_ = open_folder(path);
  static_cast<void>(lock_folder(lock_));  // not every file system has locks
  enter();
  return true;
}

void SourceFolder::enter() {
  if (::unshare(CLONE_FS) != 0) return;
  previous_folder_ = base::FileDescriptor(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (previous_folder_.is_open()) static_cast<void>(!::chdir(path_.c_str()));
}

// Creates each folder of the path, also those that ".." leaves again: a compiler resolves the path component by component.
bool SourceFolder::write(std::string_view name, std::string_view text) const {
  const bool is_folder = name.ends_with('/');
  std::vector<std::size_t> ends;
  std::string at = path_;
  return for_each_component(name, [&](std::string_view component, bool is_last) {
    if (component == "..") {
      at.resize(ends.back());
      ends.pop_back();
      return true;
    }
    ends.push_back(at.size());
    at.append("/").append(component);
    if (is_last && !is_folder) return write_file(at, text);
    return ::mkdir(at.c_str(), 0700) == 0 || errno == EEXIST;
  });
}

std::string SourceFolder::options(const IncludedFiles& files) const {
  std::string all;
  for (std::size_t i = 0; i < files.options.size(); ++i) {
    if (i != 0) all += path_;
    all += files.options[i];
  }
  return all;
}

void remove_stale_source_folders() {
  const std::filesystem::path prefix = path_prefix();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path(), error)) {
    if (!entry.path().filename().string().starts_with(prefix.filename().string())) continue;
    const base::FileDescriptor folder = open_folder(entry.path());
    // A young one is not even locked: its process could not lock it at that moment, and would be without a lock.
    if (may_be_stale(folder) && lock_folder(folder)) std::filesystem::remove_all(entry.path(), error);
  }
}

std::string strip_source_folders(std::string_view text) {
  std::string without;
  for (;;) {
    const std::size_t at = text.find(path_prefix());
    without.append(text.substr(0, at));
    if (at == std::string_view::npos) return without;
    text.remove_prefix(std::min(at + path_prefix().size() + kDigits, text.size()));
    const auto end = std::find_if_not(text.begin(), text.end(), is_plain);
    const std::string_view path(text.data(), static_cast<std::size_t>(end - text.begin()));
    const std::size_t here = path.find(kCurrentFolderMark);
    if (here != std::string_view::npos) text.remove_prefix(here + kCurrentFolderMark.size());
  }
}

}  // namespace cleave::remote::server
