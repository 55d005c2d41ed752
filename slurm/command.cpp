#include "slurm/command.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <sys/wait.h>

#include "base/files/file_descriptor.h"

namespace cleave::slurm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 65'536;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pid_t start(const std::vector<std::string>& words, int output) {
  std::string path = kPath;
  const char* const given = std::getenv("PATH");
  if (given != nullptr) path += ':' + std::string(given);
  const char* const configuration = std::getenv("SLURM_CONF");
  std::string slurm_conf = std::string("SLURM_CONF=") + (configuration != nullptr ? configuration : "");
  std::vector<char*> environment = {path.data()};
  if (configuration != nullptr) environment.push_back(slurm_conf.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t child = -1;
  // posix_spawnp() would look the command up in the PATH of this process; env(1) does it in the child's.
  std::vector<char*> arguments = {const_cast<char*>("env"), const_cast<char*>("--")};
  arguments.reserve(words.size() + 3);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error =
      ::posix_spawn(&child, "/usr/bin/env", &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -1;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& words, std::chrono::milliseconds limit) {
  CommandResult result;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return result;
  const base::FileDescriptor output(ends[0]);
  base::FileDescriptor input(ends[1]);
  const pid_t child = start(words, input.get());
  input.close();
  if (child < 0) return result;
  const auto until = SteadyClock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now());
    pollfd watched{output.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) == 0) {
      ::kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t size = ::read(output.get(), buffer, sizeof buffer);
    if (size == 0 || (size < 0 && errno != EINTR)) break;
    if (size > 0 && result.output.size() < kMostOutput)
      result.output.append(buffer, static_cast<std::size_t>(size));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace cleave::slurm
