// More commands than may be in flight, a few on each of many queues, before the first wait; then writes of more data than
// may be in flight. Prints what the buffer holds.
#include "plain_program.h"

namespace {

constexpr std::size_t kQueues = 160;
constexpr std::size_t kEach = 60;
constexpr std::size_t kSize = std::size_t{60} << 10U;

template <typename Enqueue>
void for_each(const std::vector<kit::Queue>& queues, Enqueue enqueue) {
  for (const kit::Queue& queue : queues) {
    for (std::size_t i = 0; i < kEach; ++i) check(enqueue(queue));
  }
  for (const kit::Queue& queue : queues) check(cl.clFinish(queue));
}

}  // namespace

int main() {
  cl_device_id const device = cl.device_of();
  const kit::Context context = cl.context(device);
  std::vector<kit::Queue> queues;
  for (std::size_t i = 0; i < kQueues; ++i) queues.push_back(cl.queue(context, device));
  const kit::Buffer buffer = cl.buffer(context, kSize);
  for_each(queues, [&](cl_command_queue queue) { return cl.fill(queue, buffer, cl_uint{0x01020304}, 16); });
  const std::vector<unsigned char> data(kSize - 64, 9);
  for_each(queues, [&](cl_command_queue queue) {
    return cl.write(queue, buffer, kit::Blocking::no, std::span(data), 64);
  });
  const auto all = cl.read<unsigned char>(queues[0], buffer, kSize);
  std::printf("%d %d %d\n", all[0], all[63], all[kSize - 1]);
  return 0;
}
