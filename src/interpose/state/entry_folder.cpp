#include "interpose/state/entry_folder.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/text/digest.h"

namespace cleave::interpose {
namespace {

constexpr std::size_t kDigestLength = 64;
constexpr std::time_t kSecondsBetweenTouches = 3600;

// Writes of this process, over all folders.
std::atomic<std::uint64_t> writes{0};
constexpr std::uint64_t kWritesBetweenChecks = 32;

// An entry's text ends with a line that its name and the rest determine.
std::string last_line(const std::string& name, std::string_view text) {
  return base::to_text(base::digest_of(std::string(name).append("\n").append(text))) + "\n";
}

bool is_only_ours(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

base::FileDescriptor open_folder(const std::string& path) {
  base::FileDescriptor folder(
      path.empty() ? -1 : base::open_own(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat status {};
  if (folder.is_open() && (fstat(folder.get(), &status) != 0 || !is_only_ours(status))) folder.close();
  return folder;
}

// With the two folders above it.
void make_entry_folder(const std::string& path) {
  const std::size_t last = path.find_last_of('/');
  const std::size_t before = last == std::string::npos || last == 0 ? last : path.find_last_of('/', last - 1);
  for (const std::size_t end : {before, last, path.size()}) {
    if (end != std::string::npos && end != 0) mkdir(path.substr(0, end).c_str(), 0700);
  }
}

std::string read_whole(int file, std::size_t size) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file, text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

bool write_new(int folder, const std::string& name, const std::string& text) {
  base::FileDescriptor file(
      base::open_own_at(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return file.is_open() && base::write_all(file.get(), text) && ::close(file.release()) == 0;
}

// Calls visit(name) for each file of the folder until it returns false.
template <typename Visit>
void for_each_name(int folder, Visit visit) {
  const base::FolderList list = base::open_folder_list(folder);
  if (!list) return;
  while (const dirent* const next = readdir(list.get())) {
    const std::string_view name = next->d_name;
    if (name != "." && name != ".." && !visit(name)) return;
  }
}

}  // namespace

std::optional<std::string> EntryFolder::read(const std::string& name) const {
  const base::FileDescriptor folder = open_folder(path_);
  if (!folder.is_open()) return std::nullopt;
  const base::FileDescriptor file(
      base::open_own_at(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_only_ours(status))
    return std::nullopt;
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > limits_.entry_bytes) return std::nullopt;
  std::string text = read_whole(file.get(), size);
  if (text.size() <= kDigestLength) return std::nullopt;
  const std::string end = text.substr(text.size() - kDigestLength - 1);
  text.resize(text.size() - end.size());
  if (end != last_line(name, text)) return std::nullopt;
  // What is in use is not the oldest. The owner of a file may set its time without having opened it for writing.
  if (std::time(nullptr) - status.st_mtim.tv_sec > kSecondsBetweenTouches) futimens(file.get(), nullptr);
  return text;
}

void EntryFolder::write(const std::string& name, const std::string& text) {
  assert(!name.empty() && name[0] != '.');
  const std::string whole = text + last_line(name, text);
  if (path_.empty() || whole.size() > limits_.entry_bytes) return;
  make_entry_folder(path_);
  const base::FileDescriptor folder = open_folder(path_);
  if (!folder.is_open()) return;
  const std::uint64_t number = writes.fetch_add(1, std::memory_order_relaxed);
  if (number % kWritesBetweenChecks == 0) remove_oldest(folder.get());
  const std::string unfinished = ".new-" + std::to_string(getpid()) + "-" + std::to_string(number);
  if (write_new(folder.get(), unfinished, whole) &&
      renameat(folder.get(), unfinished.c_str(), folder.get(), name.c_str()) == 0)
    return;
  unlinkat(folder.get(), unfinished.c_str(), 0);
}

bool EntryFolder::has_prefix(const std::string& prefix) const {
  const base::FileDescriptor folder = open_folder(path_);
  bool found = false;
  if (!folder.is_open()) return found;
  for_each_name(folder.get(), [&](std::string_view name) {
    found = name.starts_with(prefix);
    return !found;
  });
  return found;
}

// Removes a quarter more than it must, so that this is rare. Files of processes that ended while they wrote count, too.
void EntryFolder::remove_oldest(int folder) const {
  struct Entry {
    std::time_t seconds;
    long nanoseconds;
    std::size_t size;
    std::string name;
  };
  std::vector<Entry> all;
  std::size_t bytes = 0;
  for_each_name(folder, [&](std::string_view name) {
    struct stat status {};
    std::string own(name);
    if (fstatat(folder, own.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      return true;
    const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    bytes += size;
    all.push_back({status.st_mtim.tv_sec, status.st_mtim.tv_nsec, size, std::move(own)});
    return true;
  });
  if (all.size() < limits_.entries && bytes < limits_.bytes) return;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.seconds, a.nanoseconds) < std::tie(b.seconds, b.nanoseconds);
  });
  std::size_t left = all.size();
  for (const Entry& entry : all) {
    if (left <= limits_.entries / 4 * 3 && bytes <= limits_.bytes / 4 * 3) return;
    if (unlinkat(folder, entry.name.c_str(), 0) != 0) continue;
    --left;
    bytes -= entry.size;
  }
}

}  // namespace cleave::interpose
