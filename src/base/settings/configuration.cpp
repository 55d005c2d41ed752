#include "base/settings/configuration.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/files/folder_check.h"
#include "base/settings/old_settings.h"
#include "base/settings/program_path.h"
#include "base/settings/toml_file.h"
#include "base/text/number.h"
#include "cleave/registry.h"

namespace cleave::base {
namespace {

constexpr const char* kTenantVariable = "CLEAVE_TENANT";
constexpr const char* kConsequence = "; splitting is off until this is fixed";

// Applies the sources in order; each value replaces the one set before it.
class Loader {
 public:
  explicit Loader(const Environment& environment, std::string program,
                  std::optional<std::string_view> tenant = std::nullopt)
      : environment_(environment), tenant_(tenant) {
    result_.program = std::move(program);
    for (const Setting& setting : settings_list()) {
      result_.lines.push_back({setting.key, setting.default_text, "default", setting.variable});
    }
    result_.settings.cache = default_cache_folder();
    result_.settings.registry = CLEAVE_REGISTRY_FOLDER;
    if (tenant_) result_.settings.limits.tenant = *tenant_;
  }

  Configuration load() && {
    read_file();
    apply_program();
    apply_tenant();
    read_environment();
    check_folder("cache", result_.settings.cache, 1, "nothing is kept between runs");
    check_folder("neighbours.registry", result_.settings.registry, 0,
                 "this process and others do not see each other");
    if (!result_.problems.empty()) disable_splitting();
    return std::move(result_);
  }

 private:
  void read_file() {
    if (const char* named = environment_("CLEAVE_CONFIG"); named != nullptr && *named != '\0') {
      look_at(named);
      const TomlFile file = read_toml(named);
      if (!file.exists) {
        problem(std::string("CLEAVE_CONFIG=\"") + named + "\" does not exist: name a TOML file or unset it");
      }
      if (file.unreadable) {
        problem(std::string("CLEAVE_CONFIG=\"") + named + "\" " + file.error +
                ": name a TOML file or unset it");
        return forget_file();
      }
      apply(named, file);
      return;
    }
    for (const std::string& path : default_files()) {
      look_at(path);
      const TomlFile file = read_toml(path);
      if (file.exists) return apply(path, file);
    }
    forget_file();
  }

  void forget_file() {
    result_.file.clear();
    result_.stamp = {};
  }

  // Before the file is read, so that a change meanwhile is noticed later; by its full path, since the program may change to
  // another folder.
  void look_at(const std::string& path) {
    std::error_code error;
    result_.file = std::filesystem::absolute(path, error).string();
    if (error) result_.file = path;
    result_.stamp = stamp_of(result_.file);
  }

