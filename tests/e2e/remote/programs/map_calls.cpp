// Maps a buffer once in each way: to be overwritten, for reading, for writing. Prints a checksum of what is there in the end.
#include "plain_program.h"

int main() {
  constexpr std::size_t kSize = 5000;
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Buffer buffer = cl.buffer(context, kSize);
  auto* const overwritten = cl.map<unsigned char>(queue, buffer, CL_MAP_WRITE_INVALIDATE_REGION, kSize);
  for (std::size_t i = 0; i < kSize; ++i) overwritten[i] = static_cast<unsigned char>(i * 7);
  check(cl.unmap(queue, buffer, overwritten));
  auto* const read = cl.map<unsigned char>(queue, buffer, CL_MAP_READ, kSize);
  require(read[1234] == static_cast<unsigned char>(1234 * 7), "what has been written is read");
  check(cl.unmap(queue, buffer, read));
  auto* const written = cl.map<unsigned char>(queue, buffer, CL_MAP_WRITE, kSize - 100, 50);
  written[5] = 1;
  check(cl.unmap(queue, buffer, written));
  check(cl.clFinish(queue));
  std::printf("%08x\n", checksum(cl.read<unsigned char>(queue, buffer, kSize)));
  return 0;
}
