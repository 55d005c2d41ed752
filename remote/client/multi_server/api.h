// The functions of OpenCL for objects of a context over several servers (README.md). Each calls those of
// `client` for the parts that such an object is made of.
#pragma once

#include "remote/client/api/api.h"

namespace cleave::remote::client::multi_server {

#define CLEAVE_MULTI_SERVER(name) decltype(client::name) name;
#include "remote/client/multi_server/overrides.def"
#undef CLEAVE_MULTI_SERVER

// These decide by their devices whether the context is one over several servers.
decltype(client::clCreateContext) clCreateContext;
decltype(client::clCreateContextFromType) clCreateContextFromType;

decltype(client::get_suggested_local_size) get_suggested_local_size;

}  // namespace cleave::remote::client::multi_server
