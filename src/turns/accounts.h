// Closes the accounts of tenants whose processes have ended, such as those of a job: what they have had on the devices of
// this machine is read and taken out of the files of turns, which have room for 64 tenants at a time.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "turns/report.h"

namespace cleave::turns {

// Of all tenants whose names begin with `prefix`, in all files of turns of the folder; their living processes keep what they have
// had. A file that cannot be used counts for nothing.
std::vector<TenantReport> take_tenants(const std::string& folder, std::string_view prefix);

}  // namespace cleave::turns
