// The list of all options. A new one is an entry here and a member of Options; docs/monitor.md and the man
// page say what it means, and a test holds them against this list.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/settings.h"
#include "monitor/options.h"

namespace cleave::monitor {
namespace {

using ValueCount = OptionEntry::ValueCount;

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

bool add_listen(Options& options, std::string_view text) { return add_address(options.listen, text); }

bool set_metrics(Options& options, std::string_view text) { return add_address(options.metrics, text); }

bool set_allow_wildcard(Options& options, std::string_view text) {
  options.allow_wildcard = text == "true";
  return text == "true" || text == "false";
}

bool set_socket_mode(Options& options, std::string_view text) {
  unsigned mode = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc{} || stop != end || mode > 0777) return false;
  options.socket_mode = mode;
  return true;
}

bool set_socket_group(Options& options, std::string_view text) {
  options.socket_group = text;
  return !text.empty();
}

bool set_max_clients(Options& options, std::string_view text) {
  const auto number = base::parse_unsigned(text, 1, 1'000'000);
  if (number) options.max_clients = *number;
  return number.has_value();
}

bool set_duration(std::chrono::milliseconds& duration, std::string_view text, std::uint64_t least,
                  std::uint64_t most) {
  const auto number = base::parse_unsigned(text, least, most);
  if (number) duration = std::chrono::milliseconds(*number);
  return number.has_value();
}

bool set_heartbeat(Options& options, std::string_view text) {
  return set_duration(options.heartbeat, text, 100, 3'600'000);
}

bool set_patience(Options& options, std::string_view text) {
  return set_duration(options.patience, text, 1000, 3'600'000);
}

bool set_interval(Options& options, std::string_view text) {
  return set_duration(options.interval, text, 100, 3'600'000);
}

bool set_busy_share(Options& options, std::string_view text) {
  const auto percent = base::parse_unsigned(text, 0, 100);
  if (percent) options.busy_share = static_cast<double>(*percent) / 100;
  return percent.has_value();
}

constexpr std::array kEntries = {
    OptionEntry{"connect", ValueCount::several, "URI",
                "Hypervisors to count on, as libvirt names them (qemu:///system)",
                "a libvirt URI, such as qemu:///system", add_connect},
    OptionEntry{"listen", ValueCount::several, "ADDRESS",
                "Where to listen: unix:PATH, tcp:IP:PORT, vsock:any:PORT (unix:/run/cleave/monitor.sock)",
                "unix:PATH, tcp:IP:PORT or vsock:any:PORT", add_listen},
    OptionEntry{"metrics", ValueCount::one, "ADDRESS",
                "Where to serve /metrics and /healthz, on loopback (nowhere)",
                "tcp:127.0.0.1:PORT, tcp:[::1]:PORT or unix:PATH", set_metrics},
    OptionEntry{"allow-wildcard", ValueCount::nothing, "",
                "Let --listen name 0.0.0.0 or [::], every network of the host", "true or false",
                set_allow_wildcard},
    OptionEntry{"socket-mode", ValueCount::one, "OCTAL", "Mode of unix sockets (0666)",
                "an octal mode up to 0777, in the file as text, such as \"0660\"", set_socket_mode},
    OptionEntry{"socket-group", ValueCount::one, "GROUP", "Group of unix sockets (the process's own)",
                "a group's name", set_socket_group},
    OptionEntry{"max-clients", ValueCount::one, "N", "Clients at a time (10000)",
                "a whole number from 1 to 1000000", set_max_clients},
    OptionEntry{"heartbeat", ValueCount::one, "MS", "Milliseconds between signs of life to a client (2000)",
                "milliseconds, from 100 to 3600000", set_heartbeat},
    OptionEntry{"patience", ValueCount::one, "MS", "Milliseconds that a client may take nothing (30000)",
                "milliseconds, from 1000 to 3600000", set_patience},
    OptionEntry{"interval", ValueCount::one, "MS", "Milliseconds between listings of the domains (3000)",
                "milliseconds, from 100 to 3600000", set_interval},
    OptionEntry{"busy-share", ValueCount::one, "PERCENT",
                "From how much of one processor on a domain counts as busy (20)",
                "per cent of one processor, 0 to 100", set_busy_share},
};

}  // namespace

std::span<const OptionEntry> option_table() { return kEntries; }

}  // namespace cleave::monitor
