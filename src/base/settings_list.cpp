#include <algorithm>
#include <charconv>
#include <fnmatch.h>
#include <utility>

#include "base/no_destructor.h"
#include "base/settings.h"
#include "cleave/registry.h"

namespace cleave::base {
namespace {

constexpr std::uint64_t kMaxSlices = 1'000'000;
constexpr std::uint64_t kMaxVms = 100'000;
constexpr double kMinQuantum = 0.1;  // milliseconds
constexpr double kMaxQuantum = 60'000;
constexpr double kMinBudget = 0.001;
constexpr std::uint64_t kMaxMaxAge = 86'400;  // seconds
constexpr std::size_t kMaxFiles = 8;
constexpr std::size_t kMaxServers = 16;
constexpr double kMinTimeout = 0.1;  // seconds
constexpr double kMaxTimeout = 3600;

bool parse_bool(std::string_view text, bool& value) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return value = true, true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return value = false, true;
  return false;
}

template <typename T>
bool number(std::string_view text, std::uint64_t least, std::uint64_t most, T& value) {
  const auto read = parse_unsigned(text, least, most);
  if (read) value = static_cast<T>(*read);
  return read.has_value();
}

// Digits with or without a fraction, as 0.05; nothing else.
bool parse_decimal(std::string_view text, double least, double most, double& value) {
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  double read = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, read, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || read < least || read > most) return false;
  return value = read, true;
}

bool quantum(Settings& settings, std::string_view text) {
  double milliseconds = 0;
  if (!parse_decimal(text, kMinQuantum, kMaxQuantum, milliseconds)) return false;
  const std::chrono::duration<double, std::milli> length(milliseconds);
  settings.policy = {SplitPolicy::Kind::quantum, 0,
                     std::chrono::duration_cast<std::chrono::nanoseconds>(length)};
  return true;
}

bool policy(Settings& settings, std::string_view text) {
  constexpr std::string_view kFixed = "fixed:";
  constexpr std::string_view kQuantum = "quantum:";
  using Kind = SplitPolicy::Kind;
  if (text == "off") return settings.policy = {Kind::off, 0}, true;
  if (text == "alpha") return settings.policy = {Kind::alpha, 0}, true;
  if (text == "budget") return settings.policy = {Kind::budget, 0}, true;
  if (text.starts_with(kQuantum)) return quantum(settings, text.substr(kQuantum.size()));
  if (!text.starts_with(kFixed)) return false;
  SplitPolicy fixed{Kind::fixed, 0};
  if (!number(text.substr(kFixed.size()), 1, kMaxSlices, fixed.slices)) return false;
  settings.policy = fixed;
  return true;
}

bool launch_mode(Settings& settings, std::string_view text) {
  if (text == "auto") return settings.launch = LaunchMode::automatic, true;
  if (text == "sequential") return settings.launch = LaunchMode::sequential, true;
  if (text == "queued") return settings.launch = LaunchMode::queued, true;
  if (text == "pipelined") return settings.launch = LaunchMode::pipelined, true;
  return false;
}

bool wait_mode(Settings& settings, std::string_view text) {
  if (text == "auto") return settings.wait = WaitMode::automatic, true;
  if (text == "native") return settings.wait = WaitMode::native, true;
  if (text == "polite") return settings.wait = WaitMode::sleeping, true;
  return false;
}

bool deny(Settings& settings, std::string_view text) {
  settings.deny.clear();
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) settings.deny.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return true;
}

// Absolute paths, separated by colons as in $PATH.
bool wrap(Settings& settings, std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon != 0 && text.front() != '/') return false;
    if (colon != 0) paths.emplace_back(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  if (paths.empty()) return false;
  return settings.wrap = std::move(paths), true;
}

bool icd_name(Settings& settings, std::string_view text) {
  if (text != "cleave" && text != "original") return false;
  return settings.original_name = text == "original", true;
}

bool min_items(Settings& settings, std::string_view text) {
  if (text == "cores") return settings.min_items.reset(), true;
  std::size_t items = 0;
  if (!number(text, 0, SIZE_MAX, items)) return false;
  settings.min_items = items;
  return true;
}

bool binaries(Settings& settings, std::string_view text) {
  if (text != "trust" && text != "whole") return false;
  return settings.trust_binaries = text == "trust", true;
}

