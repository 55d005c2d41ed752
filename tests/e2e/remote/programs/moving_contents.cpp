// Contents that move between the devices of a context, back and forth, and that hardly anything but a digest of comes to the
// program.
//
//   moving_contents [--apart] BYTES...      the size of each buffer; with --apart each in a context of its own
#include <functional>
#include <string_view>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kReaders = 256;
constexpr std::size_t kRounds = 2;

const char* const kMovingSource =
    "kernel void fill(global uint* x, uint n) { size_t i = get_global_id(0); x[i] = (uint)i * 2654435761u + "
    "n; }"
    "kernel void change(global uint* x, uint n) { size_t i = get_global_id(0); x[i] = x[i] * 3u + (uint)i + "
    "n; }"
    "kernel void digest(global const uint* x, ulong items, global uint* to) {"
    "  uint sum = 2166136261u;"
    "  for (ulong i = get_global_id(0); i < items; i += get_global_size(0)) sum = (sum ^ x[i]) * 16777619u;"
    "  to[get_global_id(0)] = sum; }";

class Moving {
 public:
  void run(std::size_t bytes) const {
    const std::size_t items = bytes / sizeof(cl_uint);
    const kit::Buffer contents = cl.buffer(setup_.context, bytes, CL_MEM_READ_WRITE);
    launch(setup_.queues[0], cl.kernel(program_, "fill", contents, static_cast<cl_uint>(bytes)), items);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (const kit::Queue& queue : {std::cref(setup_.queues[1]), std::cref(setup_.queues[0])}) {
        launch(queue, cl.kernel(program_, "change", contents, static_cast<cl_uint>(round)), items);
        std::printf("%zu bytes, round %zu: %08x\n", bytes, round, digest_of(queue, contents, items));
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t digest_of(cl_command_queue queue, cl_mem contents, std::size_t items) const {
    const kit::Buffer sums = cl.buffer(setup_.context, kReaders * sizeof(cl_uint), CL_MEM_WRITE_ONLY);
    launch(queue, cl.kernel(program_, "digest", contents, static_cast<cl_ulong>(items), sums), kReaders);
    return checksum_of(queue, sums, kReaders);
  }

  Setup setup_;
  kit::Program program_ = cl.build(setup_.context, kMovingSource);
};

}  // namespace

int main(int count, char** arguments) {
  const bool apart = count > 1 && std::string_view(arguments[1]) == "--apart";
  const auto bytes = [&](int i) { return std::strtoull(arguments[i], nullptr, 10); };
  for (int i = 2; apart && i < count; ++i) Moving().run(bytes(i));
  if (apart) return 0;
  const Moving moving;
  for (int i = 1; i < count; ++i) moving.run(bytes(i));
}
