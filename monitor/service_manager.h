// The service manager's protocol, as sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3) describe it:
// three variables of the environment and one datagram. Where there is no service manager, nothing happens.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace cleave::monitor {

// Tells the manager something: "READY=1". Thread-safe; what it does not hear at once, it never hears.
void notify(std::string_view state) noexcept;

// How many descriptors, from kFirstInheritedDescriptor on, were handed to this process. Takes the variables away, so
// that only the first call gives any, and no child takes them for its own.
constexpr int kFirstInheritedDescriptor = 3;
int take_inherited_descriptors();

// Within which time the manager wants to hear "WATCHDOG=1" again; empty where it does not.
std::optional<std::chrono::microseconds> watchdog();

}  // namespace cleave::monitor