bool vms(Settings& settings, std::string_view text) {
  unsigned count = 0;
  if (!number(text, 1, kMaxVms, count)) return false;
  settings.vms = count;
  return true;
}

bool add_source(NeighbourSources& sources, std::string_view name) {
  constexpr std::string_view kFile = "file:";
  if (name == "monitor") return sources.monitor = true, true;
  if (name == "peers") return sources.peers = true, true;
  if (!name.starts_with(kFile) || name.size() == kFile.size()) return false;
  if (sources.files.size() == kMaxFiles) return false;
  sources.files.emplace_back(name.substr(kFile.size()));
  return true;
}

bool sources(Settings& settings, std::string_view text) {
  NeighbourSources named{.monitor = false, .peers = false, .files = {}};
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    if (!add_source(named, text.substr(0, comma))) return false;
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  settings.sources = std::move(named);
  return true;
}

bool monitor(Settings& settings, std::string_view text) {
  const auto address = parse_address(text);
  // Port 0 and the CID "any" are for those who listen.
  if (!address || (address->kind != Address::Kind::unix_socket && address->port == 0)) return false;
  if (address->kind == Address::Kind::vsock && address->cid == Address::kAnyCid) return false;
  settings.monitor = address;
  return true;
}

bool max_age(Settings& settings, std::string_view text) {
  unsigned seconds = 0;
  if (!number(text, 1, kMaxMaxAge, seconds)) return false;
  settings.max_age = std::chrono::seconds(seconds);
  return true;
}

bool stale(Settings& settings, std::string_view text) {
  if (text == "last") return settings.stale = {StaleCount::Kind::last, 0}, true;
  if (text == "alone") return settings.stale = {StaleCount::Kind::alone, 0}, true;
  unsigned count = 0;
  if (!number(text, 1, kMaxVms, count)) return false;
  settings.stale = {StaleCount::Kind::number, count};
  return true;
}

// Where a server may be: the three forms of address, and TLS over TCP.
bool is_server(std::string_view text) {
  constexpr std::string_view kTls = "tls:";
  const auto address = text.starts_with(kTls) ? parse_address("tcp:" + std::string(text.substr(kTls.size())))
                                              : parse_address(text);
  if (!address || (address->kind != Address::Kind::unix_socket && address->port == 0)) return false;
  return address->kind != Address::Kind::vsock || address->cid != Address::kAnyCid;
}

bool servers(Settings& settings, std::string_view text) {
  std::vector<std::string> named;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!is_server(text.substr(0, comma)) || named.size() == kMaxServers) return false;
    named.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return settings.remote.servers = std::move(named), true;
}

// Seconds, with or without a fraction.
bool remote_timeout(Settings& settings, std::string_view text) {
  double seconds = 0;
  if (!parse_decimal(text, kMinTimeout, kMaxTimeout, seconds)) return false;
  settings.remote.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return true;
}

bool registry(Settings& settings, std::string_view text) {
  if (text != "off" && !text.starts_with('/')) return false;
  return settings.registry = text == "off" ? "" : text, true;
}

}  // namespace

