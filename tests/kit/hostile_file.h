// What another process that may write a shared file, or the folder it is in, can do to it so that its users might wait, for tests that
// go through all of it: locks of every kind, other things in its place, any size, any bytes. Lasts as long as the object.
//
// The locks are those of an open file description of their own, and so in the way of this process, too.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace kit {

struct HostileFile {
  std::string name;
  std::function<void(int)> harm;                      // by a descriptor of the file; null: none
  std::function<void(const std::string&)> replace{};  // the file by something else
  bool repeats = false;                               // harm() is done again and again
};

inline void lock_range(int fd, short type, off_t start, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;  // 0: all that follows
  static_cast<void>(fcntl(fd, F_OFD_SETLK, &lock));
}

// All but what others have locked.
inline void lock_all(int fd, short type, off_t steps) {
  lock_range(fd, type, 0, steps);
  lock_range(fd, type, steps, 1 << 10);
  for (off_t slot = 0; slot < 256; ++slot) lock_range(fd, type, 2 * steps + slot, 1);
}

inline void write_random_bytes(int fd, std::size_t size) {
  static thread_local std::mt19937_64 random(1);
  const std::uint64_t bytes = random();
  static_cast<void>(!pwrite(fd, &bytes, sizeof bytes, static_cast<off_t>(random() % size)));
}

inline void write_everywhere(int fd, char byte) {
  const std::vector<char> bytes(1 << 16, byte);
  static_cast<void>(!pwrite(fd, bytes.data(), bytes.size(), 0));
}

inline void make_socket(const std::string& path) {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  static_cast<void>(bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  close(made);
}

// `steps`: where the bytes for locks begin.
inline std::vector<HostileFile> hostile_files(off_t steps) {
  return {
      {"all of it is locked for writing", [=](int fd) { lock_all(fd, F_WRLCK, steps); }},
      {"all of it is locked for reading", [=](int fd) { lock_all(fd, F_RDLCK, steps); }},
      {"all bytes for locks of steps are locked", [=](int fd) { lock_range(fd, F_WRLCK, steps, 1 << 10); }},
      {"two of them are", [=](int fd) { lock_range(fd, F_WRLCK, steps, 2); }},
      {"flock", [](int fd) { flock(fd, LOCK_EX | LOCK_NB); }},
      {"a lease",
       [](int fd) {
         signal(SIGIO, SIG_IGN);  // that others want the file
         static_cast<void>(fcntl(fd, F_SETLEASE, F_WRLCK));
       }},
      {"a thousand locks",
       [](int fd) {
         for (off_t i = 0; i < 1'000; ++i) lock_range(fd, F_RDLCK, 2 * i, 1);
       }},
      {"empty", [](int fd) { static_cast<void>(!ftruncate(fd, 0)); }},
      {"one byte long", [](int fd) { static_cast<void>(!ftruncate(fd, 1)); }},
      {"huge", [](int fd) { static_cast<void>(!ftruncate(fd, off_t{1} << 40U)); }},
      {"zeros", [](int fd) { write_everywhere(fd, 0); }},
      {"ones", [](int fd) { write_everywhere(fd, '\xff'); }},
      {"garbage behind the head",
       [](int fd) {
         for (off_t at = 8; at < 1 << 16; at += 8) write_random_bytes(fd, 1 << 16);
       }},
      {"truncated all the time", [](int fd) { static_cast<void>(!ftruncate(fd, 0)); }, {}, true},
      {"written all the time", [](int fd) { write_random_bytes(fd, 1 << 10); }, {}, true},
      {"the number of the lock changes all the time",
       [](int fd) {
         static thread_local std::uint32_t number = 0;
         ++number;
         static_cast<void>(!pwrite(fd, &number, sizeof number, 8));
       },
       {},
       true},
      {"deleted", {}, [](const std::string&) {}},
      {"a pipe", {}, [](const std::string& path) { static_cast<void>(mkfifo(path.c_str(), 0666)); }},
      {"a socket", {}, make_socket},
      {"a folder", {}, [](const std::string& path) { std::filesystem::create_directory(path); }},
      {"a link to a device",
       {},
       [](const std::string& path) { std::filesystem::create_symlink("/dev/zero", path); }},
      {"a link to itself", {}, [](const std::string& path) { std::filesystem::create_symlink(path, path); }},
      {"a file that nobody may open",
       {},
       [](const std::string& path) { close(open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDONLY, 0000)); }},
  };
}

// Does it, until the end of its life.
class Attack {
 public:
  Attack(const HostileFile& how, const std::string& path) {
    if (how.harm) {
      fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      how.harm(fd_);
    } else {
      std::filesystem::remove_all(path);
      how.replace(path);
    }
    if (how.repeats) {
      thread_ = std::jthread([this, harm = how.harm](const std::stop_token& stop) {
        while (!stop.stop_requested()) harm(fd_);
      });
    }
  }
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;
  ~Attack() {
    thread_ = {};
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_ = -1;
  std::jthread thread_;
};

// Calls step() in a thread of its own, and ends the test's process if it does not return: its thread could not be ended.
inline void must_return(const std::string& what, const std::function<void()>& step) {
  std::packaged_task<void()> task(step);
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  if (done.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    std::cerr << "does not return: " << what << std::endl;
    std::_Exit(1);
  }
  thread.join();
}

}  // namespace kit
