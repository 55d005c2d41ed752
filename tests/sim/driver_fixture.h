// A driver with a context and a queue, for tests of the driver: everything is released at the end, and then
// nothing may be left.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

class DriverFixture {
 public:
  explicit DriverFixture(Options options = {}, cl_command_queue_properties flags = 0)
      : driver(std::move(options)) {
    const cl_device_id device = driver.device();
    context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = make_queue(flags);
    program =
        cl.clCreateProgramWithSource(context, 1, const_cast<const char**>(&fixture_source), nullptr, nullptr);
    EXPECT_EQ(cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    driver.kernel("add", [](Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const Item& item) { data[item.global_id[0]] += e.value<cl_int>(1); });
    });
    driver.kernel("note", [](Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item(
          [&](const Item& item) { data[item.global_id[0]] = static_cast<cl_int>(item.global_id[0]); });
    });
  }

  ~DriverFixture() {
    for (const cl_event event : events_) cl.clReleaseEvent(event);
    for (const cl_kernel kernel : kernels_) cl.clReleaseKernel(kernel);
    for (const cl_mem buffer : buffers_) cl.clReleaseMemObject(buffer);
    for (const cl_command_queue each : queues_) cl.clReleaseCommandQueue(each);
    cl.clReleaseProgram(program);
    cl.clReleaseContext(context);
    driver.run_until_idle();
    EXPECT_EQ(driver.live_objects(), std::vector<std::string>{});
  }

  cl_command_queue make_queue(cl_command_queue_properties flags = 0) {
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
    return queues_.emplace_back(
        cl.clCreateCommandQueueWithProperties(context, driver.device(), properties, nullptr));
  }

  cl_kernel make_kernel(const char* name) {
    return kernels_.emplace_back(cl.clCreateKernel(program, name, nullptr));
  }

  cl_mem make_buffer(std::vector<cl_int> content) {
    return buffers_.emplace_back(cl.clCreateBuffer(context, CL_MEM_COPY_HOST_PTR,
                                                   content.size() * sizeof(cl_int), content.data(), nullptr));
  }

  // "add" with its arguments set.
  cl_kernel make_add(cl_mem buffer, cl_int n) {
    const cl_kernel kernel = make_kernel("add");
    EXPECT_EQ(cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(cl.clSetKernelArg(kernel, 1, sizeof n, &n), CL_SUCCESS);
    return kernel;
  }

  // A launch of `items` in one dimension with an event.
  cl_event launch(cl_command_queue where, cl_kernel kernel, std::size_t items = 1,
                  const std::vector<cl_event>& waits = {}) {
    cl_event event = nullptr;
    EXPECT_EQ(cl.clEnqueueNDRangeKernel(where, kernel, 1, nullptr, &items, nullptr,
                                        static_cast<cl_uint>(waits.size()),
                                        waits.empty() ? nullptr : waits.data(), &event),
              CL_SUCCESS);
    return keep(event);
  }

  cl_event keep(cl_event event) {
    if (event != nullptr) events_.push_back(event);
    return event;
  }

  cl_event user_event() { return keep(cl.clCreateUserEvent(context, nullptr)); }

  cl_int status(cl_event event) const {
    cl_int status = 1000;
    EXPECT_EQ(cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
              CL_SUCCESS);
    return status;
  }

  Nanoseconds profiled(cl_event event, cl_profiling_info which) const {
    cl_ulong time = 0;
    EXPECT_EQ(cl.clGetEventProfilingInfo(event, which, sizeof time, &time, nullptr), CL_SUCCESS);
    return Nanoseconds(time);
  }

  std::vector<cl_int> read(cl_mem buffer, std::size_t count) const {
    std::vector<cl_int> content(count);
    EXPECT_EQ(cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(cl_int), content.data(), 0,
                                     nullptr, nullptr),
              CL_SUCCESS);
    return content;
  }

  Driver driver;
  const cl_icd_dispatch& cl = Driver::table();
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;

 private:
  std::vector<cl_command_queue> queues_;
  std::vector<cl_kernel> kernels_;
  std::vector<cl_mem> buffers_;
  std::vector<cl_event> events_;
};

}  // namespace cleave::sim
