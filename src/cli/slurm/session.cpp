// `cleave slurm run` and its session: the servers' step and the program's, one of which does not outlive the other.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unistd.h>

#include <sys/prctl.h>

#include "base/files/search_list.h"
#include "cli/slurm/job.h"
#include "cli/slurm/process.h"
#include "cli/slurm/sealed.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/token.h"
#include "cli/system/executable.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kStepTimeout{180};
constexpr std::chrono::seconds kStepPatience{10};  // for a step to end after a request
// For salloc to learn that its job has been revoked: after the last message about that, and in total.
constexpr std::chrono::seconds kRevocationQuiet{2};
constexpr std::chrono::seconds kRevocationTime{10};

void append_words(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

std::string group_variable(const char* name, unsigned group) {
  return std::string(name) + "_HET_GROUP_" + std::to_string(group);
}

std::string check_option(std::chrono::seconds check) { return "--check=" + std::to_string(check.count()); }

Words allocation(const SlurmRunRequest& request) {
  Words words = {"salloc", "--quiet", "--kill-command=SIGTERM", "--job-name=cleave",
                 "--ntasks=" + std::to_string(request.tasks)};
  if (!request.time.empty()) words.push_back("--time=" + request.time);
  if (!request.partition.empty()) words.push_back("--partition=" + request.partition);
  append_words(words, request.options);
  const std::string nodes = std::to_string(request.nodes);
  append_words(words, {":", "--nodes=" + nodes, "--ntasks=" + nodes, "--ntasks-per-node=1",
                       "--gres=shard:" + std::to_string(request.shards)});
  if (!request.time.empty()) words.push_back("--time=" + request.time);
  if (!request.gpu_partition.empty()) words.push_back("--partition=" + request.gpu_partition);
  append_words(words, request.gpu_options);
  append_words(words, {own_command(), "slurm", "session", check_option(request.check), "--"});
  append_words(words, request.command);
  return words;
}

[[noreturn]] void exec(const Words& words) {
  execute(words);
  throw std::runtime_error("cannot run " + words[0] + ": " + std::strerror(errno));
}

// The servers' step.
class ServersStep {
 public:
  ServersStep(const SlurmSessionRequest& request, const std::string& token)
      : nodes_(number_variable(group_variable("SLURM_JOB_NUM_NODES", request.gpu_group))),
        step_(step(request, token)) {}

  // What each server publishes about itself, sealed; separated by commas. Empty if they have ended, or the session must end.
  std::string wait_until_ready(SignalWatch& signals) {
    const auto until = std::chrono::steady_clock::now() + kStepTimeout;
    Words ready;
    while (ready.size() < nodes_) {
      if (signals.wait(step_.output.get(), 200ms) || has_ended()) return {};
      if (std::chrono::steady_clock::now() > until) throw std::runtime_error("the servers do not come up");
      step_.read(text_);
      ready = lines_of_servers();
    }
    return base::join(ready, ',');
  }

  bool has_ended() { return step_.status().has_value(); }

  // A server ends when its input does.
  void end() {
    step_.input.close();
    step_.end(kStepPatience);
  }

 private:
  ProcessRequest step(const SlurmSessionRequest& request, const std::string& token) const {
    if (nodes_ == 0)
      throw std::runtime_error("this is no heterogeneous allocation; ask for one with `cleave slurm run`");
    const std::string nodes = std::to_string(nodes_);
    return {.command = {"srun", "--quiet", "--kill-on-bad-exit=1",
                        "--het-group=" + std::to_string(request.gpu_group), "--nodes=" + nodes,
                        "--ntasks=" + nodes, "--ntasks-per-node=1", "--job-name=cleave-serverd",
                        own_command(), "slurm", "serve", check_option(request.check)},
            .environment = {{"CLEAVE_SLURM_TOKEN", token}},
            .own_group = true,
            .pipe_input = true,
            .pipe_output = true,
            .pipe_errors = false};
  }

  Words lines_of_servers() const {
    constexpr std::string_view kMark = "cleave-server ";
    Words servers;
    for (const std::string& line : base::split(text_.substr(0, text_.rfind('\n') + 1), "\n")) {
      if (line.starts_with(kMark)) servers.push_back(line.substr(kMark.size()));
    }
    return servers;
  }

  unsigned nodes_;
  Process step_;
  std::string text_;
};

Words client_words(const SlurmSessionRequest& request) {
  Words words = {"srun",
                 "--quiet",
                 "--kill-on-bad-exit=1",
                 "--het-group=" + std::to_string(request.program_group),
                 own_command(),
                 "slurm",
                 "client",
                 "--"};
  append_words(words, request.command);
  return words;
}

// Returns the program's status; empty if it was ended, because the servers ended first, or the session must end.
std::optional<int> run_program_step(const SlurmSessionRequest& request, ServersStep& servers,
                                    const Words& secrets, SignalWatch& signals) {
  Process program({.command = client_words(request),
                   .environment = {{"CLEAVE_SLURM_TOKEN", secrets[0]}, {"CLEAVE_SLURM_SERVERS", secrets[1]}},
                   .own_group = false,
                   .pipe_input = false,
                   .pipe_output = false,
                   .pipe_errors = false});
  while (!program.status()) {
    const auto signal = signals.wait(-1, 500ms);
    // The terminal's interrupt reaches srun by itself.
    if (signal == SIGINT) continue;
    if (signal) {
      program.end(0ms);
      return std::nullopt;
    }
    if (!servers.has_ended()) continue;
    if (program.status()) break;
    std::fputs("cleave: a server of this job has ended before the program; the program is ended\n", stderr);
    program.end(0ms);
    return std::nullopt;
  }
  return program.status();
}

std::optional<int> servers_and_program(const SlurmSessionRequest& request, SignalWatch& signals) {
  const std::string token = seal(make_token());
  ServersStep servers(request, token);
  const std::string ready = servers.wait_until_ready(signals);
  if (ready.empty()) {
    std::fputs("cleave: the servers have ended before the program could start\n", stderr);
    servers.end();
    return std::nullopt;
  }
  const std::optional<int> status = run_program_step(request, servers, {token, ready}, signals);
  servers.end();
  return status;
}

// All components. If only one was cancelled, or has lost its node, salloc 22.05 leaves the others allocated until their
// time limit.
void give_back() { capture({"scancel", "--quiet", variable("SLURM_JOB_ID")}); }

// When salloc 22.05 learns that its job, or a component, has been revoked, its thread for messages reaps the command if that has just
// ended. The thread that waits for the command then waits forever, and keeps a processor busy. So the session does not end
// before these messages have arrived: each makes salloc send it a SIGTERM (--kill-command).
void outlive_revocation(SignalWatch& signals) {
  const auto begin = std::chrono::steady_clock::now();
  const auto last = begin + kRevocationTime;
  auto until = begin + kRevocationQuiet;
  for (auto now = begin; now < std::min(until, last); now = std::chrono::steady_clock::now()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(until, last) - now);
    if (signals.wait(-1, left)) until = std::chrono::steady_clock::now() + kRevocationQuiet;
  }
}

}  // namespace

int slurm_run(const SlurmRunRequest& request) {
  // Within a heterogeneous allocation of the user's own, as in a batch script.
  if (number_variable("SLURM_HET_SIZE") >= 2 && !variable("SLURM_JOB_ID").empty()) {
    SlurmSessionRequest session;
    session.check = request.check;
    session.owns_allocation = false;
    session.command = request.command;
    return slurm_session(session);
  }
  exec(allocation(request));
}

int slurm_session(const SlurmSessionRequest& request) {
  SignalWatch signals;
  // If salloc is killed, the session releases the allocation.
  if (request.owns_allocation) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const std::optional<int> status = servers_and_program(request, signals);
  if (!request.owns_allocation || status == 0) return status.value_or(1);
  // Not where the program has failed by itself: salloc's exit status would be another.
  if (!status) give_back();
  // It may have failed because the job was revoked.
  outlive_revocation(signals);
  return status.value_or(1);
}

}  // namespace cleave::cli
