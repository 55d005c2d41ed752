// A cleave-serverd for one test; stopped by the destructor.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "daemon/service_manager.h"
#include "remote/transport/endpoint.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote {

class ServerProcess {
 public:
  // Listens on a loopback port that the system chooses, or on `listen`; empty: it is not told where. It gets the descriptor
  // `inherited` as from the service manager, unless that is -1.
  explicit ServerProcess(std::vector<std::string> options = {}, const std::string& listen = "tcp:127.0.0.1:0",
                         int inherited = -1) {
    if (!listen.empty()) options.insert(options.begin(), {"--listen", listen});
    // A cache that workers share; the sandbox has tests of its own.
    options.insert(options.begin(), {CLEAVE_SERVERD, "--state", state_.path(), "--sandbox", "off"});
    const bool names_user = std::find(options.begin(), options.end(), "--user") != options.end();
    if (::geteuid() == 0 && !names_user) options.insert(options.end(), {"--user", "root"});
    std::vector<char*> argv;
    for (std::string& option : options) argv.push_back(option.data());
    argv.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      if (inherited >= 0) {
        ::dup2(inherited, daemon::kFirstInheritedDescriptor);
        ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
        ::setenv("LISTEN_FDS", "1", 1);
      }
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
  }

  // Waits until its log contains `text`.
  bool logs(std::string_view text) {
    return kit::eventually([&] { return log().find(text) != std::string::npos; });
  }
  // What it has logged so far.
  [[nodiscard]] const std::string& log() {
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = ::read(log_, buffer.data(), buffer.size())) > 0)
      text_.append(buffer.data(), static_cast<std::size_t>(got));
    return text_;
  }

  [[nodiscard]] std::size_t count_of(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = log().find(text); at != std::string::npos; at = text_.find(text, at + 1)) ++count;
    return count;
  }

  // The endpoint in its log behind `words`, once it is there; one of no kind if it never is.
  Endpoint endpoint(std::string_view words = "listening on ") {
    if (!logs(words)) return {};
    const std::size_t start = text_.find(words) + words.size();
    if (!kit::eventually([&] { return log().find('\n', start) != std::string::npos; })) return {};
    return read_endpoint(text_.substr(start, text_.find('\n', start) - start)).value_or(Endpoint{});
  }

  // Waits until it has ended. Whether it has ended with the status of a mistake in its options, and has logged `text` instead of
  // listening.
  bool refuses(std::string_view text) {
    const int status = stop(0);
    return logs(text) && WIFEXITED(status) && WEXITSTATUS(status) == 2 &&
           log().find("listening") == std::string::npos;
  }

  [[nodiscard]] pid_t process() const { return process_; }
  void signal(int number) const { ::kill(process_, number); }
  // Signal 0: waits for it to end by itself.
  int stop(int signal = SIGTERM) {
    if (process_ <= 0) return status_;
    ::kill(process_, signal);
    ::waitpid(process_, &status_, 0);
    process_ = -1;
    return status_;
  }

  [[nodiscard]] std::vector<pid_t> workers() const { return children("--worker"); }
  // -1: it is being started.
  [[nodiscard]] pid_t front() const {
    const std::vector<pid_t> fronts = children("--front");
    return fronts.empty() ? -1 : fronts.front();
  }

  // The number of clients in the file that its splitters read.
  [[nodiscard]] std::string clients() const {
    std::string count = kit::file_contents(state_.file("clients." + std::to_string(process_)));
    if (!count.empty()) count.pop_back();
    return count;
  }

 private:
  [[nodiscard]] std::vector<pid_t> children(const char* argument) const {
    const std::string id = std::to_string(process_);
    std::ifstream file("/proc/" + id + "/task/" + id + "/children");
    std::vector<pid_t> found{std::istream_iterator<pid_t>(file), {}};
    std::erase_if(found, [argument](pid_t each) {
      const std::string command = kit::file_contents("/proc/" + std::to_string(each) + "/cmdline");
      return command.find(argument) == std::string::npos;
    });
    return found;
  }

  const kit::TemporaryFolder state_;
  std::string text_;
  pid_t process_ = -1;
  int log_ = -1;
  int status_ = -1;
};

}  // namespace cleave::remote