const std::vector<Setting>& settings_list() {
  static NoDestructor<std::vector<Setting>> list(std::vector<Setting>{
      {"CLEAVE_DISABLE", "disable", "false", "true or false",
       [](Settings& s, std::string_view text) { return parse_bool(text, s.disable); }},
      {"CLEAVE_SPLIT", "split.policy", "alpha",
       "off, alpha, budget, quantum:MS with MS from 0.1 to 60000, or fixed:N with N from 1 to 1000000",
       policy},
      {"CLEAVE_ALPHA", "split.alpha", "4", "a whole number from 1 to 1000000",
       [](Settings& s, std::string_view text) { return number(text, 1, kMaxSlices, s.alpha); }},
      {"CLEAVE_BUDGET", "split.budget", "0.05", "a share from 0.001 to 1, such as 0.05",
       [](Settings& s, std::string_view text) { return parse_decimal(text, kMinBudget, 1, s.budget); }},
      {"CLEAVE_ALPHA_MAX", "split.alpha_max", "100", "a whole number from 1 to 1000000",
       [](Settings& s, std::string_view text) { return number(text, 1, kMaxSlices, s.alpha_max); }},
      {"CLEAVE_MIN_ITEMS", "split.min_items", "cores",
       "a number of work-items, 0 to switch the rule off, or cores for the device's own number", min_items},
      {"CLEAVE_DENY", "split.deny", "", "kernel names or patterns such as scan_*, separated by commas", deny},
      {"CLEAVE_BINARIES", "split.binaries", "whole", "whole or trust", binaries},
      {"CLEAVE_LAUNCH", "launch.mode", "auto", "auto, sequential, queued or pipelined", launch_mode},
      {"CLEAVE_WAIT", "wait.mode", "auto", "auto, native or polite", wait_mode},
      {"CLEAVE_VMS", "neighbours.count", "", "the number of running VMs, from 1 to 100000", vms},
      {"CLEAVE_NEIGHBOURS", "neighbours.source", "monitor",
       "monitor, peers or file:PATH, or several of them separated by commas", sources},
      {"CLEAVE_MONITOR", "neighbours.monitor", "",
       "unix:PATH, tcp:HOST:PORT or vsock:CID:PORT, where cleave-monitord listens", monitor},
      {"CLEAVE_MAX_AGE", "neighbours.max_age", "10", "a whole number of seconds from 1 to 86400", max_age},
      {"CLEAVE_STALE", "neighbours.stale", "last", "last, alone or a number of VMs from 1 to 100000", stale},
      {"CLEAVE_REGISTRY", "neighbours.registry", CLEAVE_REGISTRY_FOLDER, "off, or the full path of a folder",
       registry},
      {"CLEAVE_STATS", "observe.stats", "", "stderr, or the path of a file",
       [](Settings& s, std::string_view text) { return s.stats = text, true; }},
      {"CLEAVE_TRACE", "observe.trace", "", "off, or the path of a file",
       [](Settings& s, std::string_view text) { return s.trace = text == "off" ? "" : text, true; }},
      {"CLEAVE_TOP", "observe.top", "true", "true or false",
       [](Settings& s, std::string_view text) { return parse_bool(text, s.top); }},
      {"CLEAVE_CACHE", "cache", "~/.cache/cleave", "off, or the path of a folder",
       [](Settings& s, std::string_view text) { return s.cache = text == "off" ? "" : text, true; }},
      {"CLEAVE_NEXT", "next", "", "the path of the OpenCL loader to hand calls to",
       [](Settings& s, std::string_view text) { return s.next = text, true; }},
      {"CLEAVE_ICD_WRAP", "icd.wrap", "/etc/OpenCL/vendors.cleave",
       "full paths of OpenCL drivers, .icd files or folders of .icd files, separated by colons", wrap},
      {"CLEAVE_ICD_NAME", "icd.name", "cleave", "cleave or original", icd_name},
      {"CLEAVE_REMOTE", "remote.servers", "",
       "tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:CID:PORT, where cleave-serverd listens, or several "
       "of them "
       "separated by commas",
       servers},
      {"CLEAVE_REMOTE_REQUIRED", "remote.required", "false", "true or false",
       [](Settings& s, std::string_view text) { return parse_bool(text, s.remote.required); }},
      {"CLEAVE_REMOTE_TIMEOUT", "remote.timeout", "10", "a number of seconds from 0.1 to 3600",
       remote_timeout},
      {"CLEAVE_REMOTE_TOKEN_FILE", "remote.token_file", "", "the path of a file",
       [](Settings& s, std::string_view text) { return s.remote.token_file = text, true; }},
      {"CLEAVE_REMOTE_CA", "remote.ca", "", "the path of a file of PEM certificates",
       [](Settings& s, std::string_view text) { return s.remote.authorities = text, true; }},
      {"CLEAVE_REMOTE_CERT", "remote.cert", "", "the path of a PEM certificate",
       [](Settings& s, std::string_view text) { return s.remote.certificate = text, true; }},
      {"CLEAVE_REMOTE_KEY", "remote.key", "", "the path of a PEM key",
       [](Settings& s, std::string_view text) { return s.remote.key = text, true; }},
  });
  return *list;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end || value < least || value > most)
    return std::nullopt;
  return value;
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace cleave::base
