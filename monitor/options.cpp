#include "monitor/options.h"

#include <algorithm>

#include "base/toml_file.h"
#include "cleave/monitor.h"
#include "monitor/listening.h"

namespace cleave::monitor {
namespace {

const OptionEntry* entry_of(std::string_view name) {
  const auto entries = option_table();
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text.append(text.empty() ? "" : ".").append(key);
  return text;
}

// An array of the file, which comes joined by commas.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> values;
  while (!text.empty()) {
    const auto comma = text.find(',');
    values.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return values;
}

void apply(Options& options, const OptionValues& given) {
  if (given.option->value_count == OptionEntry::ValueCount::one && given.values.size() != 1) {
    throw OptionError(given.where + ": is given more than once; expected " + given.option->expected);
  }
  for (const std::string& value : given.values) {
    if (given.option->apply(options, value)) continue;
    throw OptionError(given.where + ": '" + value + "' is not understood; expected " +
                      given.option->expected);
  }
}

void check_listen(const Options& options) {
  for (const base::Address& address : options.listen) {
    const std::string what = "--listen: " + base::as_text(address);
    if (address.kind == base::Address::Kind::tcp && !is_numeric(address)) {
      throw OptionError(what + " is a name; name the IP address to bind, such as tcp:127.0.0.1:27460");
    }
    if (is_wildcard(address) && !options.allow_wildcard) {
      throw OptionError(what + " is every network of this host; name one address, or add --allow-wildcard");
    }
  }
}

void check_metrics(const Options& options) {
  for (const base::Address& address : options.metrics) {
    if (is_local(address)) continue;
    throw OptionError("--metrics: " + base::as_text(address) +
                      " can be reached from outside; name a loopback address, such as tcp:127.0.0.1:9460");
  }
}

}  // namespace

std::vector<OptionValues> read_file(const std::string& path) {
  const base::TomlFile file = base::read_toml(path);
  if (!file.exists)
    throw OptionError("--config: there is no file " + path + "; name one, or leave the option out");
  if (!file.error.empty()) throw OptionError("--config: " + path + ": " + file.error);
  std::vector<OptionValues> all;
  for (const base::TomlValue& value : file.values) {
    const std::string where = path + ':' + std::to_string(value.line) + ": " + joined(value.path);
    const OptionEntry* option = entry_of(joined(value.path));
    if (option == nullptr) throw OptionError(where + ": there is no such option; see cleave-monitord --help");
    const bool list = option->value_count == OptionEntry::ValueCount::several;
    all.push_back({option, list ? split_list(value.text) : std::vector{value.text}, where});
  }
  return all;
}

Options merge_options(const std::vector<OptionValues>& command_line, const std::vector<OptionValues>& file) {
  Options options;
  for (const OptionValues& given : file) {
    const bool overridden =
        std::any_of(command_line.begin(), command_line.end(),
                    [&](const OptionValues& other) { return other.option == given.option; });
    if (!overridden) apply(options, given);
  }
  for (const OptionValues& given : command_line) apply(options, given);
  check_listen(options);
  check_metrics(options);
  if (options.connect.empty()) options.connect.emplace_back("qemu:///system");
  return options;
}

}  // namespace cleave::monitor
