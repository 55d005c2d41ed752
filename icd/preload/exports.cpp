// Every OpenCL function under its own name: one load and one indirect jump. No decisions here.

#include "icd/preload/first_call.h"
#include "interpose/calls/table.h"
#include "opencl/define_function.h"

#define CL_FUNCTION(version, name, parameters, ...)                                      \
  extern "C" __attribute__((visibility("default"))) CLEAVE_SIGNATURE(name, parameters) { \
    return cleave::icd::active_table().name(CLEAVE_ARGUMENTS(parameters));               \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION

namespace {

__attribute__((constructor)) void on_load() { cleave::interpose::at_load(); }

// Destructors of a preloaded library run after those of the program and of the libraries it uses.
__attribute__((destructor)) void on_unload() { cleave::interpose::at_exit(); }

}  // namespace