  std::string default_cache_folder() const {
    const char* cache = environment_("XDG_CACHE_HOME");
    const char* home = environment_("HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/cleave";
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/cleave" : std::string();
  }

  std::vector<std::string> default_files() const {
    std::vector<std::string> paths;
    const char* config = environment_("XDG_CONFIG_HOME");
    const char* home = environment_("HOME");
    if (config != nullptr && *config == '/') {
      paths.push_back(std::string(config) + "/cleave/cleave.toml");
    } else if (home != nullptr && *home == '/') {
      paths.push_back(std::string(home) + "/.config/cleave/cleave.toml");
    }
    paths.emplace_back("/etc/cleave/cleave.toml");
    return paths;
  }

  void apply(const std::string& path, const TomlFile& file) {
    if (file.unreadable) {
      problem(path + " " + file.error + ": put a TOML file there or remove it");
    } else if (!file.error.empty()) {
      problem(path + ": " + file.error);
    }
    // Old names last: they change what the new ones have set, wherever they stand.
    for (const bool old : {false, true}) {
      for (const TomlValue& value : file.values) {
        const std::string key = key_of(value);
        if ((find_old_setting(key) != nullptr) == old)
          apply(std::string(path).append(":").append(std::to_string(value.line)), key, value);
      }
    }
  }

  static std::string key_of(const TomlValue& value) {
    std::string key;
    for (const std::string& name : value.path) key.append(key.empty() ? "" : ".").append(name);
    return key;
  }

  void apply(const std::string& origin, const std::string& key, const TomlValue& value) {
    if (value.path.size() == 3 && (value.path[0] == "kernels" || value.path[0] == "devices")) {
      return apply_named(origin, key, value);
    }
    if (value.path.size() == 3 && (value.path[0] == "tenants" || value.path[0] == "programs"))
      return note_table(origin, key, value);
    const std::string place = std::string(origin).append(": ").append(key);
    if (const Setting* const setting = find_setting(key)) return set(*setting, value.text, origin, place);
    if (const OldSetting* const old = find_old_setting(key)) return set_old(*old, value.text, origin, place);
    problem(place + " is not a setting: `cleave doctor --all` lists them");
  }

  void apply_named(const std::string& origin, const std::string& key, const TomlValue& value) {
    const bool device = value.path[0] == "devices";
    auto& list = device ? result_.settings.devices : result_.settings.kernels;
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const NamedSettings& named) { return named.pattern == value.path[1]; });
    if (found == list.end()) found = list.insert(list.end(), NamedSettings{value.path[1], {}, 0});
    const auto refuse = [&](const char* expected) {
      problem(std::string(origin).append(": ").append(key).append(" = \"").append(value.text) +
              "\": expected " + expected);
    };
    if (value.path[2] == "alpha") {
      const auto alpha = AlphaTable::parse(value.text);
      if (!alpha) return refuse(kAlphaExpected);
      found->alpha = *alpha;
    } else if (device && value.path[2] == "cores") {
      const auto cores = parse_unsigned(value.text, 1, 1'000'000);
      if (!cores) return refuse("a whole number from 1 to 1000000");
      found->cores = *cores;
    } else {
      return problem(origin + ": " + key + " is not a setting: expected alpha" + (device ? " or cores" : ""));
    }
    result_.lines.push_back({key, value.text, origin, ""});
  }

  // A setting of a table [programs."PATTERN"] or [tenants."NAME"], whichever process it is for.
  struct TableValue {
    std::string name;
    const Setting* setting;
    std::string text;
    std::string origin;
    std::string place;
  };

