#include <algorithm>
#include <charconv>
#include <fnmatch.h>
#include <utility>

#include "base/no_destructor.h"
#include "base/settings/settings.h"
#include "base/text/number.h"
#include "cleave/registry.h"

namespace cleave::base {
namespace {

constexpr std::uint64_t kMaxSlices = 1'000'000;
constexpr std::uint64_t kMaxTurnWeight = 10'000;
constexpr std::uint64_t kMaxVms = 100'000;
constexpr double kMinQuantum = 0.1;  // milliseconds
constexpr double kMaxQuantum = 60'000;
constexpr double kMinBudget = 0.001;
constexpr double kMinTarget = 0.01;
constexpr double kMaxTarget = 0.9;
constexpr std::size_t kMaxFiles = 8;
constexpr std::size_t kMaxServers = 16;
constexpr double kMinTimeout = 0.1;  // seconds
constexpr double kMaxTimeout = 3600;

template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

template <typename T, std::size_t N>
bool parse_choice(std::string_view text, const Choice<T> (&choices)[N], T& value) {
  for (const Choice<T>& choice : choices) {
    if (text == choice.name) return value = choice.value, true;
  }
  return false;
}

bool parse_bool(std::string_view text, bool& value) {
  constexpr Choice<bool> kChoices[] = {{"1", true},  {"true", true},   {"yes", true}, {"on", true},
                                       {"0", false}, {"false", false}, {"no", false}, {"off", false}};
  return parse_choice(text, kChoices, value);
}

template <typename T>
bool parse_number(std::string_view text, std::uint64_t min, std::uint64_t max, T& value) {
  const auto number = parse_unsigned(text, min, max);
  if (number) value = static_cast<T>(*number);
  return number.has_value();
}

// Digits with or without a fraction, such as 0.05; no sign, exponent or spaces.
bool parse_decimal(std::string_view text, double min, double max, double& value) {
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || number < min || number > max) return false;
  return value = number, true;
}

// Passes each of the parts between separators to `add`, empty ones too, until one is refused. No parts in an empty text.
template <typename Add>
bool for_each_part(std::string_view text, char separator, Add add) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (!add(text.substr(0, end))) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

struct PolicyRow {
  std::string_view name;
  SplitPolicy::Kind kind;
  SplitPolicy::Value value;
  bool needs_vms;
};
constexpr PolicyRow kPolicies[] = {
#define CLEAVE_POLICY(name, value, needs_vms) \
  {#name, SplitPolicy::Kind::name, SplitPolicy::Value::value, needs_vms},
#include "base/settings/split_policies.def"
#undef CLEAVE_POLICY
};

bool parse_policy_value(std::string_view text, SplitPolicy::Value kind, SplitPolicy& policy) {
  using Value = SplitPolicy::Value;
  if (kind == Value::none) return false;
  if (kind == Value::count) return parse_number(text, 1, kMaxSlices, policy.slices);
  if (kind == Value::share) return parse_decimal(text, kMinTarget, kMaxTarget, policy.share);
  if (kind == Value::loss) return parse_decimal(text, kMinBudget, 1, policy.budget);
  double milliseconds = 0;
  if (!parse_decimal(text, kMinQuantum, kMaxQuantum, milliseconds)) return false;
  const std::chrono::duration<double, std::milli> length(milliseconds);
  policy.quantum = std::chrono::duration_cast<std::chrono::nanoseconds>(length);
  return true;
}

bool parse_policy(Settings& settings, std::string_view text) {
  using Value = SplitPolicy::Value;
  const std::size_t colon = std::min(text.find(':'), text.size());
  for (const PolicyRow& row : kPolicies) {
    if (row.name != text.substr(0, colon)) continue;
    SplitPolicy policy{row.kind};
    const bool may_stand_alone = row.value == Value::none || row.value == Value::loss;
    const bool valid =
        colon < text.size() ? parse_policy_value(text.substr(colon + 1), row.value, policy) : may_stand_alone;
    if (valid) settings.policy = policy;
    return valid;
  }
  return false;
}

bool parse_alpha(std::string_view text, AlphaTable& alpha) {
  const auto table = AlphaTable::parse(text);
  if (table) alpha = *table;
  return table.has_value();
}

bool parse_launch_mode(Settings& settings, std::string_view text) {
  constexpr Choice<LaunchMode> kChoices[] = {{"auto", LaunchMode::automatic},
                                             {"sequential", LaunchMode::sequential},
                                             {"queued", LaunchMode::queued},
                                             {"pipelined", LaunchMode::pipelined}};
  return parse_choice(text, kChoices, settings.launch);
}

bool parse_wait_mode(Settings& settings, std::string_view text) {
  constexpr Choice<WaitMode> kChoices[] = {{"auto", WaitMode::automatic},
                                           {"native", WaitMode::native},
                                           {"sleeping", WaitMode::sleeping},
                                           {"polite", WaitMode::sleeping}};  // see kRenamedValues
  return parse_choice(text, kChoices, settings.wait);
}

bool parse_turn_mode(Settings& settings, std::string_view text) {
  constexpr Choice<TurnMode> kChoices[] = {{"auto", TurnMode::automatic},
                                           {"on", TurnMode::on},
                                           {"off", TurnMode::off},
                                           {"needed", TurnMode::automatic}};  // see kRenamedValues
  return parse_choice(text, kChoices, settings.turns.mode);
}

bool parse_turn_priority(Settings& settings, std::string_view text) {
  constexpr Choice<TurnPriority> kChoices[] = {{"high", TurnPriority::high},
                                               {"normal", TurnPriority::normal},
                                               {"background", TurnPriority::background},
                                               {"idle", TurnPriority::idle}};
  return parse_choice(text, kChoices, settings.turns.priority);
}

bool parse_tenant(Settings& settings, std::string_view text) {
  std::string name = text == "cgroup" ? tenant_of_control_group() : std::string(text);
  if (!is_tenant_name(name)) return false;
  return settings.limits.tenant = std::move(name), true;
}

bool parse_limit_of_time(Settings& settings, std::string_view text) {
  const auto cap = parse_cap(text);
  if (cap) settings.limits.cap = *cap;
  return cap.has_value();
}

bool parse_limit_of_memory(Settings& settings, std::string_view text) {
  const auto bytes = parse_size(text);
  if (bytes) settings.limits.memory = *bytes;
  return bytes.has_value();
}

bool parse_patterns(std::vector<std::string>& patterns, std::string_view text) {
  patterns.clear();
  return for_each_part(text, ',', [&](std::string_view pattern) {
    if (!pattern.empty()) patterns.emplace_back(pattern);
    return true;
  });
}

// Whether the entry is one that an .icd file may hold: a path that does not depend on the current folder, or the plain name
// of a library, which the dynamic linker searches for. Where .icd files themselves are is not known by their names.
bool may_be_wrapped(std::string_view path) {
  const bool is_name = path.find('/') == std::string_view::npos && path.find(".so") != std::string_view::npos;
  return path.empty() || path.front() == '/' || is_name;
}

// Separated by colons as in $PATH.
bool parse_wrap(Settings& settings, std::string_view text) {
  std::vector<std::string> paths;
  const bool valid = for_each_part(text, ':', [&](std::string_view path) {
    if (!path.empty()) paths.emplace_back(path);
    return may_be_wrapped(path);
  });
  if (!valid || paths.empty()) return false;
  return settings.wrap = std::move(paths), true;
}

bool parse_platform_names(Settings& settings, std::string_view text) {
  struct Original {
    bool vendor;
    bool remote;
  };
  constexpr Choice<Original> kChoices[] = {
      {"auto", {true, false}}, {"original", {true, true}}, {"marked", {false, false}}};
  Original original{};
  if (!parse_choice(text, kChoices, original)) return false;
  settings.original_name = original.vendor;
  settings.remote.original_name = original.remote;
  return true;
}

bool parse_prefer(Settings& settings, std::string_view text) {
  struct Prefer {
    bool first;
    bool required;
  };
  constexpr Choice<Prefer> kChoices[] = {{"local", {false, false}},
                                         {"remote", {true, false}},
                                         {"required", {true, true}},
                                         {"auto", {false, false}}};  // see kRenamedValues
  Prefer prefer{};
  if (!parse_choice(text, kChoices, prefer)) return false;
  settings.remote.first = prefer.first;
  settings.remote.required = prefer.required;
  return true;
}

bool parse_compression(Settings& settings, std::string_view text) {
  constexpr Choice<bool> kChoices[] = {{"auto", true}, {"off", false}};
  return parse_choice(text, kChoices, settings.remote.compression);
}

bool parse_min_items(Settings& settings, std::string_view text) {
  if (text == "cores") return settings.min_items.reset(), true;
  std::size_t items = 0;
  if (!parse_number(text, 0, SIZE_MAX, items)) return false;
  settings.min_items = items;
  return true;
}

// `binary:*` vouches for programs made from unknown binaries. No kernel has a name like it.
bool parse_allow(Settings& settings, std::string_view text) {
  parse_patterns(settings.allow, text);
  settings.trust_binaries = std::erase(settings.allow, "binary:*") > 0;
  return true;
}

bool parse_vms(Settings& settings, std::string_view text) {
  unsigned count = 0;
  if (!parse_number(text, 1, kMaxVms, count)) return false;
  settings.vms = count;
  return true;
}

// Whether a client can connect to the address. Port 0 and the CID "any" are for listeners.
bool is_connectable(const std::optional<Address>& address) {
  if (!address) return false;
  if (address->kind != Address::Kind::unix_socket && address->port == 0) return false;
  return address->kind != Address::Kind::vsock || address->cid != Address::kAnyCid;
}

bool parse_monitor_trust(Settings& settings, std::string_view text) {
  constexpr Choice<MonitorTrust> kChoices[] = {
      {"system", MonitorTrust::system}, {"owner", MonitorTrust::owner}, {"any", MonitorTrust::any}};
  return parse_choice(text, kChoices, settings.monitor_trust);
}

bool add_source(Settings& settings, std::string_view name) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kTrust = "trust:";
  NeighbourSources& sources = settings.sources;
  if (name == "peers") return sources.peers = true, true;
  if (name.starts_with(kFile)) {
    if (name.size() == kFile.size() || sources.files.size() == kMaxFiles) return false;
    return sources.files.emplace_back(name.substr(kFile.size())), true;
  }
  sources.monitor = true;
  if (name == "monitor") return true;
  if (name == "busy") return settings.count_by = CountBy::busy, true;
  if (name.starts_with(kTrust)) return parse_monitor_trust(settings, name.substr(kTrust.size()));
  const auto address = parse_address(name);
  if (!is_connectable(address) || settings.monitor) return false;
  return settings.monitor = address, true;
}

// Unlike in other lists, a name must follow each comma.
bool parse_sources(Settings& settings, std::string_view text) {
  Settings parsed;
  parsed.sources.monitor = false;
  parsed.monitor_trust = settings.monitor_trust;
  const auto add = [&](std::string_view name) { return add_source(parsed, name); };
  if (text.empty() || text.ends_with(',') || !for_each_part(text, ',', add)) return false;
  settings.sources = std::move(parsed.sources);
  settings.count_by = parsed.count_by;
  settings.monitor_trust = parsed.monitor_trust;
  settings.monitor = std::move(parsed.monitor);
  return true;
}

// The three forms of address, and TLS over TCP.
bool is_server(std::string_view text) {
  constexpr std::string_view kTls = "tls:";
  return is_connectable(text.starts_with(kTls) ? parse_address("tcp:" + std::string(text.substr(kTls.size())))
                                               : parse_address(text));
}

bool parse_servers(Settings& settings, std::string_view text) {
  std::vector<std::string> servers;
  const bool valid = for_each_part(text, ',', [&](std::string_view server) {
    servers.emplace_back(server);
    return is_server(server) && servers.size() <= kMaxServers;
  });
  if (!valid) return false;
  return settings.remote.servers = std::move(servers), true;
}

bool parse_remote_timeout(Settings& settings, std::string_view text) {
  double seconds = 0;
  if (!parse_decimal(text, kMinTimeout, kMaxTimeout, seconds)) return false;
  settings.remote.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return true;
}

bool parse_registry(Settings& settings, std::string_view text) {
  if (text != "off" && !text.starts_with('/')) return false;
  return settings.registry = text == "off" ? "" : text, true;
}

// A path, or "off" for none, where kOff is.
template <std::string Settings::*kMember, bool kOff = true>
bool parse_path(Settings& settings, std::string_view text) {
  return settings.*kMember = kOff && text == "off" ? "" : text, true;
}

// `explain` alone leaves the file that the statistics go to as it was.
bool parse_stats(Settings& settings, std::string_view text) {
  constexpr std::string_view kExplain = "explain";
  std::string_view file = text;
  settings.explain = text == kExplain || text.starts_with("explain,");
  if (settings.explain) file.remove_prefix(std::min(kExplain.size() + 1, file.size()));
  if (!file.empty()) settings.stats = file;
  return true;
}

// A key that is not named is in the certificate's file.
bool parse_certificate(Settings& settings, std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  settings.remote.certificate = text.substr(0, comma);
  settings.remote.key = text.substr(std::min(comma + 1, text.size()));
  return true;
}

template <std::string RemoteSettings::*kMember>
bool parse_remote_path(Settings& settings, std::string_view text) {
  return settings.remote.*kMember = text, true;
}

constexpr RenamedValue kRenamedValues[] = {
    {"wait.mode", "polite", "sleeping"},
    {"turns.mode", "needed", "auto"},
    {"remote.prefer", "auto", "local",
     "Cleave no longer chooses by what earlier runs cost: say local, or remote "
     "where servers pay (docs/remote.md)"}};

}  // namespace

