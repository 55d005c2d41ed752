#include "cli/slurm/command_line.h"

#include <chrono>
#include <memory>
#include <string>

#include "cli/program_help.h"

namespace cleave::cli {
namespace {

CLI::Option* add_number(CLI::App& command, const char* name, unsigned& number, const char* description) {
  return command.add_option(name, number, description)
      ->check(CLI::Range(1, 100'000).description(""))
      ->type_name("N");
}

void add_check(CLI::App& command, std::chrono::seconds& check) {
  command
      .add_option_function<unsigned>(
          "--check", [&check](unsigned seconds) { check = std::chrono::seconds(seconds); },
          "Seconds between checks whether Slurm still runs the job (30)")
      ->check(CLI::Range(1, 3600).description(""))
      ->type_name("S");
}

void add_slurm_run(CLI::App& slurm, SlurmRunRequest& request) {
  CLI::App& run =
      *slurm.add_subcommand("run", "Allocate shares of GPUs and a node, and run a program there with them");
  run.formatter(std::make_shared<ProgramHelp>(std::string("slurm run") + kProgramUsage));
  add_number(run, "--shards", request.shards, "Shards of a GPU on each of the servers' nodes (1)");
  add_number(run, "--nodes", request.nodes, "Nodes with a GPU, with a server on each (1)");
  add_number(run, "--ntasks", request.tasks, "Tasks of the program (1)");
  run.add_option("--partition", request.partition, "The program's partition")->type_name("NAME");
  run.add_option("--gpu-partition", request.gpu_partition, "The servers' partition")->type_name("NAME");
  run.add_option("--time", request.time, "The time limit of the whole job")->type_name("TIME");
  run.add_option("--option", request.options, "Another option of salloc for the program, such as --mem=4G")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  run.add_option("--gpu-option", request.gpu_options, "The same for the servers")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  add_check(run, request.check);
  run.footer(
      "Within a heterogeneous allocation it uses that one: the program on the first component, the servers "
      "on the\n"
      "second. The exit status is the program's own, or 1 if the servers fail.");
}

void add_step_options(CLI::App& command, std::string& exchange, std::chrono::seconds& check) {
  command
      .add_option("--exchange", exchange,
                  "The folder, on all nodes, through which servers and program find each other")
      ->type_name("FOLDER");
  add_check(command, check);
}

}  // namespace

const CLI::App& add_slurm(CLI::App& app, SlurmRequest& request) {
  CLI::App& slurm = *app.add_subcommand("slurm", "Use the GPUs of other nodes of a Slurm cluster");
  slurm.require_subcommand(1);
  add_slurm_run(slurm, request.run);
  CLI::App& serve =
      *slurm.add_subcommand("serve", "The task of an srun that serves a node's GPU to its job's program");
  serve.formatter(std::make_shared<ProgramHelp>("slurm serve [OPTIONS] [-- OPTIONS OF cleave-serverd...]"));
  add_step_options(serve, request.serve.exchange, request.serve.check);
  CLI::App& client =
      *slurm.add_subcommand("client", "The task of an srun that runs the program with its job's GPUs");
  client.formatter(std::make_shared<ProgramHelp>(std::string("slurm client") + kProgramUsage));
  add_step_options(client, request.client.exchange, request.client.check);
  // For `run`, in the allocation.
  add_check(*slurm.add_subcommand("session", "")->group(""), request.session.check);
  return slurm;
}

int slurm(const CLI::App& command, SlurmRequest& request, const Words& program) {
  if (command.got_subcommand("serve")) {
    request.serve.options = program;
    return slurm_serve(request.serve);
  }
  const std::string part = command.get_subcommands().front()->get_name();
  if (program.empty()) {
    report_no_program("slurm " + part);
    return 2;
  }
  request.run.command = request.session.command = request.client.command = program;
  if (part == "run") return slurm_run(request.run);
  return part == "client" ? slurm_client(request.client) : slurm_session(request.session);
}

}  // namespace cleave::cli
