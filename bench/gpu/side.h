// One way to the driver: the OpenCL functions of one library, the loader's (native) or Cleave's, and a program's objects. Both
// ways end in the same loader and driver. With Cleave as a vendor library both are the loader's, and the platforms differ.
#pragma once

#include <string>
#include <vector>

#include "bench/kernels/work.h"
#include "tests/kit/opencl.h"

namespace gpu {

// The device and the amount of work.
struct Target {
  std::string platform;  // part of its name; the first GPU of such platforms, else the first device
  bool wrapped = false;  // of those platforms that Cleave's vendor library makes; otherwise never one of them
  bool small = false;    // sizes for a processor, which processors have in any case
};

class Side {
 public:
  // Opens `library` and creates the objects for `work`, whose sizes are reduced to the device's memory.
  Side(const std::string& library, const Target& target, const kernels::Work& work);
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Overwrites the result, so that later contents are of the next launch.
  void clear();
  // Milliseconds from the enqueue to the end of clFinish, the whole work once.
  double run(bool with_event);
  // A tiny launch on another queue, and the wait for it. From one thread at a time.
  struct Small {
    double enqueue;  // milliseconds until the driver has taken it
    double all;      // and until it has ended
  };
  Small run_small();
  // So many of them in a row, and one wait.
  double run_stream(std::size_t count);

  // A few ranges of the result, and whether samples of them are as computed on the host.
  std::vector<cl_uint> sample();
  bool is_right(const std::vector<cl_uint>& sample) const;

  // "name, driver version", whether it is a processor, and what CL_CLEAVE_STATISTICS says; empty natively.
  std::string device_text();
  bool is_processor() const { return processor_; }
  std::string statistics();

 private:
  kernels::Grid fitting() const;
  void choose_device(const Target& target);
  void fill_input();
  void launch_small();
  void finish(cl_command_queue queue) const;
  std::size_t stretch(std::size_t number) const;  // where it begins

  kit::Buffer make_buffer(std::size_t words) const;
  kit::Kernel make_kernel(const char* source, const char* name) const;

  kit::Api cl_;
  const kernels::Work& work_;
  bool small_sizes_;
  kernels::Grid global_{};
  std::size_t out_words_ = 0;
  bool processor_ = false;
  cl_platform_id platform_ = nullptr;
  cl_device_id device_ = nullptr;
  kit::Context context_;
  kit::Queue queue_;
  kit::Queue other_;
  kit::Buffer in_;
  kit::Buffer out_;
  kit::Buffer word_;  // the small kernel's
  kit::Kernel kernel_;
  kit::Kernel small_;
};

}  // namespace gpu