  void note_table(const std::string& origin, const std::string& key, const TomlValue& value) {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"weight", "turns.weight"},
                                                                        {"cap", "limits.cap"},
                                                                        {"memory", "limits.memory"},
                                                                        {"priority", "turns.priority"},
                                                                        {"tenant", "limits.tenant"}};
    const bool of_tenant = value.path[0] == "tenants";
    const std::string place = origin + ": " + key;
    if (of_tenant && !is_tenant_name(value.path[1]))
      return problem(place + ": a tenant's name has up to 63 letters, digits and any of ._-:@/");
    const auto* const last = std::end(kNames) - (of_tenant ? 1 : 0);
    const auto* const known =
        std::find_if(std::begin(kNames), last, [&](const auto& name) { return name.first == value.path[2]; });
    if (known == last) {
      return problem(place + " is not a setting: expected weight, cap, memory" +
                     (of_tenant ? " or priority" : ", priority or tenant"));
    }
    const Setting* const setting = find_setting(known->second);
    Settings scratch;
    if (!setting->apply(scratch, value.text))
      return problem(place + "=\"" + value.text + "\": expected " + setting->expected);
    (of_tenant ? tenants_ : programs_).push_back({value.path[1], setting, value.text, origin, place});
  }

  void apply_program() {
    for (const TableValue& value : programs_) {
      if (is_program(result_.program, value.name)) set(*value.setting, value.text, value.origin, value.place);
    }
  }

  void apply_tenant() {
    const char* const named = environment_(kTenantVariable);
    Settings scratch = result_.settings;
    if (named != nullptr && *named != '\0' && !tenant_) {
      for (const Setting& setting : settings_list()) {
        if (std::string_view(setting.variable) == kTenantVariable) setting.apply(scratch, named);
      }
    }
    for (const TableValue& value : tenants_) {
      if (value.name == scratch.limits.tenant) set(*value.setting, value.text, value.origin, value.place);
    }
  }

  void read_environment() {
    for (const Setting& setting : settings_list()) {
      const char* text = environment_(setting.variable);
      if (text == nullptr || *text == '\0') continue;
      set(setting, text, setting.variable, setting.variable);
    }
    for (const OldSetting& old : old_settings()) {
      const char* text = environment_(old.variable);
      if (text != nullptr && *text != '\0') set_old(old, text, old.variable, old.variable);
    }
  }

  void set_old(const OldSetting& old, const std::string& text, const std::string& origin,
               const std::string& place) {
    const std::string said = place + "=\"" + text + "\"";
    if (old.apply == nullptr)
      return result_.notices.push_back(said + " is ignored, since it is no setting any more: " + old.instead);
    if (!old.apply(result_.settings, text)) return problem(said + ": expected " + old.expected);
    result_.notices.push_back(said + ": this name will be removed; write " + old.instead);
    result_.lines.push_back({old.key, text, origin, old.variable});
  }

  void set(const Setting& setting, const std::string& text, const std::string& origin,
           const std::string& place) {
    if (tenant_ && std::string_view(setting.variable) == kTenantVariable) return;
    if (!setting.apply(result_.settings, text)) {
      return problem(place + "=\"" + text + "\": expected " + setting.expected);
    }
    if (const RenamedValue* const renamed = find_renamed_value(setting, text)) {
      result_.notices.push_back(place + "=\"" + text + "\": this value now means \"" +
                                std::string(renamed->new_name) + "\"; " + std::string(renamed->what_to_do));
    }
    for (Configuration::Line& line : result_.lines) {
      if (line.key == setting.key) line = {setting.key, text, origin, setting.variable};
    }
  }

  // Cleave continues without its folders; a line reports a folder that a setting names.
  void check_folder(std::string_view key, const std::string& folder, unsigned parents, const char* effect) {
    const auto line = std::find_if(result_.lines.begin(), result_.lines.end(),
                                   [&](const Configuration::Line& each) { return each.key == key; });
    if (folder.empty() || line == result_.lines.end() || line->origin == "default") return;
    const std::string wrong = folder_problem(folder, parents);
    if (wrong.empty()) return;
    const std::string place =
        line->origin == line->variable ? line->variable : line->origin + ": " + line->key;
    result_.notices.push_back(place + "=\"" + folder + "\" " + wrong + ": " + effect +
                              "; name a folder that can be written to, or off");
  }

  void disable_splitting() {
    const char* const why = "a mistake in the settings";
    result_.settings.policy = {SplitPolicy::Kind::off, 0};
    result_.settings.wait = WaitMode::native;
    for (Configuration::Line& line : result_.lines) {
      if (line.key == "split.policy") line = {line.key, "off", why, line.variable};
      if (line.key == "wait.mode") line = {line.key, "native", why, line.variable};
    }
  }

  void problem(const std::string& sentence) { result_.problems.push_back(sentence + kConsequence); }

  const Environment& environment_;
  const std::optional<std::string_view> tenant_;
  Configuration result_;
  std::vector<TableValue> programs_;
  std::vector<TableValue> tenants_;
};

}  // namespace

Environment process_environment() {
  return [](const char* name) -> const char* { return secure_getenv(name); };
}

std::string Configuration::value_of(std::string_view key) const {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.key == key; });
  return found != lines.end() ? found->value : std::string();
}

namespace {

Configuration without_memory() {
  Configuration failed;
  failed.settings.policy = {SplitPolicy::Kind::off, 0};
  failed.settings.wait = WaitMode::native;
  return failed;
}

}  // namespace

Configuration load(const Environment& environment) try {
  return Loader(environment, program_path()).load();
} catch (...) {
  return without_memory();
}

Configuration load(const Environment& environment, std::string_view tenant, std::string_view program) try {
  return Loader(environment, std::string(program), tenant).load();
} catch (...) {
  return without_memory();
}

}  // namespace cleave::base
