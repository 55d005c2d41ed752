// The work for narrow links: products of matrices, and an image that goes through three filters. Data is sent, computed with,
// brought back and compared with the same computation here. Prints one line of JSON, seconds for each.
//
//   narrow_link_work CONTENTS REPEATS SIDE...      CONTENTS: numbers (compressible), noise (not); SIDE: of the matrices
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace {

using kit::Blocking;

constexpr const char* kSource =
    "kernel void product(int n, global const float* a, global const float* b, global float* c) {\n"
    "  int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];\n"
    "  c[y * n + x] = sum; }\n"
    "kernel void blur(int n, global const uchar* in, global uchar* out) {\n"
    "  int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
    "  for (int j = -1; j <= 1; ++j) for (int i = -1; i <= 1; ++i)\n"
    "    sum += in[clamp(y + j, 0, n - 1) * n + clamp(x + i, 0, n - 1)];\n"
    "  out[y * n + x] = sum / 9; }\n"
    "kernel void quantise(int n, global const uchar* in, global uchar* out) {\n"
    "  int i = get_global_id(1) * n + get_global_id(0); out[i] = in[i] / 16 * 16; }\n";

[[noreturn]] void end_program(const char* call, cl_int error, const kit::Where& /*where*/) {
  std::fprintf(stderr, "%s: error %d\n", call, error);
  std::exit(2);
}

const kit::Api cl(kit::linked_table(), end_program);

std::uint32_t next_random() {
  static std::uint32_t state = 1;
  return state = state * 1664525U + 1013904223U;
}

// Of whole numbers from 0 to 15, or of any bits that are a number near 1.
std::vector<float> matrix(std::size_t side, bool noise) {
  std::vector<float> all(side * side);
  for (float& one : all) {
    const std::uint32_t bits = next_random() >> 8U;
    one = noise ? 1.0F + static_cast<float>(bits) * 0x1p-24F : static_cast<float>(bits >> 20U);
  }
  return all;
}

// Smooth as a photograph's sky, or noise.
std::vector<std::uint8_t> image(std::size_t side, bool noise) {
  std::vector<std::uint8_t> all(side * side);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::uint8_t>(noise ? next_random() >> 24U : (i / side + i % side) / 8);
  return all;
}

struct Device {
  cl_device_id id = cl.device_of("");
  kit::Context context = cl.context(id);
  kit::Queue queue = cl.queue(context, id);
  kit::Program program = cl.build(context, kSource);
};

double measure_product(const Device& device, std::size_t side, bool noise) {
  const auto a = matrix(side, noise);
  const auto b = matrix(side, noise);
  std::vector<float> c(side * side);
  const std::size_t bytes = side * side * sizeof(float);
  const kit::Buffer buffers[] = {cl.buffer(device.context, bytes), cl.buffer(device.context, bytes),
                                 cl.buffer(device.context, bytes)};
  const kit::Kernel kernel =
      cl.kernel(device.program, "product", static_cast<cl_int>(side), buffers[0], buffers[1], buffers[2]);
  const double seconds = kit::duration_of([&] {
    cl.check("write", cl.write(device.queue, buffers[0], Blocking::no, std::span(a)));
    cl.check("write", cl.write(device.queue, buffers[1], Blocking::no, std::span(b)));
    cl.check("launch", cl.launch(device.queue, kernel, kit::Sizes(side, side)));
    cl.check("read", cl.read(device.queue, buffers[2], Blocking::yes, std::span(c)));
  });
  // One row and one column tell of all that was sent; each product is a sum in the same order.
  for (std::size_t i = 0; i < side; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < side; ++k)
      sum += static_cast<double>(a[i * side + k]) * b[k * side + (i * 7) % side];
    const double difference = sum - static_cast<double>(c[i * side + (i * 7) % side]);
    if (difference > 1e-4 * sum || -difference > 1e-4 * sum)
      end_program("a wrong product", CL_INVALID_VALUE, {});
  }
  return seconds;
}

double measure_filters(const Device& device, bool noise) {
  constexpr std::size_t kSide = 512;
  const auto before = image(kSide, noise);
  std::vector<std::uint8_t> after(before.size());
  const kit::Buffer from = cl.buffer(device.context, before.size());
  const kit::Buffer between = cl.buffer(device.context, before.size());
  const auto n = static_cast<cl_int>(kSide);
  const kit::Kernel first = cl.kernel(device.program, "blur", n, from, between);
  const kit::Kernel second = cl.kernel(device.program, "blur", n, between, from);
  const kit::Kernel third = cl.kernel(device.program, "quantise", n, from, between);
  const double seconds = kit::duration_of([&] {
    cl.check("write", cl.write(device.queue, from, Blocking::no, std::span(before)));
    for (const kit::Kernel* const one : {&first, &second, &third})
      cl.check("launch", cl.launch(device.queue, *one, kit::Sizes(kSide, kSide)));
    cl.check("read", cl.read(device.queue, between, Blocking::yes, std::span(after)));
  });
  const auto blurred = [&](const std::vector<std::uint8_t>& of, std::size_t x, std::size_t y) {
    unsigned sum = 0;
    for (std::size_t j = y - 1; j <= y + 1; ++j)
      for (std::size_t i = x - 1; i <= x + 1; ++i) sum += of[j * kSide + i];
    return static_cast<std::uint8_t>(sum / 9);
  };
  std::vector<std::uint8_t> once(before);
  for (std::size_t y = 1; y + 1 < kSide; ++y)
    for (std::size_t x = 1; x + 1 < kSide; ++x) once[y * kSide + x] = blurred(before, x, y);
  for (std::size_t y = 2; y + 2 < kSide; y += 3)
    for (std::size_t x = 2; x + 2 < kSide; x += 3)
      if (after[y * kSide + x] != blurred(once, x, y) / 16 * 16)
        end_program("a wrong image", CL_INVALID_VALUE, {});
  return seconds;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s numbers|noise REPEATS SIDE...\n", arguments[0]);
    return 2;
  }
  const bool noise = std::strcmp(arguments[1], "noise") == 0;
  const int repeats = std::atoi(arguments[2]);
  const Device device;
  std::string text;
  const auto add = [&](const std::string& name, const auto& measure) {
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) seconds.push_back(measure());
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string(kit::median(seconds));
  };
  for (int i = 3; i < count; ++i) {
    const auto side = static_cast<std::size_t>(std::atoi(arguments[i]));
    add("product " + std::to_string(side), [&] { return measure_product(device, side, noise); });
  }
  add("filters", [&] { return measure_filters(device, noise); });
  std::printf("%s}\n", text.c_str());
  return 0;
}
