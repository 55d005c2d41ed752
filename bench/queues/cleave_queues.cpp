// Slices on several queues, enqueued without Cleave: what each part of a pipelined launch costs on a device.
// src/launch/pipeline.h and src/plan/mode.cpp depend on these figures.
//
//   cleave_queues PLATFORM-SUBSTRING [REPEATS]
//
// Each work is cut into equal bands of rows, and launched unsplit and in slices in turn. Prints the medians from the first
// enqueue to the end of clFinish, in milliseconds, and their ratio, for each way to start and end a launch, and for more queues
// than fill the device. Sizes are those of bench/kernels for a GPU.
#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/kernels/input.h"
#include "bench/kernels/work.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace {

constexpr std::size_t kMaxQueues = 6;

enum class Begin { marker, nothing };
enum class End { slice, group, marker };

struct Way {
  const char* name;
  Begin begin;
  End end;
  std::size_t more_queues;
};

constexpr Way kWays[] = {
    {"behind a marker, the last slice behind all", Begin::marker, End::slice, 0},
    {"waits for nothing before", Begin::nothing, End::slice, 0},
    {"one work-group behind all", Begin::marker, End::group, 0},
    {"a marker behind all", Begin::marker, End::marker, 0},
    {"the first, on one queue more", Begin::marker, End::slice, 1},
    {"the first, on two queues more", Begin::marker, End::slice, 2},
};

const kit::Api cl(kit::linked_table(), kit::throw_error);

void finish(cl_command_queue queue) { cl.check("clFinish", cl.clFinish(queue)); }

// The device with its queues.
struct Device {
  explicit Device(const std::string& platform) : id(cl.device_of(platform)) {
    if (id == nullptr) throw std::runtime_error("no device on a platform named like \"" + platform + '"');
    context = cl.context(id);
    for (kit::Queue& queue : queues) queue = cl.queue(context, id);
    units = cl.info<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  }

  cl_device_id id;
  kit::Context context;
  std::array<kit::Queue, kMaxQueues> queues;
  cl_uint units = 0;
};

// A kernel that needs no prelude to be cut.
std::string without_groups(std::string source) {
  const std::string group = "get_group_id(0)";
  for (std::size_t at = source.find(group); at != std::string::npos; at = source.find(group))
    source.replace(at, group.size(), "(get_global_id(0) / get_local_size(0))");
  return source;
}

class Launches {
 public:
  Launches(const Device& device, const kernels::Work& work)
      : device_(device),
        work_(work),
        in_(cl.buffer(device.context, work.in_words(work.global) * sizeof(cl_uint))),
        out_(cl.buffer(device.context, work.out_words(work.global) * sizeof(cl_uint))),
        program_(cl.build(device.context, without_groups(work.source))),
        kernel_(cl.kernel(program_, "work", in_, out_, static_cast<cl_uint>(work.global.x))) {
    fill();
  }

  // Groups in the dimension that is cut.
  [[nodiscard]] std::size_t bands() const {
    return work_.dims == 1 ? work_.global.x / work_.local.x : work_.global.y / work_.local.y;
  }

  // As many as fill the device with slices like these: one that starts, and those that occupy it.
  [[nodiscard]] std::size_t queues_to_fill(std::size_t slices) const {
    constexpr std::size_t kThreads = 2048;
    constexpr std::size_t kGroups = 32;
    const std::size_t group = work_.local.x * (work_.dims == 1 ? 1 : work_.local.y);
    const std::size_t resident = device_.units * std::min(kThreads / group, kGroups);
    const std::size_t across = work_.dims == 1 ? 1 : work_.global.x / work_.local.x;
    const std::size_t in_a_slice = std::max<std::size_t>(1, bands() * across / slices);
    return std::clamp<std::size_t>(1 + (resident + in_a_slice - 1) / in_a_slice, 2, kMaxQueues);
  }

  double whole() {
    return kit::duration_of<std::milli>([&] {
      enqueue(0, 0, bands());
      finish(device_.queues[0]);
    });
  }

  double cut(std::size_t slices, std::size_t queues, const Way& way) {
    std::vector<kit::Event> made;
    return kit::duration_of<std::milli>([&] {
      deal(slices, queues, way, made);
      finish(device_.queues[0]);
    });
  }

