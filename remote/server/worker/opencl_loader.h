// The OpenCL implementation that the server uses: the system's loader, and on top of it Cleave's splitter.
#pragma once

#include <string>

#include "base/opencl.h"
#include "remote/server/options/grant.h"

namespace cleave::remote::server {

// The loader itself. Null: `problem` says why. To be called once; the table is never destroyed.
const Table* load_opencl(const std::string& library, std::string& problem);

// Puts the splitter on top, with the settings of this process and what the client is granted. `trace`: the path of its trace,
// in place of the settings'; empty: as these say. To be called once; the table is never destroyed.
const Table& split_launches(const Table& loader, const std::string& library, const Grant& grant,
                            const std::string& trace);

}  // namespace cleave::remote::server
