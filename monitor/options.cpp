#include "monitor/options.h"

#include <utility>

#include "base/text/number.h"
#include "daemon/listening_socket.h"

namespace cleave::monitor {
namespace {

using Arity = daemon::Option::Arity;

bool add_connect(Options& options, std::string_view text) {
  const auto colon = text.find(':');
  const bool is_uri =
      colon != std::string_view::npos && colon > 0 && text.find(' ') == std::string_view::npos;
  if (is_uri) options.connect.emplace_back(text);
  return is_uri;
}

bool add_address(std::vector<base::Address>& list, std::string_view text) {
  auto address = base::parse_address(text);
  if (address) list.push_back(std::move(*address));
  return address.has_value();
}

bool set_max_clients(Options& options, std::string_view text) {
  const auto number = base::parse_unsigned(text, 1, 1'000'000);
  if (number) options.max_clients = *number;
  return number.has_value();
}

bool set_clients_per_peer(Options& options, std::string_view text) {
  const auto number = base::parse_unsigned(text, 0, 1'000'000);
  if (number) options.clients_per_peer = *number;
  return number.has_value();
}

bool set_busy_share(Options& options, std::string_view text) {
  const auto percent = base::parse_unsigned(text, 0, 100);
  if (percent) options.busy_share = static_cast<double>(*percent) / 100;
  return percent.has_value();
}

void check_listen(const Options& options) {
  for (const base::Address& address : options.listen) {
    const std::string what = "--listen: " + base::as_text(address);
    if (address.kind == base::Address::Kind::tcp && !daemon::is_numeric(address)) {
      throw OptionError(what + " is a name; name the IP address to bind, such as tcp:127.0.0.1:27460");
    }
    if (daemon::is_wildcard(address) && !options.allow_wildcard) {
      throw OptionError(what + " is every network of this host; name one address, or add --allow-wildcard");
    }
  }
}

void check_metrics(const Options& options) {
  for (const base::Address& address : options.metrics) {
    if (daemon::is_local(address)) continue;
    throw OptionError("--metrics: " + base::as_text(address) +
                      " can be reached from outside; name a loopback address, such as tcp:127.0.0.1:9460");
  }
}

}  // namespace

std::vector<daemon::Option> option_table(Options& options) {
  const auto milliseconds = [](std::chrono::milliseconds& target, std::uint64_t min) {
    return [&target, min](std::string_view text) {
      return daemon::set_milliseconds(target, text, min, 3'600'000);
    };
  };
  return {
      {"connect", Arity::several, "URI", "libvirt URIs of the hypervisors to query (qemu:///system)",
       "a libvirt URI, such as qemu:///system", [&](auto text) { return add_connect(options, text); }},
      {"listen", Arity::several, "ADDRESS",
       "Where to listen: unix:PATH, tcp:IP:PORT, vsock:any:PORT (unix:/run/cleave/monitor.sock)",
       "unix:PATH, tcp:IP:PORT or vsock:any:PORT",
       [&](auto text) { return add_address(options.listen, text); }},
      {"metrics", Arity::one, "ADDRESS", "Where to serve /metrics and /healthz, on loopback (nowhere)",
       "tcp:127.0.0.1:PORT, tcp:[::1]:PORT or unix:PATH",
       [&](auto text) { return add_address(options.metrics, text); }},
      {"allow-wildcard", Arity::flag, "", "Let --listen name 0.0.0.0 or [::], all interfaces of the host",
       "true or false", [&](auto text) { return daemon::set_flag(options.allow_wildcard, text); }},
      daemon::socket_mode_option(options.socket_mode, "Mode of unix sockets (0666)"),
      {"socket-group", Arity::one, "GROUP", "Group of unix sockets (the process's own)", "a group's name",
       [&](auto text) { return !(options.socket_group = text).empty(); }},
      {"max-clients", Arity::one, "N", "Clients at a time (10000)", "a whole number from 1 to 1000000",
       [&](auto text) { return set_max_clients(options, text); }},
      {"clients-per-peer", Arity::one, "N",
       "Clients at a time of one user, guest or address (0: --max-clients)",
       "a whole number from 0 to 1000000", [&](auto text) { return set_clients_per_peer(options, text); }},
      {"heartbeat", Arity::one, "MS", "Milliseconds between heartbeats to a client (2000)",
       "milliseconds, from 100 to 3600000", milliseconds(options.heartbeat, 100)},
      {"patience", Arity::one, "MS", "Milliseconds for which a client may accept no data (30000)",
       "milliseconds, from 1000 to 3600000", milliseconds(options.patience, 1000)},
      {"interval", Arity::one, "MS", "Milliseconds between listings of the domains (3000)",
       "milliseconds, from 100 to 3600000", milliseconds(options.interval, 100)},
      {"pressure-interval", Arity::one, "MS",
       "Milliseconds between samples of how much the domains lack the processor (500)",
       "milliseconds, from 100 to 3600000", milliseconds(options.pressure_interval, 100)},
      {"busy-share", Arity::one, "PERCENT",
       "Per cent of one processor from which a domain counts as busy (20)",
       "per cent of one processor, 0 to 100", [&](auto text) { return set_busy_share(options, text); }},
  };
}

std::optional<Options> read_options(std::span<const char* const> arguments) {
  Options options;
  const daemon::Program program{"cleave-monitord",
                                "Counts the virtual machines that run on this host, through libvirt, and "
                                "reports the number to its clients.",
                                "/etc/cleave/monitord.toml"};
  if (!daemon::read_options(program, option_table(options), arguments)) return std::nullopt;
  check_listen(options);
  check_metrics(options);
  if (options.connect.empty()) options.connect.emplace_back("qemu:///system");
  return options;
}

}  // namespace cleave::monitor