 private:
  void fill() {
    constexpr std::size_t kRow = 65536;
    const std::size_t words = work_.in_words(work_.global);
    const std::size_t columns = words % kRow == 0 ? kRow : words;
    const kit::Program program = cl.build(device_.context, kernels::kFill);
    const kit::Kernel kernel =
        cl.kernel(program, "fill", in_, cl_uint{work_.floats ? 1U : 0U}, static_cast<cl_uint>(columns));
    cl.check("clEnqueueNDRangeKernel",
             cl.launch(device_.queues[0], kernel, kit::Sizes(columns, words / columns)));
    finish(device_.queues[0]);
  }

  void enqueue(std::size_t queue, std::size_t from, std::size_t to, const kit::Waits& waits = {},
               cl_event* event = nullptr) const {
    kit::Range range(kit::Sizes(work_.global.x, work_.global.y), kit::Sizes(work_.local.x, work_.local.y),
                     kit::Sizes(0, 0));
    const unsigned d = work_.dims - 1;
    range.global.dims = work_.dims;
    range.offset.values.at(d) = from * range.local.values.at(d);
    range.global.values.at(d) = (to - from) * range.local.values.at(d);
    cl.check("clEnqueueNDRangeKernel", cl.launch(device_.queues[queue], kernel_, range, waits, event));
  }

  // The slices in turn over the queues, and the end on the first one behind all of them. The events go to `made`.
  void deal(std::size_t slices, std::size_t queues, const Way& way, std::vector<kit::Event>& made) const {
    const kit::Waits nothing;
    kit::Waits gate;
    if (way.begin == Begin::marker) {
      made.push_back(cl.marker_event(device_.queues[0]));
      gate = {made.back()};
      cl.clFlush(device_.queues[0]);
    }
    const std::size_t dealt = way.end == End::slice ? slices - 1 : slices;
    const std::size_t all = way.end == End::group ? bands() - 1 : bands();
    kit::Waits newest;
    for (std::size_t i = 0; i < dealt; ++i) {
      const std::size_t queue = i % queues;
      const bool waits = queue != 0 && i < queues;
      const bool last_there = queue != 0 && i + queues >= dealt;
      kit::Event event = cl.event();
      enqueue(queue, all * i / slices, all * (i + 1) / slices, waits ? gate : nothing,
              last_there ? event.out() : nullptr);
      if (last_there) newest.push_back(made.emplace_back(std::move(event)));
      if (i + 1 == queues)
        for (std::size_t q = 0; q < queues; ++q) cl.clFlush(device_.queues[q]);
    }
    for (std::size_t q = 1; q < queues; ++q) cl.clFlush(device_.queues[q]);
    if (way.end == End::marker) {
      cl.check("clEnqueueMarkerWithWaitList", cl.marker(device_.queues[0], newest));
    } else {
      enqueue(0, way.end == End::slice ? all * dealt / slices : all, bands(), newest);
    }
  }

  const Device& device_;
  const kernels::Work& work_;
  kit::Buffer in_;
  kit::Buffer out_;
  kit::Program program_;
  kit::Kernel kernel_;
};

void measure(const Device& device, const kernels::Work& work, std::size_t repeats) {
  Launches launches(device, work);
  launches.whole();
  for (const std::size_t slices : {20, 100, 320}) {
    if (slices >= launches.bands()) continue;
    for (const Way& way : kWays) {
      const std::size_t queues = std::min(kMaxQueues, launches.queues_to_fill(slices) + way.more_queues);
      std::vector<double> whole;
      std::vector<double> cut;
      launches.cut(slices, queues, way);
      for (std::size_t i = 0; i < repeats; ++i) {
        whole.push_back(launches.whole());
        cut.push_back(launches.cut(slices, queues, way));
      }
      std::printf("%-14s %4zu slices %zu queues  %-44s whole %8.3f  cut %8.3f  ratio %.4f\n",
                  work.name.data(), slices, queues, way.name, kit::median(whole), kit::median(cut),
                  kit::median(cut) / kit::median(whole));
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 2) throw std::runtime_error("usage: cleave_queues PLATFORM-SUBSTRING [REPEATS]");
  const Device device(arguments[1]);
  const std::size_t repeats = count > 2 ? std::stoul(arguments[2]) : 7;
  for (const kernels::Work* work :
       {&kernels::kProduct, &kernels::kStencil, &kernels::kMandelbrot, &kernels::kReduction})
    measure(device, *work, repeats);
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "cleave_queues: %s\n", failure.what());
  return 1;
}
