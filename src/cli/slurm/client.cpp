// `cleave slurm client`: the program with the devices of its job's servers.
#include <csignal>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/files/search_list.h"
#include "cli/remote/remote.h"
#include "cli/slurm/exchange.h"
#include "cli/slurm/job.h"
#include "cli/slurm/process.h"
#include "cli/slurm/sealed.h"
#include "cli/slurm/slurm.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kServersTimeout{120};
constexpr std::chrono::seconds kAnswerTimeout{60};

struct Servers {
  std::string addresses;     // separated by commas
  std::string certificates;  // PEM, one after the other
  std::string token;
};

Servers opened(const std::vector<std::string>& sealed, const std::string& sealed_token) {
  Servers servers;
  for (const std::string& each : sealed) {
    const std::string text = unseal(each);
    const std::size_t line = text.find('\n');
    servers.addresses += (servers.addresses.empty() ? "" : ",") + text.substr(0, line);
    if (line != std::string::npos) servers.certificates += text.substr(line + 1) + "\n";
  }
  servers.token = unseal(sealed_token);
  return servers;
}

// Waits until all tasks of the step have registered. Empty if the step must end before.
std::optional<Servers> servers_in(const Exchange& exchange, SignalWatch& signals) {
  exchange.publish("client", "");
  const auto until = std::chrono::steady_clock::now() + kServersTimeout;
  while (!exchange.is_complete()) {
    if (signals.wait(-1, 200ms)) return std::nullopt;
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("the servers have not come up");
  }
  const std::vector<std::string> servers = exchange.all("server");
  if (servers.empty()) throw std::runtime_error("the step has no task with `cleave slurm serve`");
  return opened(servers, exchange.agree("token", ""));
}

// In this process's environment, for itself and the program.
void use(const Servers& servers, const TaskFolder& folder) {
  ::setenv("CLEAVE_REMOTE", servers.addresses.c_str(), 1);
  ::setenv("CLEAVE_REMOTE_TOKEN_FILE", folder.write("token", servers.token + "\n").c_str(), 1);
  ::setenv("CLEAVE_REMOTE_CA", folder.write("certificates.pem", servers.certificates).c_str(), 1);
  for (const char* name : {"CLEAVE_SLURM_TOKEN", "CLEAVE_SLURM_SERVERS"}) ::unsetenv(name);
}

void wait_for_answers(const std::string& addresses, SignalWatch& signals) {
  const auto until = std::chrono::steady_clock::now() + kAnswerTimeout;
  for (const std::string& address : base::split(addresses, ",")) {
    for (;;) {
      const std::string problem = query_server(address, 20s).problem;
      if (problem.empty()) break;
      if (signals.wait(-1, 200ms) || std::chrono::steady_clock::now() > until) {
        throw std::runtime_error(
            std::string("the server ").append(address).append(" does not answer: ").append(problem));
      }
    }
  }
}

int run_program(const Words& command, SignalWatch& signals, JobWatch& job) {
  std::vector<std::string> words = {own_command(), "run", "--"};
  words.insert(words.end(), command.begin(), command.end());
  Process program({.command = words,
                   .environment = {},
                   .own_group = false,
                   .pipe_input = false,
                   .pipe_output = false,
                   .pipe_errors = false});
  while (!program.status()) {
    if (const auto signal = signals.wait(-1, 500ms)) program.signal(*signal);
    if (job.goes_on()) continue;
    std::fputs("cleave: Slurm has ended the job: a node has failed, or it was cancelled; the program ends\n",
               stderr);
    program.end(0ms);
    return 1;
  }
  return *program.status();
}

}  // namespace

int slurm_client(const SlurmClientRequest& request) {
  SignalWatch signals;
  const std::string from_session = variable("CLEAVE_SLURM_SERVERS");
  std::optional<Exchange> exchange;
  if (from_session.empty()) exchange.emplace(request.exchange);
  const std::optional<Servers> servers =
      exchange ? servers_in(*exchange, signals)
               : opened(base::split(from_session, ","), variable("CLEAVE_SLURM_TOKEN"));
  if (!servers) return 1;
  const TaskFolder folder;
  use(*servers, folder);
  wait_for_answers(servers->addresses, signals);
  JobWatch job(request.check);
  const int status = run_program(request.command, signals, job);
  if (exchange) exchange->publish("done", "");
  return status;
}

}  // namespace cleave::cli
