#include "cli/probe/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/wait.h>

namespace cleave::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Pipe {
 public:
  Pipe() { open_ = ::pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_write_end() { close_end(1); }
  int release_read_end() { return std::exchange(ends_[0], -1); }

  // Appends what is there. False at the end of the stream.
  bool read_into(std::string& text) const {
    char buffer[4096];
    const ssize_t size = ::read(ends_[0], buffer, sizeof buffer);
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && errno == EINTR);
  }

 private:
  void close_end(int which) {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

  int ends_[2] = {-1, -1};
  bool open_ = false;
};

std::vector<std::string> changed_environment(const ChildRequest& request) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool is_changed = false;
    for (const auto& [name, value] : request.environment) is_changed |= text.starts_with(name + '=');
    if (!is_changed) environment.emplace_back(text);
  }
  for (const auto& [name, value] : request.environment) {
    if (value) environment.push_back(name + '=' + *value);
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// In a process group of its own, so that a compiler which the driver started ends with it.
int start(const ChildRequest& request, int output, int errors, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments = {"cleave"};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  std::vector<std::string> environment = changed_environment(request);
  const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, &attributes, pointers(arguments).data(),
                                  pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads whatever comes within `timeout`. False when both streams have ended.
bool listen(const Pipe& output, const Pipe& errors, ChildResult& result, std::chrono::milliseconds timeout) {
  pollfd streams[2] = {{output.read_end(), POLLIN, 0}, {errors.read_end(), POLLIN, 0}};
  if (::poll(streams, 2, static_cast<int>(timeout.count())) <= 0) return true;
  bool output_open = true;
  bool errors_open = true;
  if (streams[0].revents != 0) output_open = output.read_into(result.output);
  if (streams[1].revents != 0) errors_open = errors.read_into(result.errors);
  return output_open || errors_open;
}

// True, with the child's end in `result`, where it has ended.
bool has_ended(pid_t child, ChildResult& result) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return false;
  const bool exited = WIFEXITED(status);
  result.end = exited ? ChildResult::End::exited : ChildResult::End::killed;
  result.code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return true;
}

// A child that hangs inside the kernel cannot be killed: give it a moment, then leave it.
void end(pid_t child) {
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
  for (int i = 0; i < 100 && ::waitpid(child, nullptr, WNOHANG) == 0; ++i) ::usleep(10'000);
}

}  // namespace

std::string ChildResult::outcome_text() const {
  switch (end) {
    case End::exited:
      return "ended with exit status " + std::to_string(code);
    case End::killed:
      return "was killed by signal " + std::to_string(code) + " (" + ::strsignal(code) + ")";
    case End::timed_out:
      return "did not answer in time";
    case End::not_started:
      break;
  }
  return std::string("could not be started: ") + std::strerror(code);
}

ChildResult run_child(const ChildRequest& request) {
  ChildResult result;
  Pipe output;
  Pipe errors;
  pid_t child = -1;
  result.code = output.is_open() && errors.is_open()
                    ? start(request, output.write_end(), errors.write_end(), child)
                    : errno;
  if (result.code != 0) return result;
  output.close_write_end();
  errors.close_write_end();

  constexpr std::chrono::milliseconds tick{20};
  const auto deadline = Clock::now() + request.limit;
  while (!has_ended(child, result)) {
    if (Clock::now() > deadline) {
      result.end = ChildResult::End::timed_out;
      end(child);
      break;
    }
    if (!listen(output, errors, result, tick)) ::usleep(1'000);
  }
  // What is still in the streams. They may stay open for ever in a grandchild's hands: a moment of silence is
  // the end.
  for (std::size_t before = SIZE_MAX; before != result.output.size() + result.errors.size();) {
    before = result.output.size() + result.errors.size();
    listen(output, errors, result, tick);
  }
  return result;
}

StreamingChild::StreamingChild(const ChildRequest& request) {
  Pipe output;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (output.is_open() && nowhere >= 0 && start(request, output.write_end(), nowhere, child_) == 0) {
    stream_ = output.release_read_end();
  }
  if (nowhere >= 0) ::close(nowhere);
}

StreamingChild::~StreamingChild() {
  if (stream_ < 0) return;
  ::close(stream_);
  end(child_);
}

bool StreamingChild::listen() {
  char buffer[4096];
  const ssize_t size = ::read(stream_, buffer, sizeof buffer);
  if (size > 0) output_.append(buffer, static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && errno == EINTR);
}

std::string StreamingChild::take_lines() {
  const std::size_t size = output_.rfind('\n') + 1;  // 0 where there is none
  std::string lines = output_.substr(0, size);
  output_.erase(0, size);
  return lines;
}

}  // namespace cleave::cli
