#include "remote/server/options/options.h"

#include <utility>

#include "base/settings/share.h"
#include "base/text/number.h"
#include "daemon/service_manager.h"
#include "remote/protocol/limits.h"
#include "remote/server/sandbox/identity.h"
#include "remote/server/sandbox/system_calls.h"

namespace cleave::remote::server {
namespace {

using daemon::Option;
using Arity = Option::Arity;

Option text_option(const char* name, const char* value_name, const char* help, std::string& target) {
  return {name, Arity::one, value_name, help, "a text", [&target](std::string_view text) {
            target = text;
            return true;
          }};
}

// `target`: a number, or a duration in the unit of the value.
template <typename Target>
Option number_option(const char* name, const char* value_name, const char* help, std::uint64_t min,
                     std::uint64_t max, Target& target) {
  const std::string expected = "a number from " + std::to_string(min) + " to " + std::to_string(max);
  return {name, Arity::one, value_name, help, expected, [=, &target](std::string_view text) {
            const auto number = base::parse_unsigned(text, min, max);
            if (number) target = static_cast<Target>(*number);
            return number.has_value();
          }};
}

template <typename Size>
Option size_option(const char* name, const char* help, Size& target) {
  return {name, Arity::one, "BYTES[KMGT]", help, "bytes, such as 512M", [&target](std::string_view text) {
            const auto size = read_size(text);
            if (size) target = *size;
            return size.has_value();
          }};
}

void add_access_options(std::vector<Option>& table, Options& options) {
  table.push_back({"listen", Arity::list, "ADDRESS",
                   "Where to listen: tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, vsock:any:PORT "
                   "(unix:RUNTIME_DIRECTORY/server.sock, or unix:/run/cleave/server.sock)",
                   "tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:any:PORT", [&](std::string_view text) {
                     const auto endpoint = read_endpoint(text);
                     if (endpoint) options.listen.push_back(*endpoint);
                     return endpoint.has_value();
                   }});
  table.push_back(daemon::socket_mode_option(options.socket_mode, "Mode of unix sockets (0660)"));
  table.push_back(text_option("token-file", "FILE", "Clients must present one of these tokens, one per line",
                              options.token_file));
  table.push_back(
      text_option("clients-file", "FILE",
                  "The clients by name, with their tokens or certificates and limits (TOML); read again on "
                  "SIGHUP",
                  options.clients_file));
  table.push_back(text_option("tls-cert", "FILE", "The server's certificate, with its chain (PEM)",
                              options.tls.certificate));
  table.push_back(text_option("tls-key", "FILE", "Its key (PEM)", options.tls.key));
  table.push_back(text_option("client-ca", "FILE",
                              "Clients on TLS must have a certificate of this authority (PEM)",
                              options.tls.authority));
}

void add_peer_options(std::vector<Option>& table, Options& options) {
  table.push_back(
      {"peers", Arity::list, "ADDRESS",
       "Servers from which contents are fetched directly: tcp:HOST:PORT or tls:HOST:PORT, also of a network, "
       "tcp:10.1.0.0/16:PORT (none)",
       "tcp:HOST:PORT, tls:HOST:PORT or tcp:ADDRESS/BITS:PORT",
       [&](std::string_view text) { return options.peers.add(text); }});
  table.push_back({"peer-address", Arity::list, "ADDRESS",
                   "Addresses of this server for other servers, if not those for clients; at most four",
                   "tcp:HOST:PORT or tls:HOST:PORT, at most four", [&](std::string_view text) {
                     const auto endpoint = read_endpoint(text);
                     if (!endpoint || endpoint->address.kind != base::Address::Kind::tcp ||
                         text.size() > kMaxPeerAddress || options.peer_addresses.size() >= kMaxPeerAddresses)
                       return false;
                     options.peer_addresses.emplace_back(text);
                     return true;
                   }});
  table.push_back(text_option("peer-ca", "FILE",
                              "The authority of other servers' certificates (PEM; the system's authorities)",
                              options.peer_authority));
}

void add_limit_options(std::vector<Option>& table, Options& options) {
  ClientLimits& limits = options.limits;
  table.push_back(
      number_option("max-clients", "N", "Clients at a time (16)", 1, 10'000, options.max_clients));
  table.push_back(number_option("clients-per-peer", "N",
                                "Clients at a time from one address, guest or local user (0: --max-clients)",
                                0, 10'000, options.clients_per_peer));
  table.push_back(number_option("queue-time", "SECONDS",
                                "How long a client waits for a place if there is none (0: it is refused)", 0,
                                86'400, options.queue_time));
  table.push_back(
      number_option("spare", "N", "Workers that are kept ready for new clients (1)", 0, 64, options.spare));
  table.push_back(size_option(
      "memory-per-client",
      "Memory objects and programs of one client together (the devices' memory without one client's part)",
      limits.memory));
  table.push_back(number_option("commands-per-client", "N",
                                "Unfinished commands of one client, which waits beyond that (8192)", 16,
                                1'000'000, limits.window_commands));
  table.push_back(size_option("data-per-client",
                              "Data in transfer for one client, which waits beyond that (128M)",
                              limits.window_bytes));
  table.push_back(
      size_option("program-size", "The largest source, IL or binaries of a program (256M)", limits.program));
  table.push_back(number_option("build-time", "SECONDS",
                                "Processor time of one build of a program (600; 0: builds have no limits)", 0,
                                86'400, limits.build.seconds));
  table.push_back(size_option("build-memory", "Memory of one build (4G)", limits.build.memory));
  table.push_back(
      size_option("build-output", "The largest file that a build writes (256M)", limits.build.output));
  table.push_back(number_option("timeout", "MS",
                                "Silence after which a client counts as disconnected (10000)", 100, 3'600'000,
                                options.timeout));
  table.push_back(number_option("heartbeat", "MS", "Longest time between two messages to a client (2000)", 50,
                                3'600'000, options.heartbeat));
  table.push_back(number_option("idle-timeout", "SECONDS",
                                "Time without a command after which a client is disconnected (0: never)", 0,
                                86'400, limits.idle));
}

void add_environment_options(std::vector<Option>& table, Options& options) {
  table.push_back({"devices", Arity::list, "PATTERN",
                   "Shell patterns of the names of devices that are offered (all)", "a shell pattern",
                   [&](std::string_view text) {
                     options.devices.emplace_back(text);
                     return true;
                   }});
  table.push_back(
      text_option("user", "NAME", "The user that workers run as, if the server is root", options.user));
  table.push_back(text_option("opencl", "FILE", "The OpenCL loader (libOpenCL.so.1)", options.opencl));
  table.push_back(text_option("state", "FOLDER", "A folder for the number of clients, which workers read",
                              options.state));
  table.push_back(text_option("trace", "FOLDER",
                              "A folder for a trace of each client's session, for `cleave trace merge`",
                              options.trace));
  table.push_back({"metrics", Arity::one, "ADDRESS",
                   "Where to serve /metrics: tcp:ADDRESS:PORT on loopback (nowhere)",
                   "a loopback address, such as tcp:127.0.0.1:9461", [&](std::string_view text) {
                     options.metrics = read_endpoint(text);
                     return options.metrics && !options.metrics->tls && is_private(*options.metrics);
                   }});
}

void add_sandbox_options(std::vector<Option>& table, Options& options) {
  using Use = SandboxSettings::Use;
  SandboxSettings& sandbox = options.sandbox;
  table.push_back({"sandbox", Arity::one, "auto|on|off",
                   "Whether workers are isolated from each other and from the system (auto: if that works)",
                   "auto, on or off", [&sandbox](std::string_view text) {
                     if (text != "auto" && text != "on" && text != "off") return false;
                     sandbox.use = text == "on" ? Use::on : text == "off" ? Use::off : Use::automatic;
                     return true;
                   }});
  table.push_back(
      {"mixed-tenants", Arity::flag, "",
       "Serve clients of different names at the same time even without a sandbox", "true or false",
       [&options](std::string_view text) { return daemon::set_flag(options.mixed_tenants, text); }});
  table.push_back({"sandbox-devices", Arity::list, "PATTERN",
                   "Shell patterns of the device files in the sandbox (/dev/nvidia*, /dev/dri/*, /dev/kfd)",
                   "the full path of device files", [&sandbox](std::string_view text) {
                     sandbox.devices.emplace_back(text);
                     return text.starts_with("/dev/");
                   }});
  table.push_back(
      {"sandbox-files", Arity::list, "PATH",
       "Files and folders in hidden folders that workers may read (none but what the environment names)",
       "a full path", [&sandbox](std::string_view text) {
         sandbox.files.emplace_back(text);
         return text.starts_with('/');
       }});
  table.push_back({"allow-system-calls", Arity::list, "NAME",
                   "System calls that are not refused to workers (none)", "the name of a system call",
                   [&sandbox](std::string_view text) {
                     sandbox.system_calls.emplace_back(text);
                     return is_system_call(std::string(text));
                   }});
  table.push_back({"user-range", Arity::one, "FIRST-LAST",
                   "User ids, one for each worker, if the server is root",
                   "two numbers, such as 200000-200099", [&sandbox](std::string_view text) {
                     sandbox.users = read_user_range(std::string(text));
                     return sandbox.users.has_value();
                   }});
  table.push_back(text_option("cache-seed", "FOLDER",
                              "Initial contents of a worker's cache of compiled kernels (none)",
                              sandbox.cache_seed));
  table.push_back(
      size_option("disk-per-client", "Temporary files and caches of one client (1G)", sandbox.disk));
  table.push_back(number_option("processes-per-client", "N", "Processes and threads of one client (1024)", 64,
                                1'000'000, sandbox.processes));
  table.push_back(size_option("host-memory-per-client", "The host's memory for one client (no limit)",
                              sandbox.host_memory));
  table.push_back(number_option("processor-per-client", "PERCENT",
                                "Processor time of one client, of one processor (no limit)", 1, 1'000'000,
                                sandbox.processor));
}

}  // namespace

std::vector<Option> option_table(Options& options) {
  std::vector<Option> table;
  add_access_options(table, options);
  add_peer_options(table, options);
  add_limit_options(table, options);
  add_environment_options(table, options);
  add_sandbox_options(table, options);
  return table;
}

std::optional<Options> read_options(std::span<const char* const> arguments) {
  Options options;
  const daemon::Program program{"cleave-serverd",
                                "Executes the OpenCL calls of remote clients: one process per client, with "
                                "Cleave splitting their launches.",
                                "/etc/cleave/serverd.toml"};
  auto given = daemon::read_options(program, option_table(options), arguments);
  if (!given) return std::nullopt;
  options.given = std::move(*given);
  for (const Endpoint& endpoint : options.listen) check_access(options, endpoint);
  return options;
}

Endpoint default_endpoint() {
  const std::string folder = daemon::runtime_folder();
  const std::string address = "unix:" + (folder.empty() ? "/run/cleave" : folder) + "/server.sock";
  const auto endpoint = read_endpoint(address);
  if (!endpoint) throw OptionError("RUNTIME_DIRECTORY: " + address + " cannot be listened on; give --listen");
  return *endpoint;
}

Options options_from(std::vector<daemon::GivenValue> given) {
  Options options;
  daemon::apply_values(option_table(options), given);
  options.given = std::move(given);
  return options;
}

void check_access(const Options& options, const Endpoint& endpoint) {
  if (endpoint.tls && options.tls.certificate.empty()) {
    throw OptionError("--listen " + as_text(endpoint) + ": TLS needs --tls-cert and --tls-key");
  }
  const bool identifies_clients = !options.token_file.empty() || !options.clients_file.empty() ||
                                  (endpoint.tls && !options.tls.authority.empty());
  if (is_private(endpoint) || identifies_clients) return;
  throw OptionError("--listen " + as_text(endpoint) +
                    ": other machines can connect there; give --token-file, --clients-file" +
                    (endpoint.tls ? " or --client-ca" : ", or listen on a loopback address"));
}

std::optional<std::uint64_t> read_size(std::string_view text) {
  const auto size = base::parse_size(text);
  return size != 0U ? size : std::nullopt;
}

}  // namespace cleave::remote::server
