// The command line of `cleave`. Each subcommand has a folder of its own.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text/display_text.h"
#include "cli/bench/bench.h"
#include "cli/doctor/doctor.h"
#include "cli/icd/cdi.h"
#include "cli/icd/icd.h"
#include "cli/layer/layer.h"
#include "cli/option_checks.h"
#include "cli/probe/probe.h"
#include "cli/program_help.h"
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "cli/slurm/command_line.h"
#include "cli/top/command_line.h"
#include "cli/trace/trace.h"

namespace cleave::cli {
namespace {

constexpr int usage_error = 2;

using Arguments = std::vector<std::string>;

// The command line, split where the program of `cleave run`, `cleave doctor --run`, or of a part of `cleave slurm`, begins;
// the rest is the program's.
struct CommandLine {
  Arguments ours;
  Arguments program;
};

// How many of the arguments name the subcommand that takes a program; null: none does.
struct ProgramTaker {
  const CLI::App* command = nullptr;
  std::size_t words = 0;
};

ProgramTaker program_taker(const Arguments& arguments, const CLI::App& app) {
  if (arguments.empty()) return {};
  const std::string& name = arguments[0];
  const bool examines =
      name == "doctor" && std::find(arguments.begin(), arguments.end(), "--run") != arguments.end();
  if (name == "run" || examines) return {app.get_subcommand(name), 1};
  if (name != "slurm" || arguments.size() < 2) return {};
  const auto named = app.get_subcommand(name)->get_subcommands(
      [&](const CLI::App* each) { return each->get_name() == arguments[1]; });
  return named.empty() ? ProgramTaker{} : ProgramTaker{named.front(), 2};
}

CommandLine split_at_program(const Arguments& arguments, const ProgramTaker& taker) {
  if (taker.command == nullptr) return {arguments, {}};
  auto at = arguments.begin() + static_cast<std::ptrdiff_t>(taker.words);
  while (at != arguments.end() && *at != "--" && at->starts_with('-')) {
    const CLI::Option* option = taker.command->get_option_no_throw(*at);
    // An optional value is attached with "=".
    const bool takes_next = option != nullptr && option->get_items_expected_min() > 0;
    at += takes_next && at + 1 != arguments.end() ? 2 : 1;
  }
  const bool has_mark = at != arguments.end() && *at == "--";
  return {{arguments.begin(), at}, {at + (has_mark ? 1 : 0), arguments.end()}};
}

CLI::Validator setting_check(const char* variable) {
  return {[variable](const std::string& value) { return check_setting(variable, value); }, ""};
}

// Adds the option `name`, which sets the environment variable of a setting.
void add_setting_option(CLI::App& run, RunRequest& request, const char* name, const char* variable,
                        const char* type, const char* description) {
  const auto set = [&request, variable](const std::string& value) {
    request.settings.emplace_back(variable, value);
  };
  run.add_option_function<std::string>(name, set, description)
      ->check(setting_check(variable))
      ->type_name(type);
}

// The program may change its working directory before it first uses OpenCL.
std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

void add_run(CLI::App& app, RunRequest& request) {
  CLI::App& run = *app.add_subcommand("run", "Run a program with its kernel launches split");
  run.formatter(std::make_shared<ProgramHelp>(std::string("run") + kProgramUsage));
  add_setting_option(run, request, "--vms", "CLEAVE_VMS", "N",
                     "Virtual machines that share the host, including this one");
  add_setting_option(run, request, "--alpha", "CLEAVE_ALPHA", "A", "Slices for each virtual machine");
  add_setting_option(run, request, "--policy", "CLEAVE_SPLIT", "POLICY",
                     "off, alpha, budget:SHARE, pressure:TARGET, quantum:MS or fixed:N");
  add_setting_option(run, request, "--launch", "CLEAVE_LAUNCH", "MODE",
                     "auto, sequential, queued or pipelined");
  add_setting_option(run, request, "--weight", "CLEAVE_WEIGHT", "W",
                     "Weight of its share of a device that other programs use too (100)");
  add_setting_option(run, request, "--priority", "CLEAVE_PRIORITY", "CLASS",
                     "Its class on such a device: high, normal, background or idle");
  add_setting_option(run, request, "--turns", "CLEAVE_TURNS", "MODE",
                     "auto (while any program on the device has a weight, class or cap), on or off");
  add_setting_option(run, request, "--tenant", "CLEAVE_TENANT", "NAME",
                     "The tenant to charge, or cgroup: the name of its control group");
  add_setting_option(run, request, "--cap", "CLEAVE_CAP", "SHARE",
                     "The largest share of a device's time, such as 30% or 30%,borrow");
  add_setting_option(run, request, "--memory-limit", "CLEAVE_MEMORY_LIMIT", "SIZE",
                     "The most memory on a device, such as 512M or 2G");
  add_setting_option(run, request, "--wait", "CLEAVE_WAIT", "MODE", "auto, native or sleeping");
  add_setting_option(
      run, request, "--remote", "CLEAVE_REMOTE", "ADDRESS[,...]",
      "Also use the devices of servers: tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:CID:PORT");
  const auto set_file = [&](const std::string& file) {
    request.settings.emplace_back("CLEAVE_CONFIG", absolute(file));
  };
  run.add_option_function<std::string>("--config", set_file, "The configuration file")
      ->check(CLI::Validator(check_file, ""))
      ->type_name("FILE");
  const auto set_stats = [&](const std::string& file) {
    request.settings.emplace_back("CLEAVE_STATS",
                                  file.empty() || file == "stderr" ? "stderr" : absolute(file));
  };
  run.add_option_function<std::string>("--stats", set_stats,
                                       "Report on standard error what was split, or as JSON in FILE")
      ->expected(0, 1)
      ->type_name("[=FILE]");
  run.add_flag("--explain", request.explain,
               "Say on standard error which launches were not split, why, and what to do about it");
  const auto set_trace = [&](const std::string& file) {
    request.settings.emplace_back("CLEAVE_TRACE", absolute(file));
  };
  run.add_option_function<std::string>("--trace", set_trace,
                                       "Write a trace to FILE, for Perfetto or chrome://tracing")
      ->type_name("FILE");
  run.footer(
      "The exit status is the program's own, or 127 if there is no such program, 126 if it cannot be\n"
      "executed, 1 if Cleave's libraries are missing, 2 if the command line is wrong.");
}

void add_doctor(CLI::App& app, DoctorRequest& request, bool& runs) {
  CLI::App& doctor =
      *app.add_subcommand("doctor", "Check whether Cleave works here, and how to fix what does not");
  doctor.add_flag(
      "--run", runs,
      "Run PROGRAM with the arguments that follow, natively and under Cleave, and compare their OpenCL "
      "loaders");
  doctor.add_flag("--all", request.all_settings,
                  "Show all settings, not only those that differ from the default");
  doctor.add_option("PROGRAM", request.program, "Also check whether this program would be intercepted");
  doctor
      .add_option_function<std::string>(
          "--timeout",
          [&](const std::string& seconds) {
            request.timeout = std::chrono::milliseconds(static_cast<int>(std::stod(seconds) * 1000));
          },
          "Seconds to wait for a driver, or for the program of --run (10)")
      ->check(CLI::Validator(check_seconds, ""))
      ->type_name("S");
}

void add_icd_options(CLI::App& command, IcdRequest& request, bool changes) {
  const auto add = [&](const char* name, std::filesystem::path& place, const char* description,
                       const char* type) {
    const auto set = [&place](const std::string& given) { place = given; };
    return command.add_option_function<std::string>(name, set, description)->type_name(type);
  };
  add("--vendors", request.vendors, "Where loaders look for .icd files (/etc/OpenCL/vendors)", "FOLDER");
  add("--wrapped", request.wrapped, "Where the drivers are moved to (the former with .cleave appended)",
      "FOLDER");
  add("--root", request.root, "The root of another system that contains these folders", "FOLDER")
      ->check(CLI::ExistingDirectory);
  if (!changes) return;
  command.add_flag("--dry-run", request.dry,
                   "Only print what would be done; the default for users other than root");
  command.add_flag("--apply", request.apply, "Make the changes even if the user is not root");
}

// A vendor's and a class's name: letters, digits, and within them "_", "-" and, for the vendor, ".".
std::string check_kind(const std::string& kind) {
  const auto is_name = [](std::string_view name, std::string_view marks) {
    const auto is_letter = [](unsigned char each) { return std::isalnum(each) != 0; };
    return !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
           is_letter(name.back()) && std::all_of(name.begin(), name.end(), [&](char each) {
             return is_letter(static_cast<unsigned char>(each)) || marks.find(each) != std::string_view::npos;
           });
  };
  const std::size_t slash = kind.find('/');
  const bool is_kind = slash != std::string::npos &&
                       is_name(std::string_view(kind).substr(0, slash), "_-.") &&
                       is_name(std::string_view(kind).substr(slash + 1), "_-");
  return is_kind ? "" : kind + ": expected VENDOR/CLASS, such as example.com/gpu";
}

// docs/slurm.md, of Kubernetes
void add_cdi(CLI::App& icd, CdiRequest& request) {
  CLI::App& cdi =
      *icd.add_subcommand("cdi", "Print a file by which containers get Cleave (Container Device Interface)");
  cdi.add_option("--kind", request.kind, "The kind of the devices (cleave.local/gpu)")
      ->check(CLI::Validator(check_kind, ""))
      ->type_name("VENDOR/CLASS");
  cdi.add_option("--shards", request.shards,
                 "Shards of a GPU; the file has a device for each number of shards (1)")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  cdi.add_option("--memory", request.memory, "The memory of a GPU, which is divided among its shards")
      ->check(setting_check("CLEAVE_MEMORY_LIMIT"))
      ->type_name("SIZE");
  cdi.add_option_function<std::string>(
         "--registry", [&request](const std::string& folder) { request.registry = absolute(folder); },
         "The folder that containers on a GPU share (/dev/shm/cleave)")
      ->type_name("FOLDER");
}

// docs/vendor.md
void add_icd(CLI::App& app, IcdRequest& request, CdiRequest& to_print) {
  CLI::App& icd = *app.add_subcommand("icd", "Register the vendor library in place of the vendors' drivers");
  icd.require_subcommand(1);
  const auto add = [&](const char* name, const char* description, IcdRequest::Action action) -> CLI::App& {
    CLI::App& command = *icd.add_subcommand(name, description);
    command.callback([&request, action] { request.action = action; });
    add_icd_options(command, request, action != IcdRequest::Action::status);
    return command;
  };
  CLI::App& install =
      add("install", "Put Cleave in front of every driver, including new ones", IcdRequest::Action::install);
  install
      .add_option_function<std::string>(
          "--library", [&](const std::string& given) { request.library = given; },
          "The library to register, as seen by programs (default: this installation's)")
      ->type_name("FILE");
  add("uninstall", "Restore everything as it was before", IcdRequest::Action::uninstall);
  add("status", "Show what is registered and wrapped; the exit status is 0 if that is every driver",
      IcdRequest::Action::status);
  add_cdi(icd, to_print);
}

// docs/layer.md
void add_layer(CLI::App& app, LayerRequest& request) {
  CLI::App& layer = *app.add_subcommand("layer", "Register the layer for programs without `cleave run`");
  layer.require_subcommand(1);
  const auto add = [&](const char* name, const char* description, LayerRequest::Action action) {
    CLI::App& command = *layer.add_subcommand(name, description);
    command.callback([&request, action] { request.action = action; });
    const auto path = [&command](const char* option, std::filesystem::path& place, const char* text,
                                 const char* type) {
      return command
          .add_option_function<std::string>(
              option, [&place](const std::string& given) { place = given; }, text)
          ->type_name(type);
    };
    command.add_flag("--user", request.user, "Only for this user's sessions (environment.d); needs no root");
    path("--layers", request.layers, "Where loaders look for .lay files (/etc/OpenCL/layers)", "FOLDER");
    path("--root", request.root, "The root of another system that contains this folder", "FOLDER")
        ->check(CLI::ExistingDirectory);
    if (action == LayerRequest::Action::status) return;
    command.add_flag("--dry-run", request.dry,
                     "Only print what would be done; the default for users other than root without --user");
    command.add_flag("--apply", request.apply, "Make the changes even if the user is not root");
    if (action == LayerRequest::Action::install) {
      path("--library", request.library,
           "The layer to register, as seen by programs (default: this installation's)", "FILE");
    }
  };
  add("install", "Let loaders load Cleave into every program", LayerRequest::Action::install);
  add("uninstall", "Undo that", LayerRequest::Action::uninstall);
  add("status", "Show whether it is registered, and whether the system's loader loads it",
      LayerRequest::Action::status);
}

void add_remote(CLI::App& app, std::vector<std::string>& addresses) {
  CLI::App& remote = *app.add_subcommand("remote", "Show the servers whose devices can be used from here");
  CLI::App& list = *remote.add_subcommand("ls", "List servers with their devices, load and response time");
  list.add_option("ADDRESS", addresses, "The servers (default: those of CLEAVE_REMOTE)")
      ->check(setting_check("CLEAVE_REMOTE"));
  remote.require_subcommand(1);
}

// docs/trace.md
void add_trace(CLI::App& app, TraceRequest& request) {
  CLI::App& trace =
      *app.add_subcommand("trace", "Combine the traces of several processes into one time line");
  CLI::App& merge = *trace.add_subcommand(
      "merge", "Merge traces of programs, of their remote devices (FILE.remote) and of servers");
  merge.add_option("OUT", request.out, "The file to write, for Perfetto")->required()->type_name("");
  merge.add_option("FILE", request.files, "The traces; times are those of the first one's clock")
      ->required()
      ->type_name("");
  trace.require_subcommand(1);
}

// The arguments are passed on to the suite.
CLI::App& add_bench(CLI::App& app) {
  CLI::App& bench =
      *app.add_subcommand("bench", "Measure what Cleave costs and gains here (see bench --help)");
  bench.set_help_flag();
  bench.prefix_command();
  return bench;
}

struct ProbeRequest {
  std::string subject;
  std::string loader;
  std::string server;
  unsigned platform = 0;
  unsigned device = 0;
};

// Hidden from users: see probe/probe.h.
void add_probe(CLI::App& app, ProbeRequest& request) {
  CLI::App& probe = *app.add_subcommand("probe", "")->group("");
  const auto add = [&](const char* subject) {
    CLI::App& command = *probe.add_subcommand(subject, "");
    command.callback([&request, subject] { request.subject = subject; });
    return &command;
  };
  add("library");
  add("neighbours");
  for (const char* subject : {"loader", "vendor"})
    add(subject)->add_option("PATH", request.loader)->required();
  add("server")->add_option("ADDRESS", request.server)->required();
  add("devices");
  for (const char* subject : {"kernel", "waits"}) {
    CLI::App& command = *add(subject);
    command.add_option("PLATFORM", request.platform)->required();
    command.add_option("DEVICE", request.device)->required();
  }
  probe.require_subcommand(1);
}

int probe(const ProbeRequest& request) {
  if (request.subject == "library") return probe_library();
  if (request.subject == "neighbours") return probe_neighbours();
  if (request.subject == "loader") return probe_loader(request.loader);
  if (request.subject == "vendor") return probe_vendor(request.loader);
  if (request.subject == "server") return probe_server(request.server);
  if (request.subject == "devices") return probe_devices();
  if (request.subject == "waits") return probe_waits(request.platform, request.device);
  return probe_kernel(request.platform, request.device);
}

// CLI11 reports a missing subcommand before an unknown one.
std::string mistake_in(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (error.get_name() != "RequiredError" || unknown.empty()) return error.what();
  return "The following argument was not expected: " + unknown.front();
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  std::fprintf(stderr, "cleave: %s (see cleave --help)\n", mistake_in(app, error).c_str());
  return usage_error;
}

int examine(DoctorRequest request, bool runs, Arguments program) {
  if (runs && program.empty()) {
    std::fputs("cleave: no program given: cleave doctor --run PROGRAM [ARGUMENTS...]\n", stderr);
    return usage_error;
  }
  if (!program.empty()) request.program = program.front();
  request.command = std::move(program);
  return doctor(request);
}

int run_command_line(const Arguments& arguments) {
  CLI::App app(
      "Cleave splits the kernel launches of OpenCL programs, so that they do not delay other users of the "
      "GPU.",
      "cleave");
  app.set_version_flag("--version", "cleave " CLEAVE_VERSION);
  app.require_subcommand(0, 1);
  RunRequest to_run;
  DoctorRequest to_examine;
  TopRequest to_show;
  IcdRequest to_register;
  LayerRequest to_load;
  ProbeRequest to_probe;
  std::vector<std::string> servers;
  SlurmRequest to_slurm;
  add_run(app, to_run);
  bool doctor_runs = false;
  add_doctor(app, to_examine, doctor_runs);
  add_top(app, to_show);
  CdiRequest to_print;
  add_icd(app, to_register, to_print);
  add_layer(app, to_load);
  TraceRequest to_merge;
  add_trace(app, to_merge);
  const CLI::App& bench_command = add_bench(app);
  add_remote(app, servers);
  const CLI::App& slurm_command = add_slurm(app, to_slurm);
  add_probe(app, to_probe);

  CommandLine line = split_at_program(arguments, program_taker(arguments, app));
  // CLI11 takes its arguments from the back.
  std::reverse(line.ours.begin(), line.ours.end());
  try {
    app.parse(line.ours);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  if (app.got_subcommand("doctor")) return examine(to_examine, doctor_runs, std::move(line.program));
  if (app.got_subcommand("top")) return top(to_show);
  if (app.got_subcommand("icd")) {
    const bool is_cdi = app.get_subcommand("icd")->got_subcommand("cdi");
    return is_cdi ? icd_cdi(to_print) : icd(to_register);
  }
  if (app.got_subcommand("layer")) return layer(to_load);
  if (app.got_subcommand("remote")) return remote_ls(servers);
  if (app.got_subcommand("trace")) return trace_merge(to_merge);
  if (app.got_subcommand("slurm")) return slurm(slurm_command, to_slurm, line.program);
  if (app.got_subcommand("bench")) return bench(bench_command.remaining());
  if (app.got_subcommand("probe")) return probe(to_probe);
  if (!app.got_subcommand("run")) {
    std::cout << app.help();
    return 0;
  }
  to_run.command = std::move(line.program);
  if (!to_run.command.empty()) return run(to_run);
  report_no_program("run");
  return usage_error;
}

}  // namespace
}  // namespace cleave::cli

int main(int count, char** arguments) {
  try {
    return cleave::cli::run_command_line({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave: %s\n", cleave::base::displayable(failure.what()).c_str());
  } catch (...) {
    std::fputs("cleave: unknown error\n", stderr);
  }
  return 1;
}
