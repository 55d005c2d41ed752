// A simulated driver with Cleave on top, as a program would see it: `cl` is Cleave's table, `driver` is what
// lies below. Everything is released at the end, and then nothing may be left in the driver.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/configuration.h"
#include "interpose/calls/table.h"
#include "interpose/interposer.h"
#include "tests/sim/driver/driver.h"
#include "tests/sim/interposer/prelude_view.h"

namespace cleave {

// Kernels by what their source allows. Bodies are given by the scene; each adds to what is there, so that a
// work-item that runs twice shows.
inline constexpr const char* kSplittable = R"(
  kernel void add(global int* data, int n) { data[get_global_id(0)] += n; }
  kernel void sum(global int* data, int n) { data[get_global_id(0)] += n; }
  __attribute__((reqd_work_group_size(16, 1, 1)))
  kernel void fixed(global int* data, int n) { data[get_global_id(0)] += n; }
)";
inline constexpr const char* kUsesGroupId =
    "kernel void seer(global int* data, int n) { data[get_group_id(0)] += n; }";
inline constexpr const char* kUsesAtomics =
    "kernel void talker(global int* data, int n) { atomic_add(&data[get_global_id(0)], n); }";

// Five VMs and α 4: twenty slices, on the program's queue. The device could hold all groups of a scene's
// launch at once, so the rules for small launches are replaced: by its number of cores.
inline base::Settings default_settings() {
  base::Settings settings;
  settings.vms = 5;
  settings.min_items = 128;
  settings.launch = base::LaunchMode::queued;
  return settings;
}

inline sim::Options default_driver() {
  sim::Options options;
  options.compute_units = 2;  // 128 cores, reckoned
  options.suggested_local_size = false;
  return options;
}

class InterposerFixture {
 public:
  static constexpr std::size_t kItems = 4096;

  explicit InterposerFixture(const base::Settings& settings = default_settings(),
                             const sim::Options& options = default_driver(),
                             cl_command_queue_properties properties = 0,
                             const Table& below = sim::Driver::table())
      : driver(options), cl(*install(settings, below)) {
    const cl_device_id device = driver.device();
    context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = make_queue(properties);
    buffer = make_buffer();
    for (const char* name : {"add", "sum", "fixed", "seer", "talker"}) driver.kernel(name, add_body);
    driver.kernel("cleave_probe", probe_body);
  }
  InterposerFixture(const InterposerFixture&) = delete;
  InterposerFixture& operator=(const InterposerFixture&) = delete;

  ~InterposerFixture() {
    driver.run_until_idle();
    for (const auto& release : releases_) release();
    cl.clReleaseContext(context);
    driver.run_until_idle();
    EXPECT_EQ(driver.live_objects(), std::vector<std::string>{}) << "leaked";
    EXPECT_FALSE(driver.hung());
    interpose::uninstall();
  }

  cl_command_queue make_queue(cl_command_queue_properties properties = 0) {
    cl_command_queue made = cl.clCreateCommandQueue(context, driver.device(), properties, nullptr);
    releases_.emplace_back([this, made] { cl.clReleaseCommandQueue(made); });
    return made;
  }

  cl_mem make_buffer() {
    std::vector<cl_int> zeros(kItems, 0);
    cl_mem made =
        cl.clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, kItems * sizeof(cl_int), zeros.data(), nullptr);
    releases_.emplace_back([this, made] { cl.clReleaseMemObject(made); });
    return made;
  }

  cl_program make_program(const char* source, const char* options = "") {
    cl_program made = cl.clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    EXPECT_EQ(cl.clBuildProgram(made, 0, nullptr, options, nullptr, nullptr), CL_SUCCESS);
    return keep(made);
  }

  cl_program keep(cl_program program) {
    releases_.emplace_back([this, program] { cl.clReleaseProgram(program); });
    return program;
  }

  // A kernel of that name with its arguments set: the scene's buffer, and 1.
  cl_kernel make_kernel(cl_program program, const char* name) {
    cl_kernel made = cl.clCreateKernel(program, name, nullptr);
    EXPECT_NE(made, nullptr);
    releases_.emplace_back([this, made] { cl.clReleaseKernel(made); });
    return with_arguments(made);
  }
  cl_kernel make_kernel(const char* source = kSplittable, const char* name = "add") {
    return make_kernel(make_program(source), name);
  }
  cl_kernel with_arguments(cl_kernel kernel) const {
    const cl_int one = 1;
    EXPECT_EQ(cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(cl.clSetKernelArg(kernel, 1, sizeof one, &one), CL_SUCCESS);
    return kernel;
  }

  // 4096 items in groups of 16, without wait list.
  cl_int launch(cl_kernel kernel, cl_event* event = nullptr, const std::vector<cl_event>& waits = {}) const {
    return launch_on(queue, kernel, event, waits);
  }
  cl_int launch_on(cl_command_queue where, cl_kernel kernel, cl_event* event = nullptr,
                   const std::vector<cl_event>& waits = {}) const {
    const std::size_t global = kItems;
    const std::size_t local = 16;
    return cl.clEnqueueNDRangeKernel(where, kernel, 1, nullptr, &global, &local,
                                     static_cast<cl_uint>(waits.size()),
                                     waits.empty() ? nullptr : waits.data(), event);
  }

  cl_event user_event() {
    cl_event made = cl.clCreateUserEvent(context, nullptr);
    releases_.emplace_back([this, made] { cl.clReleaseEvent(made); });
    return made;
  }

  std::vector<cl_int> read() const {
    std::vector<cl_int> content(kItems);
    EXPECT_EQ(cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kItems * sizeof(cl_int), content.data(), 0,
                                     nullptr, nullptr),
              CL_SUCCESS);
    return content;
  }

  // Every item of every launch so far has run exactly `times`.
  void expect_each_item_ran(cl_int times) const {
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    EXPECT_EQ(read(), std::vector<cl_int>(kItems, times));
  }

  cl_int status(cl_event event) const {
    cl_int status = 1000;
    EXPECT_EQ(cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
              CL_SUCCESS);
    return status;
  }

  static observe::KernelStatistics statistics() {
    observe::KernelStatistics total;
    for (const auto& kernel : interpose::interposer().counters.all()) total += kernel.statistics;
    return total;
  }
  static std::uint64_t unsplit(plan::UnsplitReason why) {
    return statistics().unsplit[static_cast<std::size_t>(why)];
  }

  sim::Driver driver;
  const Table& cl;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;

 private:
  const Table* install(const base::Settings& settings, const Table& below) {
    base::Configuration configuration;
    configuration.settings = settings;
    return interpose::install(below, {"drop-in", "the simulated driver"}, std::move(configuration),
                              driver.clock());
  }

  static void add_body(sim::Execution& e) {
    const auto data = e.buffer<cl_int>(0);
    const auto n = e.value<cl_int>(1);
    e.for_each_item([&](const sim::Item& item) { data[item.global_id[0]] += n; });
  }

  std::vector<std::function<void()>> releases_;
};

}  // namespace cleave
