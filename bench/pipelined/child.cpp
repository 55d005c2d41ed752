#include "bench/pipelined/child.h"

#include <array>
#include <cstdlib>
#include <unistd.h>

#include <sys/wait.h>

namespace pipelined {

Ended run(const std::vector<std::string>& command,
          const std::vector<std::pair<std::string, std::string>>& environment, unsigned limit) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    alarm(limit);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  Ended ended;
  std::array<char, 4096> read_now{};
  for (ssize_t count = 0; (count = read(ends[0], read_now.data(), read_now.size())) > 0;)
    ended.output.append(read_now.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  if (child > 0) waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace pipelined
