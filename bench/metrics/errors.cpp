// What becomes of errors: IS-010, and ERR-001 to ERR-003.
#include "bench/metrics/metrics.h"
#include "tests/kit/timing.h"

namespace metrics {
namespace {

constexpr int kErrors = 20;

// Memory that no device has is refused, and memory that it has is usable afterwards.
bool recovers(Device& device, std::size_t bytes) {
  return !device.allocate(kImpossible) && device.usable(device.create(bytes));
}

// IS-010: 1 if the program can go on after an error.
Values fault_isolation(Device& device) { return {recovers(device, kMiB) ? 1.0 : 0.0}; }

// ERR-001: the refusal of a TiB, in microseconds.
Values detection(Device& device) {
  Values values;
  for (int i = 0; i < kErrors; ++i) {
    kit::Buffer made;
    values.push_back(kit::duration_of<std::micro>([&] { made = device.allocate(kImpossible); }));
    if (made) throw std::runtime_error("a TiB was not refused");
  }
  return values;
}

// ERR-002: after such an error, 16 MiB, their fill, a kernel over them and its end, in microseconds.
Values recovery(Device& device) {
  Values values;
  for (int i = 0; i < kErrors; ++i) {
    if (device.allocate(kImpossible)) throw std::runtime_error("a TiB was not refused");
    values.push_back(kit::duration_of<std::micro>([&] {
      const kit::Buffer made = device.create(16 * kMiB);
      cl.check("clEnqueueFillBuffer", device.fill_and_scale(made, 16 * kMiB / sizeof(float)));
    }));
  }
  return values;
}

// As far as memory goes, within 256 pieces. Whether it came to an end.
bool exhausts(Device& device) {
  constexpr std::size_t most = 256;
  return device.create_pieces(most).size() < most;
}

bool works_under_pressure(Device& device) {
  const std::size_t most = device.memory() / 10 * 8 / Device::kPiece;
  const std::vector<kit::Buffer> held = device.create_pieces(most);
  return held.size() == most && device.usable(device.create(4 * kMiB));
}

bool recovers_five_times(Device& device) {
  int times = 0;
  for (int i = 0; i < 5; ++i) times += recovers(device, kMiB) ? 1 : 0;
  return times == 5;
}

bool leaves_other_queues_alone(Device& device) {
  const Device::Steady one = device.another(device.units(), 10);
  const Device::Steady other = device.another(device.units(), 10);
  const auto launch = [&](const Device::Steady& on) {
    return cl.launch(on.queue, on.kernel, {device.units() * 256, std::size_t{256}}) == CL_SUCCESS;
  };
  const bool launched = launch(one) && !device.allocate(kImpossible) && launch(other);
  return launched && cl.clFinish(one.queue) == CL_SUCCESS && cl.clFinish(other.queue) == CL_SUCCESS &&
         cl.read<float>(one.queue, one.out, device.units() * 256) ==
             cl.read<float>(other.queue, other.out, device.units() * 256);
}

// ERR-003: how many of five tests it passes, in per cent.
Values degradation(Device& device) {
  int passed = exhausts(device) ? 1 : 0;
  passed += exhausts(device) && device.usable(device.create(16 * kMiB)) ? 1 : 0;
  passed += works_under_pressure(device) ? 1 : 0;
  passed += recovers_five_times(device) ? 1 : 0;
  passed += leaves_other_queues_alone(device) ? 1 : 0;
  return {100.0 * passed / 5};
}

}  // namespace

const std::vector<Metric>& errors() {
  static const std::vector<Metric> metrics = {
      {"IS-010", fault_isolation}, {"ERR-001", detection}, {"ERR-002", recovery}, {"ERR-003", degradation}};
  return metrics;
}

}  // namespace metrics
