// The options of cleave-monitord (daemon/options.h).
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/address.h"
#include "daemon/options.h"

namespace cleave::monitor {

using daemon::OptionError;

struct Options {
  std::vector<std::string> connect;    // libvirt URIs; empty: qemu:///system
  std::vector<base::Address> listen;   // empty: the inherited sockets, or else CLEAVE_MONITOR_SOCKET
  std::vector<base::Address> metrics;  // at most one; empty: none
  bool allow_wildcard = false;
  mode_t socket_mode = 0666;
  std::string socket_group;  // empty: the process's own
  std::size_t max_clients = 10'000;
  std::size_t clients_per_peer = 0;  // of one user, guest or address; 0: as many as there are
  std::chrono::milliseconds heartbeat{2000};
  std::chrono::milliseconds patience{30'000};        // with a client that accepts no data
  std::chrono::milliseconds interval{3000};          // between listings
  std::chrono::milliseconds pressure_interval{500};  // between samples for the pressure
  double busy_share = 0.2;                           // of one processor
  std::size_t metrics_connections = 32;              // at a time; not an option: what the descriptors allow
};

// All options that may also be in the file, in the order in which users see them. They are applied to `options`, which has
// to outlive the table.
std::vector<daemon::Option> option_table(Options& options);

// From the command line, and from the file that it names or /etc/cleave/monitord.toml. Empty: only the help or the version
// was requested, and has been printed. Throws OptionError, also for values that contradict each other.
std::optional<Options> read_options(std::span<const char* const> arguments);

}  // namespace cleave::monitor
