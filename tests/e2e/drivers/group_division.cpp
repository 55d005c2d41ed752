// Whether the prelude as NVIDIA's compiler reads it, which divides to find a slice's work-groups (kernels/prelude/prelude.cpp), counts them as
// the whole launch would, on whichever driver this runs.
//
//   group_division [PLATFORM-SUBSTRING]
//
// Launches some slices of each launch, with their tags. Prints how many launches were right, and each that was not; the exit
// status is 0 if all were.
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/prelude/prelude.h"
#include "plan/cut.h"
#include "plan/tag.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

using cleave::plan::Cut;
using cleave::plan::NDRange;
using cleave::plan::Slice;
using cleave::plan::Tag;

// Only NVIDIA's compiler reads the offset of the third dimension as it is.
constexpr std::string_view kOffset = "get_global_offset(2)\n";
constexpr const char* kOnAnyDriver = "get_global_id(2) - get_local_id(2)\n";
constexpr const char* kCompiler = "#if !defined(__NV_CL_C_VERSION)\n#define __NV_CL_C_VERSION\n#endif\n";
constexpr const char* kSource = R"(
kernel void ids(global ulong* out, ulong first, ulong row, ulong width) {
  out[(get_global_id(1) - row) * width + get_global_id(0) - first] = get_group_id(1) << 32 | get_group_id(0);
})";
// The number of groups from which on they are divided as integers, and around it.
constexpr std::size_t kGroups[] = {8192, 262'143, (1U << 20U) - 1, 1U << 20U, 2'000'000};
constexpr std::size_t kLocal[] = {1, 2, 3, 7, 31, 64, 100, 127, 255, 256, 641, 1000, 1021, 1024};
constexpr std::size_t kSlices = 9;  // of each launch

std::string source() {
  std::string prelude(cleave::kernels::prelude());
  const std::size_t tag = prelude.find(kOffset);
  if (tag == std::string::npos) throw std::runtime_error("the prelude reads its tag in another way");
  prelude.replace(tag, kOffset.size(), kOnAnyDriver);
  return kCompiler + prelude + kSource;
}

class Device {
 public:
  explicit Device(const std::string& platform) : id_(cl_.device_of(platform)) {
    if (id_ == nullptr) throw std::runtime_error("no device on a platform named like that");
  }

  [[nodiscard]] std::size_t largest_group() const {
    return cl_.info<std::size_t>(id_, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  }

  // The group ids that the work-items of the slice see.
  std::vector<cl_ulong> launch(const Tag& tag, const NDRange& range, const Slice& slice) {
    std::vector<cl_ulong> ids(slice.global[0] * slice.global[1]);
    const kit::Buffer out = cl_.buffer(context_, ids.size() * sizeof(cl_ulong));
    cl_.check("clSetKernelArg", cl_.set_arguments(kernel_, out, cl_ulong{slice.offset[0]},
                                                  cl_ulong{slice.offset[1]}, cl_ulong{slice.global[0]}));
    const kit::Range box({slice.global[0], slice.global[1], 1}, {range.local[0], range.local[1], 1},
                         {slice.offset[0], slice.offset[1], tag.offset(slice)});
    cl_.check("clEnqueueNDRangeKernel", cl_.launch(queue_, kernel_, box));
    cl_.check("clEnqueueReadBuffer", cl_.read(queue_, out, kit::Blocking::yes, std::span(ids)));
    return ids;
  }

 private:
  const kit::Api cl_{kit::linked_table(), kit::throw_error};
  const cl_device_id id_;
  const kit::Context context_ = cl_.context(id_);
  const kit::Queue queue_ = cl_.queue(context_, id_);
  const kit::Program program_ =
      cl_.build(context_, source(), std::string(cleave::kernels::kPreludeOption).c_str());
  const kit::Kernel kernel_ = cl_.kernel(program_, "ids");
};

bool is_right(const std::vector<cl_ulong>& ids, const NDRange& range, const Slice& slice) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t x = slice.offset[0] + i % slice.global[0];
    const std::size_t y = slice.offset[1] + i / slice.global[0];
    if (ids[i] != (cl_ulong{y / range.local[1]} << 32U | x / range.local[0])) return false;
  }
  return true;
}

struct Counts {
  unsigned right = 0;
  unsigned wrong = 0;
};

// Of the slices of one or two groups each: the first, the last, and some between them.
void check(Device& device, const NDRange& range, Counts& counts) {
  const Cut cut(range, range.total_groups() / 2 + 1);
  const std::optional<Tag> tag = Tag::of(range, cut);
  if (!tag) throw std::runtime_error("a launch that cannot carry a tag");
  bool right = true;
  for (std::size_t i = 0; i < kSlices; ++i) {
    const Slice slice = cut.slice((cut.count() - 1) * i / (kSlices - 1));
    right &= is_right(device.launch(*tag, range, slice), range, slice);
  }
  ++(right ? counts.right : counts.wrong);
  if (!right)
    std::printf("wrong: %zu×%zu groups of %zu×%zu\n", range.groups(0), range.groups(1), range.local[0],
                range.local[1]);
}

NDRange launch_of(std::size_t columns, std::size_t rows, std::size_t local_x, std::size_t local_y) {
  return {.dims = rows > 1 ? 2U : 1U,
          .offset = {0, 0, 0},
          .global = {columns * local_x, rows * local_y, 1},
          .local = {local_x, local_y, 1}};
}

}  // namespace

int main(int argc, char** argv) try {
  Device device(argc > 1 ? argv[1] : "");
  Counts counts;
  for (const std::size_t local : kLocal) {
    if (local > device.largest_group()) continue;
    for (const std::size_t groups : kGroups) check(device, launch_of(groups, 1, local, 1), counts);
  }
  for (const std::size_t rows : {100, 8191}) check(device, launch_of(8191, rows, 12, 5), counts);
  std::printf("%u launches right, %u wrong\n", counts.right, counts.wrong);
  return counts.wrong == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