bool SplitPolicy::needs_vms() const { return kPolicies[static_cast<std::size_t>(kind)].needs_vms; }

const std::vector<Setting>& settings_list() {
  static NoDestructor<std::vector<Setting>> list(std::vector<Setting>{
      {"CLEAVE_DISABLE", "disable", "false", "true or false",
       [](Settings& s, std::string_view text) { return parse_bool(text, s.disable); }},
      {"CLEAVE_SPLIT", "split.policy", "alpha",
       "off, alpha, budget or budget:SHARE with SHARE from 0.001 to 1, pressure:TARGET with TARGET from 0.01 "
       "to 0.9, quantum:MS with MS from 0.1 to 60000, "
       "or fixed:N with N from 1 to 1000000",
       parse_policy},
      {"CLEAVE_ALPHA", "split.alpha", "4", kAlphaExpected,
       [](Settings& s, std::string_view text) { return parse_alpha(text, s.alpha); }},
      {"CLEAVE_MIN_ITEMS", "split.min_items", "cores",
       "a number of work-items, 0 to switch the rule off, or cores for the device's own number",
       parse_min_items},
      {"CLEAVE_DENY", "split.deny", "", "kernel names or patterns such as scan_*, separated by commas",
       [](Settings& s, std::string_view text) { return parse_patterns(s.deny, text); }},
      {"CLEAVE_ALLOW", "split.allow", "",
       "kernel names or patterns such as scan_*, or binary:*, separated by commas", parse_allow},
      {"CLEAVE_LAUNCH", "launch.mode", "auto", "auto, sequential, queued or pipelined", parse_launch_mode},
      {"CLEAVE_WAIT", "wait.mode", "auto", "auto, native or sleeping", parse_wait_mode},
      {"CLEAVE_TURNS", "turns.mode", "auto", "auto, on or off", parse_turn_mode},
      {"CLEAVE_WEIGHT", "turns.weight", "100", "a whole number from 1 to 10000",
       [](Settings& s, std::string_view text) {
         return parse_number(text, 1, kMaxTurnWeight, s.turns.weight);
       }},
      {"CLEAVE_PRIORITY", "turns.priority", "normal", "high, normal, background or idle",
       parse_turn_priority},
      {"CLEAVE_TENANT", "limits.tenant", "",
       "cgroup, or a name of up to 63 letters, digits and any of ._-:@/", parse_tenant},
      {"CLEAVE_CAP", "limits.cap", "off", "off, or a share of the device's time such as 30% or 30%,borrow",
       parse_limit_of_time},
      {"CLEAVE_MEMORY_LIMIT", "limits.memory", "off", "off, or a number of bytes such as 512M or 2G",
       parse_limit_of_memory},
      {"CLEAVE_VMS", "neighbours.count", "", "the number of running VMs, from 1 to 100000", parse_vms},
      {"CLEAVE_NEIGHBOURS", "neighbours.source", "monitor",
       "monitor, the address of one (unix:PATH, tcp:HOST:PORT or vsock:CID:PORT), busy, trust:system, "
       "trust:owner, trust:any, peers or file:PATH, or several of them separated by commas",
       parse_sources},
      {"CLEAVE_REGISTRY", "neighbours.registry", CLEAVE_REGISTRY_FOLDER, "off, or the full path of a folder",
       parse_registry},
      {"CLEAVE_STATS", "observe.stats", "",
       "stderr or the path of a file, or explain, or both separated by a comma", parse_stats},
      {"CLEAVE_TRACE", "observe.trace", "", "off, or the path of a file", parse_path<&Settings::trace>},
      {"CLEAVE_CACHE", "cache", "~/.cache/cleave", "off, or the path of a folder",
       parse_path<&Settings::cache>},
      {"CLEAVE_NEXT", "next", "", "the path of the OpenCL loader to forward calls to",
       parse_path<&Settings::next, false>},
      {"CLEAVE_ICD_WRAP", "icd.wrap", "/etc/OpenCL/vendors.cleave",
       "names of OpenCL drivers' libraries, or full paths of such libraries, of .icd files or of folders of "
       ".icd files, separated by colons",
       parse_wrap},
      {"CLEAVE_PLATFORM_NAMES", "platform_names", "auto", "auto, original or marked", parse_platform_names},
      {"CLEAVE_REMOTE", "remote.servers", "",
       "tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:CID:PORT, where cleave-serverd listens, or several "
       "of them separated by commas",
       parse_servers},
      {"CLEAVE_REMOTE_PREFER", "remote.prefer", "local", "local, remote or required", parse_prefer},
      {"CLEAVE_REMOTE_COMPRESSION", "remote.compression", "auto", "auto or off", parse_compression},
      {"CLEAVE_REMOTE_TIMEOUT", "remote.timeout", "10", "a number of seconds from 0.1 to 3600",
       parse_remote_timeout},
      {"CLEAVE_REMOTE_TOKEN_FILE", "remote.token_file", "", "the path of a file",
       parse_remote_path<&RemoteSettings::token_file>},
      {"CLEAVE_REMOTE_CA", "remote.ca", "", "the path of a file of PEM certificates",
       parse_remote_path<&RemoteSettings::authorities>},
      {"CLEAVE_REMOTE_CERT", "remote.cert", "",
       "the path of a PEM file with a certificate and its key, or the paths of both separated by a comma",
       parse_certificate},
  });
  return *list;
}

const Setting* find_setting(std::string_view key) {
  for (const Setting& setting : settings_list()) {
    if (key == setting.key) return &setting;
  }
  return nullptr;
}

const RenamedValue* find_renamed_value(const Setting& setting, std::string_view value) {
  for (const RenamedValue& renamed : kRenamedValues) {
    if (renamed.key == setting.key && renamed.old_name == value) return &renamed;
  }
  return nullptr;
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace cleave::base
