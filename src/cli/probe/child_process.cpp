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

#include "cli/system/executable.h"

namespace cleave::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read_end = base::FileDescriptor(ends[0]);
    write_end = base::FileDescriptor(ends[1]);
  }

  base::FileDescriptor read_end;
  base::FileDescriptor write_end;
};

// Appends available bytes. Returns false at the end of the stream.
bool append_from(const base::FileDescriptor& stream, std::string& text) {
  char buffer[4096];
  const ssize_t size = ::read(stream.get(), buffer, sizeof buffer);
  if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && errno == EINTR);
}

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

// Starts the child in a process group of its own, so that compilers that a driver starts can be killed with it.
int start(const ChildRequest& request, const base::FileDescriptor& output, const base::FileDescriptor& errors,
          pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments;
  if (!request.is_program) arguments.emplace_back("cleave");
  const std::string file = request.is_program ? request.arguments.front() : "/proc/self/exe";
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  const std::vector<std::string> environment = changed_environment(request);
  const int error = ::posix_spawnp(&child, file.c_str(), &actions, &attributes, pointers_to(arguments).data(),
                                   pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads what comes within `timeout`. Returns false when both streams have ended.
bool read_streams(const Pipe& output, const Pipe& errors, ChildResult& result,
                  std::chrono::milliseconds timeout) {
  pollfd streams[2] = {{output.read_end.get(), POLLIN, 0}, {errors.read_end.get(), POLLIN, 0}};
  if (::poll(streams, 2, static_cast<int>(timeout.count())) <= 0) return true;
  bool output_open = true;
  bool errors_open = true;
  if (streams[0].revents != 0) output_open = append_from(output.read_end, result.output);
  if (streams[1].revents != 0) errors_open = append_from(errors.read_end, result.errors);
  return output_open || errors_open;
}

// Whether the child has ended; if so, sets the end in `result`.
bool has_ended(pid_t child, ChildResult& result) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return false;
  const bool exited = WIFEXITED(status);
  result.end = exited ? ChildResult::End::exited : ChildResult::End::killed;
  result.code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return true;
}

// Waits for the end only for a moment: a child that hangs inside the kernel cannot be killed.
void kill_group(pid_t child) {
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
  result.code = output.write_end.is_open() && errors.write_end.is_open()
                    ? start(request, output.write_end, errors.write_end, child)
                    : errno;
  if (result.code != 0) return result;
  output.write_end.close();
  errors.write_end.close();

  constexpr std::chrono::milliseconds tick{20};
  const auto deadline = Clock::now() + request.limit;
  while (!has_ended(child, result)) {
    if (Clock::now() > deadline) {
      result.end = ChildResult::End::timed_out;
      kill_group(child);
      break;
    }
    if (!read_streams(output, errors, result, tick)) ::usleep(1'000);
  }
  // Read the rest. Descendants may keep the streams open forever, so stop when nothing arrives for a moment.
  for (std::size_t before = SIZE_MAX; before != result.output.size() + result.errors.size();) {
    before = result.output.size() + result.errors.size();
    read_streams(output, errors, result, tick);
  }
  return result;
}

StreamingChild::StreamingChild(const ChildRequest& request) {
  Pipe output;
  const base::FileDescriptor discard(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (output.write_end.is_open() && discard.is_open() &&
      start(request, output.write_end, discard, child_) == 0) {
    stream_ = std::move(output.read_end);
  }
}

StreamingChild::~StreamingChild() {
  if (!stream_.is_open()) return;
  stream_.close();
  kill_group(child_);
}

bool StreamingChild::read() { return append_from(stream_, output_); }

std::string StreamingChild::take_lines() {
  const std::size_t size = output_.rfind('\n') + 1;  // 0 if there is none
  std::string lines = output_.substr(0, size);
  output_.erase(0, size);
  return lines;
}

}  // namespace cleave::cli
