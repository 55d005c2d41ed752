#include "remote/server/supervisor/spawn.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "remote/server/supervisor/worker_messages.h"

namespace cleave::remote::server {
namespace {

// The supervisor's environment without the settings of remote servers, which a worker must not use, and with the clients as
// neighbours unless the operator has set a source.
std::vector<std::string> environment(const std::string& neighbours) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "CLEAVE_REMOTE", std::strlen("CLEAVE_REMOTE")) == 0) continue;
    if (std::strncmp(*variable, "NOTIFY_SOCKET=", std::strlen("NOTIFY_SOCKET=")) == 0) continue;
    variables.emplace_back(*variable);
  }
  const bool is_configured =
      std::getenv("CLEAVE_NEIGHBOURS") != nullptr || std::getenv("CLEAVE_VMS") != nullptr;
  if (!is_configured && !neighbours.empty()) variables.push_back("CLEAVE_NEIGHBOURS=file:" + neighbours);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// A variable of the environment replaced, or removed if the value is empty.
void set_variable(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  std::erase_if(variables, [&](const std::string& each) { return each.starts_with(name + "="); });
  if (!value.empty()) variables.push_back(name + "=" + value);
}

// `launch`: of a worker, which leads a process group; null: none.
[[noreturn]] void exec_server(int control, int program, const Launch* launch, char* const* arguments,
                              char* const* variables) {
  if (launch != nullptr && (::setpgid(0, 0) != 0 || !enter(*launch))) ::_exit(EXIT_FAILURE);
  ::dup2(control, STDIN_FILENO);
  const bool is_sandboxed = launch != nullptr && !launch->prefix.empty();
  // Descriptors that the server has inherited are not for workers.
  if (is_sandboxed) pass_program(program);
  ::close_range(STDERR_FILENO + (is_sandboxed ? 2 : 1), ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(is_sandboxed ? arguments[0] : "/proc/self/exe", arguments, variables);
  ::_exit(EXIT_FAILURE);
}

}  // namespace

std::vector<daemon::GivenValue> options_of_workers(const std::vector<daemon::GivenValue>& options) {
  constexpr std::array kFronts{"listen",   "socket-mode", "token-file", "clients-file", "tls-key",
                               "tls-cert", "client-ca",   "peer-ca",    "metrics"};
  std::vector<daemon::GivenValue> left = options;
  std::erase_if(left, [&](const daemon::GivenValue& each) {
    return std::find(kFronts.begin(), kFronts.end(), each.option) != kFronts.end();
  });
  return left;
}

Spawned spawn(const char* argument, const std::vector<daemon::GivenValue>& options,
              const std::string& neighbours, const Launch* launch) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const base::FileDescriptor their_end(ends[1]);
  base::FileDescriptor control(ends[0]);
  const std::string packet = encode(options);
  if (::send(control.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return {};
  std::vector<std::string> texts{"cleave-serverd"};
  std::vector<std::string> variables = environment(neighbours);
  if (launch != nullptr) {
    if (!launch->prefix.empty()) texts = launch->prefix;
    for (const auto& [name, value] : launch->variables) set_variable(variables, name, value);
  }
  texts.emplace_back(argument);
  const base::FileDescriptor program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  const std::vector<char*> argv = pointers(texts);
  const std::vector<char*> envp = pointers(variables);
  const pid_t process = ::fork();
  if (process == 0) exec_server(their_end.get(), program.get(), launch, argv.data(), envp.data());
  if (process < 0) return {};
  return {process, control.release()};
}

}  // namespace cleave::remote::server
