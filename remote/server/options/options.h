// The options of cleave-serverd (src/daemon/options.h).
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "daemon/options.h"
#include "remote/server/options/limits.h"
#include "remote/server/options/peer_list.h"
#include "remote/server/sandbox/settings.h"
#include "remote/transport/endpoint.h"
#include "remote/transport/tls.h"

namespace cleave::remote::server {

using daemon::OptionError;

struct Options {
  std::vector<Endpoint> listen;  // empty: the inherited sockets, or else default_endpoint()
  mode_t socket_mode = 0660;     // of unix sockets
  std::string token_file;
  std::string clients_file;
  bool mixed_tenants = false;  // also where workers are not kept apart
  TlsFiles tls;
  PeerList peers;                           // from which contents are fetched
  std::vector<std::string> peer_addresses;  // where they reach this server; empty: as clients do
  std::string peer_authority;               // that has signed their certificates; empty: the system's
  unsigned max_clients = 16;
  unsigned clients_per_peer = 0;       // of one address or user; 0: as many as there are
  std::chrono::seconds queue_time{0};  // that a client waits for a place; 0: it is refused
  unsigned spare = 1;                  // workers that have loaded the driver before a client needs them
  std::vector<std::string> devices;    // shell patterns of names; empty: all
  std::string user;                    // of the workers; empty: the supervisor's
  std::string opencl = "libOpenCL.so.1";
  std::string state;                // the folder of the file with the number of clients; empty: chosen
  std::string trace;                // the folder for a trace of each client; empty: none
  std::optional<Endpoint> metrics;  // on this host; empty: none
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds heartbeat{2000};
  ClientLimits limits;
  SandboxSettings sandbox;
  std::vector<daemon::GivenValue> given;  // all of these that were given, for the workers
};

// Where to listen if no option and no socket unit says it: unix:/run/cleave/server.sock, or server.sock in the folder that
// the service manager has made. Throws OptionError for a folder in which there can be no socket.
Endpoint default_endpoint();

// All options, in the order in which users see them. They are applied to `options`, which has to outlive the table.
std::vector<daemon::Option> option_table(Options& options);

// From the command line, and from the file that it names or /etc/cleave/serverd.toml. Empty: only the help or the
// version was requested, and has been printed. Throws OptionError, also for values that contradict each other.
std::optional<Options> read_options(std::span<const char* const> arguments);

// From the values in Options::given. Reads no file. Throws OptionError.
Options options_from(std::vector<daemon::GivenValue> given);

// Addresses that other machines can reach must require a token or a certificate. Throws OptionError.
void check_access(const Options& options, const Endpoint& endpoint);

// Bytes, as base::parse_size() takes them, but not "off" and 0.
std::optional<std::uint64_t> read_size(std::string_view text);

}  // namespace cleave::remote::server
