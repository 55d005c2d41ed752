// Programs release devices, contexts, programs, kernels, events and queues as soon as something else holds them. A driver may
// have freed them by then, so Cleave calls nothing on them any more: the simulated driver notes who does, and the
// fixture's end looks at it.

#include <functional>
#include <string>

#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

// A way to run Cleave: everything that makes calls of its own.
struct Way {
  std::string name;
  std::function<void(base::Settings&, const std::string& folder)> apply;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> kAll = {
      {"Splitting", [](base::Settings&, const std::string&) {}},
      {"Unsplit", [](base::Settings& settings, const std::string&) { settings.vms = 1; }},
      {"Pipelined",
       [](base::Settings& settings, const std::string&) { settings.launch = base::LaunchMode::pipelined; }},
      {"SleepingWaits",
       [](base::Settings& settings, const std::string&) { settings.wait = base::WaitMode::sleeping; }},
      {"Traced",
       [](base::Settings& settings, const std::string& folder) { settings.trace = folder + "/trace"; }},
      {"PipelinedAndTraced",
       [](base::Settings& settings, const std::string& folder) {
         settings.launch = base::LaunchMode::pipelined;
         settings.trace = folder + "/trace";
         settings.stats = folder + "/stats";
         settings.explain = true;
       }},
      {"InTurns",
       [](base::Settings& settings, const std::string& folder) {
         settings = in_turns(folder, base::TurnMode::on, settings);
       }},
      {"MemoryLimited", [](base::Settings& settings,
                           const std::string&) { settings.limits.memory = std::uint64_t{1} << 30U; }},
  };
  return kAll;
}

// What the program releases as early as it may.
struct Early {
  bool sub_device = false;  // the device is one
  bool before_build = false;
  bool context = false;  // once there is all that is made of it
  bool profiling = false;
  bool local_size = true;  // launches name one
  bool prelude = false;    // the kernel needs it
};

class ReleasedHandles : public testing::TestWithParam<std::size_t> {
 protected:
  static sim::Options driver_options() {
    sim::Options options = concurrent_driver();
    options.compute_units = 8;
    options.extensions += " cl_khr_create_command_queue";
    return options;
  }

  // A program's life; what is left is released before the fixture ends.
  static void run(const Early& early) {
    const kit::TemporaryFolder folder;
    base::Settings settings = default_settings();
    ways()[GetParam()].apply(settings, folder.path());
    InterposerFixture fixture(settings, driver_options());
    const kit::Api& cl = fixture.cl;
    cl_device_id device = fixture.device;
    if (early.sub_device) {
      const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 4, 0};
      cl_device_id both[2] = {};
      ASSERT_EQ(cl.clCreateSubDevices(device, halves, 2, both, nullptr), CL_SUCCESS);
      cl.clReleaseDevice(both[1]);
      device = both[0];
    }
    const auto release_device = [&] {
      if (early.sub_device) {
        EXPECT_EQ(cl.clReleaseDevice(device), CL_SUCCESS);
      }
    };
    cl_context const context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    cl_command_queue const queue =
        cl.clCreateCommandQueue(context, device, early.profiling ? CL_QUEUE_PROFILING_ENABLE : 0, nullptr);
    if (early.before_build) release_device();
    const char* text = early.prelude ? kUsesGroupId : kSplittable;
    cl_program const program = cl.clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
    ASSERT_EQ(cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    if (!early.before_build) release_device();
    cl_kernel const kernel = cl.clCreateKernel(program, early.prelude ? "reads_group_id" : "add", nullptr);
    cl_mem const buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE,
                                            InterposerFixture::kItems * sizeof(cl_int), nullptr, nullptr);
    if (early.context) cl.clReleaseContext(context);
    cl.clReleaseProgram(program);
    const cl_int one = 1;
    cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    cl.clSetKernelArg(kernel, 1, sizeof one, &one);
    const std::size_t global = InterposerFixture::kItems;
    const std::size_t local = 16;
    const auto launch = [&](cl_event* event) {
      return cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global,
                                       early.local_size ? &local : nullptr, 0, nullptr, event);
    };
    cl_event event = nullptr;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(launch(&event), CL_SUCCESS);
      cl.clReleaseEvent(event);
    }
    ASSERT_EQ(launch(&event), CL_SUCCESS);
    EXPECT_EQ(cl.clWaitForEvents(1, &event), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    ASSERT_EQ(launch(nullptr), CL_SUCCESS);
    // Everything while the last launch is in flight.
    cl.clReleaseKernel(kernel);
    cl.clReleaseMemObject(buffer);
    cl.clReleaseCommandQueue(queue);
    EXPECT_EQ(cl.clWaitForEvents(1, &event), CL_SUCCESS) << "its queue is gone";
    cl.clReleaseEvent(event);
    if (!early.context) cl.clReleaseContext(context);
    fixture.driver.run_until_idle();
    interpose::interposer().write_summary();
    interpose::at_exit();
  }
};

