// What the user can set, as plain values. Where they come from is base/configuration.h's affair; what each
// means and its default stands in docs/configuration.md, which a test holds against the list in
// settings_list.cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace cleave::base {

struct SplitPolicy {
  enum class Kind : std::uint8_t { off, fixed, alpha, budget, quantum };
  Kind kind = Kind::alpha;
  std::size_t slices = 0;               // for `fixed`
  std::chrono::nanoseconds quantum{0};  // for `quantum`

  // Whether the number of slices follows from what launches were measured to cost.
  [[nodiscard]] bool learns() const { return kind == Kind::budget || kind == Kind::quantum; }
};

enum class LaunchMode : std::uint8_t { automatic, sequential, queued, pipelined };

// Who waits where the program does: the driver, or Cleave with looks between sleeps.
enum class WaitMode : std::uint8_t { automatic, native, sleeping };

// Who is asked how many share the host. Of several the largest count counts.
struct NeighbourSources {
  bool monitor = true;
  bool peers = false;
  std::vector<std::string> files;  // paths
};

// What a source counts for that has been silent for too long.
struct StaleCount {
  enum class Kind : std::uint8_t { last, alone, number };
  Kind kind = Kind::last;
  unsigned vms = 0;  // for `number`
};

// Settings for the kernels, or the devices, whose name matches a shell pattern (fnmatch(3)). 0: not set here.
struct NamedSettings {
  std::string pattern;
  unsigned alpha = 0;
  std::size_t cores = 0;  // devices only
};

// The servers whose devices are used from here, and how they are met.
struct RemoteSettings {
  std::vector<std::string> servers;  // tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, vsock:CID:PORT, as text
  bool required = false;             // no platform at all where one of them is not in reach
  std::chrono::milliseconds timeout{10'000};  // a server that is silent for so long is gone
  std::string token_file;                     // empty: no token
  // TLS, PEM files: whom to trust (empty: the system's), and who we are (empty: nobody).
  std::string authorities;
  std::string certificate;
  std::string key;
};

struct Settings {
  bool disable = false;
  SplitPolicy policy;
  unsigned alpha = 4;
  double budget = 0.05;                  // the share of its time that splitting a launch may cost
  unsigned alpha_max = 100;              // the most slices for each VM, for `budget`
  std::optional<std::size_t> min_items;  // empty: the device's cores
  std::vector<std::string> deny;         // shell patterns of kernel names
  bool trust_binaries = false;           // programs made from binaries may be split
  LaunchMode launch = LaunchMode::automatic;
  WaitMode wait = WaitMode::automatic;
  std::optional<unsigned> vms;  // empty: the sources are asked
  NeighbourSources sources;
  std::optional<Address> monitor;    // empty: looked for in the usual places
  std::chrono::seconds max_age{10};  // how long a count holds that nobody confirms
  StaleCount stale;
  std::string registry;  // the folder of the processes under Cleave; empty: there is none
  bool top = true;       // this process is to be seen there
  std::string stats;     // empty: none; "stderr"; or a path
  std::string trace;     // empty: none; or a path
  std::string next;      // empty: look for it
  std::vector<std::string> wrap{"/etc/OpenCL/vendors.cleave"};  // what the vendor library wraps: paths
  bool original_name = false;                                   // and whether its platforms keep their names
  RemoteSettings remote;
  std::string cache;  // the folder for what is worth keeping between runs; empty: none
  std::vector<NamedSettings> kernels;
  std::vector<NamedSettings> devices;
};

// Whether `name` matches the shell pattern.
bool matches(const std::string& pattern, const std::string& name);

// One setting that users know by name.
struct Setting {
  const char* variable;      // CLEAVE_...
  const char* key;           // table.key in TOML
  const char* default_text;  // the default, as a user would write it
  const char* expected;      // what a value must be, to end the sentence "expected ..."
  // Takes the value as text; false if it is not one. TOML's numbers and booleans come as their text, arrays
  // of strings joined by commas.
  bool (*apply)(Settings&, std::string_view);
};

// All settings but the tables [kernels] and [devices], in the order users see them.
const std::vector<Setting>& settings_list();

// A whole number without sign, from `least` to `most`; nothing else, no spaces.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t least, std::uint64_t most);

}  // namespace cleave::base
