// The vendor library on top of one simulated driver for the process, as it is with real ones. Its functions are called
// without the interposer.
#pragma once

#include <gtest/gtest.h>

#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"
#include "tests/kit/gtest.h"
#include "tests/sim/driver/driver.h"

namespace cleave::vendor {

inline sim::Driver& simulated_driver() {
  static sim::Driver* const driver = [] {
    sim::Driver::Options options;
    options.quiet = true;
    return new sim::Driver(options);
  }();
  return *driver;
}

// The library's table, initialized once.
inline const Table& vendor_table() {
  static const bool done = [] {
    cl_platform_id const raw = simulated_driver().platform();
    const base::RecursiveMutexLock lock(vendor.mutex);
    vendor.initialized = true;
    vendor.dispatch_table = make_dispatch_table();
    vendor.next = &sim::Driver::table();
    EXPECT_TRUE(vendor.objects.begin(vendor.dispatch_table));
    vendor.platforms[0].driver = {raw, [](const char*) -> void* { return nullptr; }};
    vendor.platforms[0].platform = vendor.objects.make_root(objects::Kind::platform, raw, 0, nullptr);
    vendor.platform_count = 1;
    return true;
  }();
  EXPECT_TRUE(done);
  return vendor.dispatch_table;
}

struct VendorFixture : testing::Test {
  void SetUp() override {
    ASSERT_EQ(vendor::clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    device = cl.devices(platform).at(0);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(platform), 0};
    context = cl.own(cl.clCreateContext(properties, 1, &device, nullptr, nullptr, nullptr));
    ASSERT_TRUE(context);
    queue = cl.queue(context, device);
  }

  const kit::Api cl{vendor_table(), kit::fail_test};
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  kit::Context context;
  kit::Queue queue;
};

}  // namespace cleave::vendor
