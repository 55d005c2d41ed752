#include "cli/top/command_line.h"

#include <string>

#include "cli/option_checks.h"

namespace cleave::cli {
namespace {

// What the live screen begins with; keys change all of it.
void add_view_options(CLI::App& top, TopRequest& request) {
  const auto add = [&](const char* name, auto set, const std::string& description) {
    const auto choose = [&request, set](const std::string& value) {
      request.chooses_view = true;
      set(request.view, value);
    };
    return top.add_option_function<std::string>(name, choose, description);
  };
  const auto check_column = [](const std::string& name) {
    return column_named(name) ? std::string() : "'" + name + "': expected " + column_names();
  };
  add(
      "--sort", [](ViewOptions& view, const std::string& name) { view.sorted_by = *column_named(name); },
      column_names() + ", the column to sort by (share)")
      ->check(CLI::Validator(check_column, ""))
      ->type_name("COLUMN");
  const auto check_rows = [](const std::string& rows) {
    return rows == "process" || rows == "tenant" ? std::string()
                                                 : "'" + rows + "': expected process or tenant";
  };
  add(
      "--by", [](ViewOptions& view, const std::string& rows) { view.by_tenant = rows == "tenant"; },
      "What a row stands for (process)")
      ->check(CLI::Validator(check_rows, ""))
      ->type_name("{process,tenant}");
  add(
      "--device", [](ViewOptions& view, const std::string& number) { view.device = std::stoul(number); },
      "Show only the device with this number, from 0")
      ->check(CLI::Range(0, 9999).description(""))
      ->type_name("N");
}

}  // namespace

void add_top(CLI::App& app, TopRequest& request) {
  CLI::App& top = *app.add_subcommand("top", "Show the processes under Cleave on this machine, live");
  top.add_flag("--once", request.once, "Print once and exit");
  top.add_flag("--json", request.json, "Print JSON, one object per line");
  top.add_option("--metrics", request.metrics,
                 "Serve the use of processes and tenants to Prometheus: a loopback address or unix:PATH")
      ->type_name("ADDRESS");
  top.add_option_function<std::string>(
         "--interval",
         [&](const std::string& seconds) {
           request.interval = std::chrono::milliseconds(static_cast<int>(std::stod(seconds) * 1000));
         },
         "Seconds between two refreshes (1)")
      ->check(CLI::Validator(check_seconds, ""))
      ->type_name("S");
  add_view_options(top, request);
  top.footer("On a terminal there is a live screen: F1 shows its keys, q leaves it.");
}

}  // namespace cleave::cli
