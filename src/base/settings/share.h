// What a process, or all processes of a tenant together, may have of a device: values of the settings, their grammar, and
// where the name of a tenant comes from.
//
// Thread-safe: pure functions, except for tenant_of_control_group(), which reads a file of the system. They may throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::base {

// At most so much of a device's time, over every second.
struct Cap {
  unsigned permille = 0;  // 0: no cap
  bool borrow = false;    // more, while no other participant wants the device

  friend bool operator==(const Cap&, const Cap&) = default;
};

// "30%", "12.5%", "30%,borrow" or "off"; 100% means "off", too. In steps of 0.1 %, from 0.1 %.
std::optional<Cap> parse_cap(std::string_view text);

// Bytes: "1073741824", "512M", "2G" or "2GiB", in powers of 1024, up to 2^50. 0 for "off".
std::optional<std::uint64_t> parse_size(std::string_view text);

// 1 to kMaxTenantName letters, digits and any of "._-:@/". Not "cgroup", which stands for a name.
inline constexpr std::size_t kMaxTenantName = 63;
bool is_tenant_name(std::string_view text);

// A name for the control group of this process, of what /proc/self/cgroup holds: the path below the root of the unified
// hierarchy, or of the first other one; of a long one its end. Within a container that does not see its own path, the host's
// name, which is the container's. Characters that no name has become '_'. Empty if there is neither.
std::string tenant_of_control_group(std::string_view proc_self_cgroup, std::string_view host);
// The same for this process.
std::string tenant_of_control_group();

}  // namespace cleave::base
