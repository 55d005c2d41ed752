// A cleave-serverd of the test's own, on a loopback port that the system chooses; ended with the object.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "remote/transport/endpoint.h"

namespace cleave::remote {

class ServerProcess {
 public:
  // `listen`: where; others of its options behind it.
  explicit ServerProcess(std::vector<std::string> options = {},
                         const std::string& listen = "tcp:127.0.0.1:0") {
    char made[] = "/tmp/cleave-server-test.XXXXXX";
    folder_ = ::mkdtemp(made);
    options.insert(options.begin(), {CLEAVE_SERVERD, "--listen", listen, "--state", folder_});
    std::vector<char*> argv;
    for (std::string& option : options) argv.push_back(option.data());
    argv.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      ::setpgid(0, 0);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    log_ = ends[0];
    ::fcntl(log_, F_SETFL, O_NONBLOCK);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    stop();
    ::close(log_);
    ::rmdir(folder_.c_str());
  }

  // Waits for a line of its log that has these words in it; false: none within ten seconds.
  bool says(const std::string& words) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      read_log(std::chrono::milliseconds(50));
      if (text_.find(words) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] const std::string& text() {
    read_log(std::chrono::milliseconds(0));
    return text_;
  }

  // Where it listens, once it does.
  Endpoint endpoint() {
    constexpr std::string_view kWords = "listening on ";
    if (!says(std::string(kWords))) return {};
    const std::size_t at = text_.find(kWords) + kWords.size();
    const std::size_t end = text_.find('\n', at);
    return read_endpoint(text_.substr(at, end - at)).value_or(Endpoint{});
  }

  int stop(int signal = SIGTERM) {
    if (process_ <= 0) return status_;
    ::kill(process_, signal);
    ::waitpid(process_, &status_, 0);
    process_ = -1;
    return status_;
  }

  [[nodiscard]] pid_t process() const { return process_; }

  // The processes of its workers.
  [[nodiscard]] std::vector<pid_t> workers() const {
    std::vector<pid_t> children;
    const std::string path =
        "/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children";
    std::array<char, 4096> buffer{};
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = ::read(file, buffer.data(), buffer.size() - 1);
    ::close(file);
    char* at = buffer.data();
    while (got > 0) {
      char* end = nullptr;
      const long one = std::strtol(at, &end, 10);
      if (end == at) break;
      children.push_back(static_cast<pid_t>(one));
      at = end;
    }
    return children;
  }

  // The number in the file that its splitters follow.
  [[nodiscard]] std::string clients() const {
    std::array<char, 16> buffer{};
    const int file = ::open((folder_ + "/clients." + std::to_string(process_)).c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    return {buffer.data(), static_cast<std::size_t>(got > 1 ? got - 1 : 0)};
  }

 private:
  void read_log(std::chrono::milliseconds wait) {
    pollfd waited{log_, POLLIN, 0};
    ::poll(&waited, 1, static_cast<int>(wait.count()));
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = ::read(log_, buffer.data(), buffer.size())) > 0)
      text_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0) std::this_thread::sleep_for(wait);
  }

  std::string folder_;
  std::string text_;
  pid_t process_ = -1;
  int log_ = -1;
  int status_ = -1;
};

}  // namespace cleave::remote