TEST_P(ReleasedHandles, OfSubDevicesAreNotCalled) {
  for (const bool before_build : {false, true}) {
    for (const bool profiling : {false, true})
      run({.sub_device = true, .before_build = before_build, .profiling = profiling});
  }
}

TEST_P(ReleasedHandles, OfPartsThatAreDividedFurtherAreNotCalled) {
  const kit::TemporaryFolder folder;
  base::Settings settings = default_settings();
  ways()[GetParam()].apply(settings, folder.path());
  const InterposerFixture fixture(settings, driver_options());
  const kit::Api& cl = fixture.cl;
  cl_device_id part = fixture.device;
  for (const cl_uint units : {4U, 2U, 1U}) {
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
    cl_device_id both[2] = {};
    ASSERT_EQ(cl.clCreateSubDevices(part, equally, 2, both, nullptr), CL_SUCCESS);
    EXPECT_EQ(cl.clReleaseDevice(both[1]), CL_SUCCESS);
    if (part != fixture.device) {
      EXPECT_EQ(cl.clReleaseDevice(part), CL_SUCCESS);
    }
    part = both[0];
  }
  EXPECT_EQ(cl.clReleaseDevice(part), CL_SUCCESS);
}

TEST_P(ReleasedHandles, OfSubDevicesAreNotCalledForAnOpenLocalSizeOrThePrelude) {
  for (const bool before_build : {false, true}) {
    run({.sub_device = true, .before_build = before_build, .local_size = false});
    run({.sub_device = true, .before_build = before_build, .prelude = true});
  }
}

TEST_P(ReleasedHandles, OfContextsAreNotCalled) {
  for (const bool sub_device : {false, true}) {
    run({.sub_device = sub_device, .context = true});
    run({.sub_device = sub_device, .context = true, .profiling = true, .local_size = false});
    run({.sub_device = sub_device, .context = true, .prelude = true});
  }
}

TEST_P(ReleasedHandles, OfQueuesProgramsKernelsAndEventsAreNotCalled) {
  run({});
  run({.profiling = true});
  run({.local_size = false, .prelude = true});
}

INSTANTIATE_TEST_SUITE_P(In, ReleasedHandles, testing::Range(std::size_t{0}, ways().size()),
                         [](const auto& info) { return ways()[info.param].name; });

TEST(DeviceFacts, AreAskedOnceForAllQueues) {
  InterposerFixture fixture;
  fixture.driver.forget();
  for (int i = 0; i < 10; ++i) fixture.cl.queue(fixture.context, fixture.device).reset();
  EXPECT_EQ(fixture.driver.count("clGetDeviceInfo"), 0U);
  EXPECT_EQ(fixture.driver.count("clGetPlatformInfo"), 0U);
}

TEST(DeviceFacts, AreAskedAnewForANewSubDevice) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::compute_units, 8U));
  const auto cores_of = [&](cl_device_partition_property units) {
    const cl_device_partition_property shares[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
    cl_device_id parts[8] = {};
    EXPECT_EQ(fixture.cl.clCreateSubDevices(fixture.device, shares, 8, parts, nullptr), CL_SUCCESS);
    const auto cores = interpose::interposer().devices.of(parts[0])->plan.cores;
    for (std::size_t i = 0; i < 8U / static_cast<std::size_t>(units); ++i)
      fixture.cl.clReleaseDevice(parts[i]);
    return cores;
  };
  EXPECT_EQ(cores_of(4), 4 * cores_of(1));
}

}  // namespace
}  // namespace cleave
