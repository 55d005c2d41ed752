#include "monitor/command_line.h"

#include <filesystem>

#include <CLI/CLI.hpp>

namespace cleave::monitor {
namespace {

void add_option(CLI::App& app, const OptionEntry& entry, std::vector<OptionValues>& given) {
  const std::string name = std::string("--") + entry.name;
  if (entry.value_count == OptionEntry::ValueCount::nothing) {
    app.add_flag_callback(
        name,
        [&, name] {
          given.push_back({&entry, {"true"}, name});
        },
        entry.help);
    return;
  }
  const auto take = [&, name](const std::vector<std::string>& values) {
    given.push_back({&entry, values, name});
  };
  auto* option =
      app.add_option_function<std::vector<std::string>>(name, take, entry.help)->type_name(entry.value);
  // One value at a time, so that a second one is said to be too many by us, with the option's name.
  option->allow_extra_args(entry.value_count == OptionEntry::ValueCount::several);
}

bool default_file_exists() {
  std::error_code ignored;
  return std::filesystem::exists(kDefaultFile, ignored);
}

}  // namespace

std::optional<Options> read_command_line(std::span<const char* const> arguments) {
  CLI::App app(
      "Counts the virtual machines that run on this host, through libvirt, and tells those who follow it.",
      "cleave-monitord");
  app.set_version_flag("--version", "cleave-monitord " CLEAVE_VERSION);
  std::vector<OptionValues> given;
  for (const OptionEntry& entry : option_table()) add_option(app, entry, given);
  std::string file;
  app.add_option("--config", file,
                 std::string("A TOML file with these options (") + kDefaultFile + " if it is there)")
      ->type_name("FILE");
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      throw OptionError(std::string(error.what()) + " (see cleave-monitord --help)");
    }
    app.exit(error);
    return std::nullopt;
  }
  if (file.empty() && default_file_exists()) file = kDefaultFile;
  return merge_options(given, file.empty() ? std::vector<OptionValues>{} : read_file(file));
}

}  // namespace cleave::monitor
