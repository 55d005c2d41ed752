// The tables of all OpenCL functions.
//
// Thread-safe.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client {

// What programs call: for objects of several servers some functions differ from the ordinary ones. No entry is null.
const Table& functions();

// The table with which objects are created. Unless `plain`, two entries hold the tag of cl_khr_icd 2 instead of a
// function, for loaders that know it.
Table make_table(bool plain);

}  // namespace cleave::remote::client
