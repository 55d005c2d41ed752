// What a libvirt URI (DRIVER[+TRANSPORT]://[USER@][HOST][:PORT]/PATH, https://libvirt.org/uri.html) reveals about where
// its domains run.
#pragma once

#include <string>
#include <string_view>

namespace cleave::monitor {

// As gethostname() has it; empty if it has none.
std::string own_host_name();

// Whether this host's pressure-stall information describes the domains at that URI: they are processes of this host,
// which they are not on another host, nor under Xen, whose Domain-0 sees only itself. A URI is this host's if it has no
// host name, as in libvirt, or "localhost", a loopback address or `own_name`; names are not resolved.
// There could be a tunnel behind a loopback address; the URI does not show that.
bool stalls_like_this_host(std::string_view uri, std::string_view own_name = own_host_name());

}  // namespace cleave::monitor
