// One way to the driver: the OpenCL functions of one library, natively the loader's or Cleave's, and a
// program's objects made with them. Both ways end in the same loader and driver.
#pragma once

#include <CL/cl.h>

#include <string>
#include <vector>

#include "bench/pipelined/work.h"

namespace pipelined {

void check(cl_int error, const char* function);

class Side {
 public:
  // Opens `library` and makes everything for `work` on the first device whose platform's name contains
  // `platform`. Never gives it back: the process is short.
  Side(const std::string& library, const std::string& platform, const Work& work, bool small);

  // Milliseconds from the enqueue to the end of clFinish, the whole work once.
  double run(bool with_event);
  // A launch of next to nothing on another queue, and the wait for it, in milliseconds. From any one thread.
  double run_small();

  // A few stretches of the result.
  std::vector<cl_uint> sample();
  // "name, driver version", and what CL_CLEAVE_STATISTICS says; empty natively.
  std::string device_text();
  std::string statistics();

 private:
  template <typename Function>
  Function get(const char* name, Function) const;
  void choose_device(const std::string& platform);
  cl_kernel make_kernel(const char* source, const char* name);

  void* library_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_command_queue other_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_kernel small_ = nullptr;
  cl_mem in_ = nullptr;
  cl_mem out_ = nullptr;
  const Work& work_;
  std::size_t global_[2];
  std::size_t out_count_;

  decltype(&clEnqueueNDRangeKernel) launch_;
  decltype(&clFinish) finish_;
  decltype(&clReleaseEvent) release_event_;
};

}  // namespace pipelined
