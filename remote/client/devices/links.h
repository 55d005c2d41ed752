// The links to the devices' servers, as measured by queries over the connections in use: the shortest round trip of a small one, and
// how much longer a large one takes. Each is measured once for a connection, when it is first asked for. The round trip takes two of
// them, the rate a few and the sending of 16 KiB to 2.4 MiB: as much as it takes to tell it from the round trip.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "base/driver_platform.h"

namespace cleave::remote::client {

// What base::kPlatformLinks and its like answer: `what`. Connects where a connection has ended.
std::vector<base::RemoteLink> links_of_devices(cl_platform_info what);

}  // namespace cleave::remote::client
