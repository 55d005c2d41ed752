// A driver with a context and a queue, for tests of the driver: everything is released at the end, and then
// nothing may be left.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/gtest.h"
#include "tests/kit/setup.h"
#include "tests/kit/with.h"
#include "tests/sim/driver/driver.h"

namespace cleave::sim {

inline constexpr const char* fixture_source = R"(
  kernel void add(global int* a, int n) {}       // adds n to each element
  kernel void note(global int* a) {}             // each element becomes its global id
  kernel void idle() {}
  kernel void other() {}
  __attribute__((reqd_work_group_size(8, 2, 1))) kernel void fixed() {}
  kernel void all(global float* g, constant int* c, local char* l, float4 v, image2d_t i, sampler_t s) {}
)";

// Lives before and after everything that is made with it.
struct DriverOwner {
  Driver driver;
};

class DriverFixture : public DriverOwner, public kit::Setup {
 public:
  explicit DriverFixture(Options options = {}, cl_command_queue_properties flags = 0)
      : DriverOwner{Driver(std::move(options))},
        kit::Setup(kit::Api(Driver::table(), kit::fail_test), driver.device(), flags),
        program(make_program(fixture_source)) {
    driver.kernel("add", add_to_elements);
    driver.kernel("note", [](Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item(
          [&](const Item& item) { data[item.global_id[0]] = static_cast<cl_int>(item.global_id[0]); });
    });
  }

  ~DriverFixture() {
    release_all();
    driver.run_until_idle();
    EXPECT_EQ(driver.live_objects(), std::vector<std::string>{});
  }

  using kit::Setup::make_kernel;
  cl_kernel make_kernel(const kit::Name& name) { return make_kernel(program, name); }
  cl_mem make_buffer(const std::vector<cl_int>& content) { return kit::Setup::make_buffer(content); }

  // "add" with its arguments set.
  cl_kernel make_add(cl_mem buffer, cl_int n) { return make_kernel(program, "add", buffer, n); }

  // A launch of `items` in one dimension with an event.
  cl_event launch(cl_command_queue where, cl_kernel kernel, std::size_t items = 1,
                  const kit::Waits& waits = {}) {
    return keep(cl.launch_event(where, kernel, items, waits));
  }

  Nanoseconds profiled(cl_event event, cl_profiling_info which) const {
    return Nanoseconds(cl.profiled(event, which));
  }

  std::vector<cl_int> read(cl_mem buffer, std::size_t count) const {
    return cl.read<cl_int>(queue, buffer, count);
  }

  cl_program program;
};

inline Options plain_driver() { return {}; }

// A fixture of GoogleTest's. Tests whose suites are called Configured... make their fixtures themselves.
template <Options (*options)() = plain_driver, cl_command_queue_properties flags = 0>
class DriverTest : public testing::Test, public DriverFixture {
 protected:
  DriverTest() : DriverFixture(options(), flags) {}
};

}  // namespace cleave::sim
