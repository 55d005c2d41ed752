// The device on which metrics are measured, with a queue and the kernels that they need. Not thread-safe, but for allocate() and
// create().
// Errors are exceptions (std::runtime_error), but where a function says otherwise.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/programs/plain_program.h"

namespace metrics {

struct Options {
  std::string platform;  // part of its name
  bool quick = false;
};

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kImpossible = kGiB << 10;  // more than any device has

// The first GPU of that platform, else its first device.
cl_device_id find_device(const std::string& platform);

class Device {
 public:
  explicit Device(const Options& options, cl_command_queue_properties properties = 0);

  // So many of them, or a twentieth of that where it has to be quick; three at least. Then kernels have a tenth of their steps, too.
  [[nodiscard]] int repeats(int count) const;

  // Enqueue only.
  void launch_empty();
  void launch_scaling(std::size_t groups, std::size_t local);
  void launch_steady(std::size_t groups, cl_uint steps);
  // Its times are profiled where the queue has that property.
  [[nodiscard]] kit::Event launch_timed(std::size_t groups, cl_uint steps);
  void finish() const { cl.check("clFinish", cl.clFinish(queue_)); }

  // A buffer of so many bytes that is on the device; empty if the driver refuses it, which some do with its first use only. From
  // any thread.
  [[nodiscard]] kit::Buffer allocate(std::size_t bytes) const;
  // As allocate(), but drivers may put off to its first use what it takes to have it.
  [[nodiscard]] kit::Buffer create(std::size_t bytes) const;
  // Pieces of 64 MiB by create(), until there are so many, or the next one is refused.
  static constexpr std::size_t kPiece = 64 * kMiB;
  [[nodiscard]] std::vector<kit::Buffer> create_pieces(std::size_t most) const;
  // A fill of so many numbers with 3, a kernel that makes 7 of them, and its end. The first error, if there is one.
  [[nodiscard]] cl_int fill_and_scale(const kit::Buffer& buffer, std::size_t items) const;
  // Whether that is right, of a buffer with at least a MiB.
  [[nodiscard]] bool usable(const kit::Buffer& buffer) const;

  // Whether the kernel that computes does so as it did at first.
  [[nodiscard]] bool is_right();

  [[nodiscard]] std::size_t units() const { return units_; }
  [[nodiscard]] std::size_t memory() const { return cl.info<cl_ulong>(id_, CL_DEVICE_GLOBAL_MEM_SIZE); }
  [[nodiscard]] cl_device_id id() const { return id_; }
  [[nodiscard]] cl_context context() const { return context_; }
  [[nodiscard]] cl_command_queue queue() const { return queue_; }
  // A kernel object of its own, with an output of its own, for another queue or thread.
  struct Steady {
    kit::Queue queue;
    kit::Buffer out;
    kit::Kernel kernel;
  };
  [[nodiscard]] Steady another(std::size_t groups, cl_uint steps) const;

 private:
  [[nodiscard]] cl_uint scaled(cl_uint steps) const { return options_.quick ? steps / 10 : steps; }
  [[nodiscard]] std::vector<float> computed();

  Options options_;
  cl_device_id id_;
  std::size_t units_ = cl.info<cl_uint>(id_, CL_DEVICE_MAX_COMPUTE_UNITS);
  kit::Context context_ = cl.context(id_);
  kit::Queue queue_;
  kit::Buffer out_;
  kit::Program program_;
  kit::Kernel empty_ = cl.kernel(program_, "nothing");
  kit::Kernel scaling_ = cl.kernel(program_, "scale", out_, cl_uint{0});
  kit::Kernel steady_ = cl.kernel(program_, "steady", out_, cl_uint{1});
  std::vector<float> first_;
};

}  // namespace metrics
