#include "daemon/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/settings/toml_file.h"
#include "base/text/number.h"

namespace cleave::daemon {
namespace {

using Arity = Option::Arity;

// The values that were given for one option.
struct Given {
  const Option* option = nullptr;
  std::vector<std::string> values;
  std::string where;  // "--listen", or "/etc/cleave/monitord.toml:3: listen"
};

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text.append(text.empty() ? "" : ".").append(key);
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> values;
  while (!text.empty()) {
    const auto comma = text.find(',');
    values.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return values;
}

const Option* find(const std::vector<Option>& table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Option& each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool takes_several(const Option& option) {
  return option.arity == Arity::several || option.arity == Arity::list;
}

void add_option(CLI::App& app, const Option& option, std::vector<Given>& given) {
  const std::string name = "--" + option.name;
  if (option.arity == Arity::flag) {
    app.add_flag_callback(
        name,
        [&given, &option, name] {
          given.push_back({&option, {"true"}, name});
        },
        option.help);
    return;
  }
  const auto take = [&given, &option, name](const std::vector<std::string>& values) {
    given.push_back({&option, values, name});
  };
  CLI::Option* const added = app.add_option_function<std::vector<std::string>>(name, take, option.help);
  // One value at a time, so that a second one is reported below, with the option's name.
  added->type_name(option.value_name)->allow_extra_args(takes_several(option));
  if (option.arity == Arity::list) added->delimiter(',');
}

// Empty: only the help or the version was requested.
std::optional<std::vector<Given>> read_command_line(const Program& program, const std::vector<Option>& table,
                                                    std::span<const char* const> arguments,
                                                    std::string& file) {
  CLI::App app(program.description, program.name);
  app.set_version_flag("--version", program.name + " " CLEAVE_VERSION);
  std::vector<Given> given;
  for (const Option& option : table) add_option(app, option, given);
  app.add_option("--config", file,
                 "A TOML file with these options (" + program.default_file + " if it is there)")
      ->type_name("FILE");
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      throw OptionError(std::string(error.what()) + " (see " + program.name + " --help)");
    }
    app.exit(error);
    return std::nullopt;
  }
  return given;
}

std::vector<Given> read_file(const Program& program, const std::vector<Option>& table,
                             const std::string& path) {
  const base::TomlFile file = base::read_toml(path);
  if (!file.exists)
    throw OptionError("--config: there is no file " + path + "; name one, or leave the option out");
  if (!file.error.empty()) throw OptionError("--config: " + path + ": " + file.error);
  std::vector<Given> given;
  for (const base::TomlValue& value : file.values) {
    const std::string key = joined(value.path);
    const std::string where =
        std::string(path).append(":").append(std::to_string(value.line)).append(": ").append(key);
    const Option* const option = find(table, key);
    if (option == nullptr)
      throw OptionError(where + ": there is no such option; see " + program.name + " --help");
    if (option->is_octal && value.is_integer) {
      throw OptionError(where +
                        ": an integer is not understood as octal; write it as a string, such as \"0660\"");
    }
    given.push_back(
        {option, takes_several(*option) ? split_list(value.text) : std::vector{value.text}, where});
  }
  return given;
}

void apply(const Given& given) {
  const Option& option = *given.option;
  if (option.arity == Arity::one && given.values.size() != 1) {
    throw OptionError(given.where + ": is given more than once; expected " + option.expected);
  }
  for (const std::string& value : given.values) {
    if (option.apply(value)) continue;
    throw OptionError(given.where + ": '" + value + "' is not understood; expected " + option.expected);
  }
}

}  // namespace

std::optional<std::vector<GivenValue>> read_options(const Program& program, const std::vector<Option>& table,
                                                    std::span<const char* const> arguments) {
  std::string file;
  const auto command_line = read_command_line(program, table, arguments, file);
  if (!command_line) return std::nullopt;
  std::error_code ignored;
  if (file.empty() && std::filesystem::exists(program.default_file, ignored)) file = program.default_file;
  std::vector<Given> all;
  if (!file.empty()) {
    for (Given& given : read_file(program, table, file)) {
      const bool overridden = std::any_of(command_line->begin(), command_line->end(),
                                          [&](const Given& other) { return other.option == given.option; });
      if (!overridden) all.push_back(std::move(given));
    }
  }
  all.insert(all.end(), command_line->begin(), command_line->end());
  std::vector<GivenValue> applied;
  for (const Given& given : all) {
    apply(given);
    for (const std::string& value : given.values) applied.push_back({given.option->name, value});
  }
  return applied;
}

void apply_values(const std::vector<Option>& table, const std::vector<GivenValue>& values) {
  for (const GivenValue& value : values) {
    const Option* const option = find(table, value.option);
    if (option == nullptr) throw OptionError("--" + value.option + ": there is no such option");
    apply({option, {value.text}, "--" + value.option});
  }
}

Option socket_mode_option(mode_t& mode, std::string help) {
  const auto set = [&mode](std::string_view text) {
    unsigned value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, 8);
    if (error != std::errc{} || stop != end || value > 0777) return false;
    mode = value;
    return true;
  };
  return {.name = "socket-mode",
          .value_name = "OCTAL",
          .help = std::move(help),
          .expected = "an octal mode up to 0777, in the file as a string, such as \"0660\"",
          .apply = set,
          .is_octal = true};
}

bool set_milliseconds(std::chrono::milliseconds& target, std::string_view text, std::uint64_t min,
                      std::uint64_t max) {
  const auto number = base::parse_unsigned(text, min, max);
  if (number) target = std::chrono::milliseconds(*number);
  return number.has_value();
}

bool set_flag(bool& flag, std::string_view text) {
  flag = text == "true";
  return text == "true" || text == "false";
}

}  // namespace cleave::daemon
