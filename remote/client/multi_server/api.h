// Declares multi_server::<name> for every function: the one for objects of a context over several servers (README.md).
// Those whose row in opencl/functions.def says `separate` or `separate_by_devices` are defined; each calls those of
// `client` for the shards of such an object.
#pragma once

#include "remote/client/api/api.h"

namespace cleave::remote::client::multi_server {

#define CL_FUNCTION(version, name, ...) decltype(client::name) name;
#include "opencl/functions.def"
#undef CL_FUNCTION

decltype(client::get_suggested_local_size) get_suggested_local_size;

}  // namespace cleave::remote::client::multi_server
