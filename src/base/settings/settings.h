// The settings as plain values, and the list of their names, defaults and grammar. Where the values come from is in
// base/settings/configuration.h; docs/configuration.md describes them, and a test compares it with settings_list.cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/settings/alpha_table.h"
#include "base/settings/share.h"

namespace cleave::base {

// A policy and its value (base/settings/split_policies.def).
struct SplitPolicy {
  enum class Kind : std::uint8_t {
#define CLEAVE_POLICY(name, value, needs_vms) name,
#include "base/settings/split_policies.def"
#undef CLEAVE_POLICY
  };
  enum class Value : std::uint8_t { none, count, duration, share, loss };

  Kind kind = Kind::alpha;
  std::size_t slices = 0;               // if its value is a count
  std::chrono::nanoseconds quantum{0};  // if its value is a duration
  double share = 0;                     // if its value is one, from 0 to 1
  double budget = 0.05;  // `budget`, `pressure`: the share of its run time that splitting a launch may cost

  // Whether the policy depends on the number of virtual machines on the host.
  [[nodiscard]] bool needs_vms() const;
  // Whether it depends on the pressure on the host's processors (docs/monitor.md).
  [[nodiscard]] bool needs_pressure() const { return kind == Kind::pressure; }
};

enum class LaunchMode : std::uint8_t { automatic, sequential, queued, pipelined };

// How blocking calls wait: inside the driver, or in Cleave, which sleeps and polls between sleeps.
enum class WaitMode : std::uint8_t { automatic, native, sleeping };

// Where the number of VMs on the host comes from. The largest count of several sources is used.
struct NeighbourSources {
  bool monitor = true;
  bool peers = false;
  std::vector<std::string> files;  // paths
};

// Which virtual machines of the host count, by the monitor's distinction: all that run, or this one and the busy ones.
enum class CountBy : std::uint8_t { running, busy };

// Whether launches take turns with those of other processes (docs/turns.md): while one of them has declared an intent (a weight, a
// class, a cap), not on processors; always, on all devices; never.
enum class TurnMode : std::uint8_t { automatic, on, off };

// The order of service.
enum class TurnPriority : std::uint8_t { high, normal, background, idle };

struct TurnSettings {
  TurnMode mode = TurnMode::automatic;
  unsigned weight = 100;  // the share of the device, among those of the same class
  TurnPriority priority = TurnPriority::normal;
};

// What this process may have of each device; with a tenant, what all its processes may have together (docs/limits.md).
struct LimitSettings {
  std::string tenant;        // empty: none
  Cap cap;                   // of the device's time
  std::uint64_t memory = 0;  // bytes of objects; 0: no limit
};

// Whose monitor is believed (neighbours/monitor_trust.h).
enum class MonitorTrust : std::uint8_t { system, owner, any };

// Settings for kernels, or devices, whose name matches a shell pattern (fnmatch(3)). What is 0, or not set, is not set.
struct NamedSettings {
  std::string pattern;
  AlphaTable alpha;
  std::size_t cores = 0;  // devices only
};

// The remote servers, and how to connect to them.
struct RemoteSettings {
  std::vector<std::string> servers;           // tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:CID:PORT
  bool original_name = false;                 // the platform keeps its driver's name
  bool required = false;                      // no platform at all if one of the servers is unreachable
  bool first = false;                         // its platform comes before this machine's
  std::chrono::milliseconds timeout{10'000};  // without an answer for this long, a server counts as lost
  bool compression = true;                    // where it pays
  std::string token_file;                     // empty: no token
  // PEM files for TLS. Empty: the system's authorities, no client certificate, and a key in the certificate's file.
  std::string authorities;
  std::string certificate;
  std::string key;
};

struct Settings {
  bool disable = false;
  SplitPolicy policy;
  AlphaTable alpha = 4;
  std::optional<std::size_t> min_items;  // empty: the number of the device's cores
  std::vector<std::string> deny;         // shell patterns of kernel names
  std::vector<std::string> allow;        // the same, of those that may be split although they may communicate
  bool trust_binaries = false;           // programs made from unknown binaries may be split
  LaunchMode launch = LaunchMode::automatic;
  WaitMode wait = WaitMode::automatic;
  TurnSettings turns;
  LimitSettings limits;
  std::optional<unsigned> vms;  // empty: the sources are polled
  NeighbourSources sources;
  CountBy count_by = CountBy::running;
  std::optional<Address> monitor;  // empty: the default addresses are tried
  // Not a setting, but tests shorten it. After this time without confirmation a count is stale: it misses five of the monitor's
  // heartbeats.
  std::chrono::seconds max_age{10};
  MonitorTrust monitor_trust = MonitorTrust::owner;
  std::string registry;  // the folder of the process registry; empty: none
  std::string stats;     // empty: none; "stderr"; or a path
  bool explain = false;  // at exit, say on standard error why launches were not split
  std::string trace;     // empty: none; or a path
  std::string next;      // the OpenCL loader below the drop-in; empty: it is searched for
  std::vector<std::string> wrap{"/etc/OpenCL/vendors.cleave"};  // paths of what the vendor library wraps
  bool original_name = true;                                    // its platforms keep their names
  RemoteSettings remote;
  std::string cache;  // the folder for what is kept between runs; empty: none
  std::vector<NamedSettings> kernels;
  std::vector<NamedSettings> devices;
};

// Whether `name` matches the shell pattern.
bool matches(const std::string& pattern, const std::string& name);

struct Setting {
  const char* variable;      // CLEAVE_...
  const char* key;           // table.key in TOML
  const char* default_text;  // the default, as a user would write it
  const char* expected;      // the accepted values, to complete the sentence "expected ..."
  // Parses the value into the settings; returns false, with the settings unchanged or partly changed, if it is not
  // accepted. TOML numbers and booleans are passed as text, arrays of strings joined by commas.
  bool (*apply)(Settings&, std::string_view);
};

// What is accepted for an α, to complete the sentence "expected ...".
inline constexpr const char* kAlphaExpected =
    "a whole number from 1 to 1000000, or a table VMS:ALPHA with ascending numbers of VMs, such as "
    "1:10,2:7,4:4";

// All settings but the tables [kernels], [devices], [programs] and [tenants], in the order in which they are shown to users.
const std::vector<Setting>& settings_list();

// A value that is no longer the name of anything, but is accepted for another one; using it prints one line on standard error.
struct RenamedValue {
  std::string_view key;
  std::string_view old_name;
  std::string_view new_name;
  std::string_view what_to_do = "the old name will be removed";
};

// Null if there is none.
const Setting* find_setting(std::string_view key);

// Null if `value` is a current name, or none at all.
const RenamedValue* find_renamed_value(const Setting& setting, std::string_view value);

}  // namespace cleave::base
