#include "remote/server/supervisor/spawn.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"
#include "remote/server/processes/packets.h"
#include "remote/server/processes/received_options.h"

namespace cleave::remote::server {
namespace {

// Above those that a supervisor has, a few for each client; a table of descriptors that leads there is still small.
constexpr rlim_t kLastDescriptor = 3000;

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

// Closed as the last one by exec: descriptors are closed in the order of their numbers.
void make_last(int descriptor) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto number = static_cast<int>(std::min(files.rlim_cur - 1, kLastDescriptor));
  const int last = ::fcntl(descriptor, F_DUPFD_CLOEXEC, number);
  if (last >= 0) ::close(descriptor);
}

struct Pipe {
  base::FileDescriptor ours;  // to read from without waiting
  base::FileDescriptor theirs;
};

bool make_pipe(Pipe& pipe, int flags) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | flags) != 0) return false;
  pipe = {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// Until all copies of a pipe's other end are closed.
void await_end(int pipe) {
  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
}

// `launch`, `reports` and `errors` (else -1): of a worker, which leads a process group; null: none. `alive`: open until this process
// has closed what it does not keep.
[[noreturn]] void exec_server(int control, int reports, int errors, int program, int alive,
                              const Launch* launch, char* const* arguments, char* const* variables) {
  make_last(alive);
  if (launch != nullptr && (::setpgid(0, 0) != 0 || !enter(*launch))) ::_exit(EXIT_FAILURE);
  ::dup2(control, STDIN_FILENO);
  if (reports >= 0) ::dup2(reports, STDOUT_FILENO);
  if (errors >= 0) ::dup2(errors, STDERR_FILENO);
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
  Pipe reports;
  Pipe errors;
  if (launch != nullptr) {
    if (!make_pipe(reports, O_DIRECT)) return {};
    if (argument == std::string_view(kWorkerArgument) && !make_pipe(errors, 0)) return {};
    ::shutdown(control.get(), SHUT_RD);  // a worker cannot send there
  }
  if (!send_packet_now(control.get(), encode(options))) return {};
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
  int alive[2];
  if (::pipe2(alive, O_CLOEXEC) != 0) return {};
  const base::FileDescriptor exec_done(alive[0]);
  base::FileDescriptor until_exec(alive[1]);
  const pid_t process = ::fork();
  if (process == 0) {
    exec_server(their_end.get(), reports.theirs.get(), errors.theirs.get(), program.get(), until_exec.get(),
                launch, argv.data(), envp.data());
  }
  if (process < 0) return {};
  // Meanwhile nothing is closed here: what clients have sent may take for ever to close, and would do so there (discard()).
  until_exec.close();
  await_end(exec_done.get());
  return {process, control.release(), reports.ours.release(), errors.ours.release()};
}

}  // namespace cleave::remote::server
