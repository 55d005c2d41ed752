// The links to the devices' servers, as measured by queries over the connections in use: the shortest round trip of a small one, and
// how much longer a large one takes. A connection is measured once, when it is first asked for, which takes some round trips
// and the sending of 16 KiB to 1.3 MiB: as much as it takes to tell the rate from the round trip.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "base/driver_platform.h"

namespace cleave::remote::client {

// What base::kPlatformLinks answers. Connects where a connection has ended.
std::vector<base::RemoteLink> links_of_devices();

}  // namespace cleave::remote::client
