// Threads that write to one buffer on different devices, more than may be in flight: their commands wait for each other's
// transfers of the buffer between servers. All write the same data, so that the order does not matter. Prints what is the
// same with one device.
#include "multi_server_setup.h"
#include "tests/kit/threads.h"

namespace {

constexpr std::size_t kThreads = 8;
// A server allows 128 MiB in flight, which half of the threads share.
constexpr std::size_t kItems = std::size_t{4} << 20U;
constexpr std::size_t kWritesEach = 8;
// No write covers the whole buffer, which would not depend on its contents.
constexpr std::size_t kMore = 16;

void write(const Setup& setup, cl_mem buffer, const std::vector<cl_uint>& data, std::size_t number) {
  const kit::Queue queue = setup.queue(number);
  for (std::size_t i = 0; i < kWritesEach; ++i)
    check(cl.write(queue, buffer, kit::Blocking::no, std::span(data)));
  check(cl.clFinish(queue));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Setup setup;
  const kit::Buffer buffer = setup.buffer(kItems + kMore);
  const std::vector<cl_uint> data(kItems, 7);
  kit::on_threads(kThreads, [&](std::size_t number) { write(setup, buffer, data, number); });
  std::printf("threads %08x\n", checksum_of(setup.queues[0], buffer, kItems + kMore));
  return 0;
}
