// The service manager's protocol, as described by sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3): environment
// variables and one datagram. Nothing happens where there is no service manager.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::daemon {

// Sends a state such as "READY=1". Thread-safe; does not wait, and drops the state if the manager cannot take it now, which is
// logged the first time.
void notify(std::string_view state) noexcept;

// How many descriptors, from kFirstInheritedDescriptor on, were passed to this process. Removes the variables, so that only
// the first call returns any and no child mistakes them for its own.
constexpr int kFirstInheritedDescriptor = 3;
int take_inherited_descriptors();

// The folder that the manager has made for the daemon's sockets and the like (RuntimeDirectory=, systemd.exec(5)); the first
// if there are several. Empty: none.
std::string runtime_folder();

// The period within which the manager expects "WATCHDOG=1"; empty if it expects none.
std::optional<std::chrono::microseconds> watchdog();

}  // namespace cleave::daemon
