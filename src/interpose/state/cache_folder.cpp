#include "interpose/state/cache_folder.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/text/hash.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr int kLockAttempts = 20;
constexpr auto kLockRetryInterval = 1ms;

void make_folder(const std::string& folder) {
  mkdir(folder.substr(0, folder.find_last_of('/')).c_str(), 0700);
  mkdir(folder.c_str(), 0700);
}

// Waits only briefly: the program may be exiting.
bool lock(const base::FileDescriptor& file) {
  for (int i = 0; i < kLockAttempts; ++i) {
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    std::this_thread::sleep_for(kLockRetryInterval);
  }
  return false;
}

// What is there under that name, which may be a pipe or under a lease that would hold the program up, is not opened.
bool write_whole(const std::string& path, const std::string& text) {
  unlink(path.c_str());
  const base::FileDescriptor file(
      base::open_own(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return file.is_open() && base::write_all(file.get(), text);
}

}  // namespace

std::string key_of(std::span<const std::byte> bytes) { return std::to_string(base::hash_of(bytes)); }

void append_line(const std::string& folder, const std::string& file, const std::string& line) {
  make_folder(folder);
  const std::string path = folder + "/" + file;
  const base::FileDescriptor descriptor(
      base::open_own(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!descriptor.is_open()) return;
  if (write(descriptor.get(), line.data(), line.size()) < 0) {  // best effort
  }
}

std::string read_file(const std::string& folder, const std::string& file, std::size_t most) {
  const std::string path = folder + "/" + file;
  const base::FileDescriptor descriptor(base::open_own(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!descriptor.is_open() || fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (status.st_size <= 0 || static_cast<std::size_t>(status.st_size) > most) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(descriptor.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

void rewrite_file(const std::string& folder, const std::string& file, std::size_t most,
                  const std::function<std::string(const std::string&)>& change) {
  make_folder(folder);
  const std::string path = folder + "/" + file;
  // A file of its own, since the other one is replaced.
  const base::FileDescriptor guard(
      base::open_own((path + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!guard.is_open() || !lock(guard)) return;
  const std::string unfinished = path + ".new";  // ours while the lock is held
  if (write_whole(unfinished, change(read_file(folder, file, most))) &&
      rename(unfinished.c_str(), path.c_str()) == 0)
    return;
  unlink(unfinished.c_str());
}

}  // namespace cleave::interpose
