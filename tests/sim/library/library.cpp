// The simulated driver as a shared library: an ICD for a loader, or a complete libOpenCL by itself.
//
//   CLEAVE_SIM=zero      the zero-cost driver in place of the simulated one
//   CLEAVE_SIM=tagged    the simulated one, which speaks cl_khr_icd 2 and nothing else
//   CLEAVE_SIM_LOG=path  every call is appended to that file when the process ends: "clFlush(queue#1) =
//   CL_SUCCESS"
//
// Kernels do nothing, except sim_count(global uint* counts), which adds 1 to counts[get_global_id(0)] for
// each work-item.
//
// Threads: as the drivers behind it. Everything lives until the process ends, since programs call OpenCL from
// exit handlers, too.
#include <CL/cl_icd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/no_destructor.h"
#include "opencl/define_function.h"
#include "tests/sim/driver/core/extensions.h"
#include "tests/sim/driver/driver.h"
#include "tests/sim/driver/zero/zero_driver.h"

namespace {

using cleave::base::NoDestructor;
using cleave::sim::Call;
using cleave::sim::Driver;
using cleave::sim::Execution;
using cleave::sim::Item;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void count_items(Execution& execution) {
  const auto counts = execution.buffer<cl_uint>(0);
  execution.for_each_item([&](const Item& item) {
    if (item.global_id[0] < counts.size()) ++counts[item.global_id[0]];
  });
}

class Library {
 public:
  Library() : log_path_(environment("CLEAVE_SIM_LOG")), zero_(environment("CLEAVE_SIM") == "zero") {
    if (zero_) return;
    Driver::Options options;
    options.icd_v2_only = environment("CLEAVE_SIM") == "tagged";
    options.quiet = log_path_.empty();
    // Programs may poll an event without sleeping.
    options.poll_cost = std::chrono::microseconds(1);
    driver_ = std::make_unique<Driver>(options);
    driver_->kernel("sim_count", count_items);
  }

  const cl_icd_dispatch& table() const { return zero_ ? cleave::sim::zero_table() : Driver::table(); }
  void* platform_ids() const {
    return zero_ ? cleave::sim::zero_icd_platform_ids_address() : cleave::sim::icd_platform_ids_address();
  }

  void write_log() const {
    if (log_path_.empty() || !driver_) return;
    std::FILE* file = std::fopen(log_path_.c_str(), "a");
    if (file == nullptr) return;
    for (const Call& call : driver_->log()) {
      std::fprintf(file, "%s(%s) = %s%s%s\n", call.function.c_str(), call.arguments.c_str(),
                   cleave::sim::error_name(call.result).c_str(), call.returned.empty() ? "" : " ",
                   call.returned.c_str());
    }
    std::fclose(file);
  }

 private:
  const std::string log_path_;
  const bool zero_;
  std::unique_ptr<Driver> driver_;
};

Library& library() {
  static NoDestructor<Library> the_library;
  static const int registered = std::atexit([] { library().write_log(); });
  static_cast<void>(registered);
  return *the_library;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

#define CL_FUNCTION(version, name, parameters, ...)              \
  CL_API_ENTRY CLEAVE_SIGNATURE(name, parameters) {              \
    return library().table().name(CLEAVE_ARGUMENTS(parameters)); \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms,
                                                       cl_uint* count) {
  return reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(library().platform_ids())(entries, platforms, count);
}

#pragma GCC visibility pop
}
