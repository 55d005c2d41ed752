// A program that opens OpenCL only when it needs it. Smooths an image repeatedly, each time from one buffer into the other,
// tile by tile: every launch covers one tile of the image by its global offset.
#include <cstdio>

#include "one_launch.h"

namespace {

constexpr cl_int kWidth = 96;
constexpr cl_int kHeight = 64;
constexpr std::size_t kTile = 32;
constexpr std::size_t kPasses = 4;

const char* const kSource =
    "kernel void smooth(global const uint* in, global uint* out, int width, int height) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  int left = x > 0 ? x - 1 : x, right = x + 1 < width ? x + 1 : x;\n"
    "  int above = y > 0 ? y - 1 : y, below = y + 1 < height ? y + 1 : y;\n"
    "  uint around = in[y * width + left] + in[y * width + right] + in[above * width + x] + in[below * width "
    "+ x];\n"
    "  out[y * width + x] = (in[y * width + x] * 4 + around) / 8;\n"
    "}\n";

}  // namespace

int main() {
  std::vector<cl_uint> image(std::size_t{kWidth} * kHeight);
  for (cl_uint i = 0; i < image.size(); ++i) image[i] = i * 2654435761U >> 8U;

  const kit::Api cl = functions_of(open_library("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL));
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Program program = cl.build(context, kSource, nullptr);
  const kit::Kernel kernel = cl.kernel(program, "smooth");
  const kit::Buffer buffers[] = {cl.buffer(context, image), cl.buffer(context, image)};
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    cl.check("clSetKernelArg",
             cl.set_arguments(kernel, buffers[pass % 2], buffers[(pass + 1) % 2], kWidth, kHeight));
    for (std::size_t y = 0; y < kHeight; y += kTile) {
      for (std::size_t x = 0; x < kWidth; x += kTile)
        cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {{kTile, kTile}, {8, 4}, {x, y}}));
    }
  }
  cl_uint sum = 0;
  for (const cl_uint one : cl.read<cl_uint>(queue, buffers[kPasses % 2], image.size())) sum = sum * 31 + one;
  std::printf("smoothed: %08x\n", sum);
  return 0;
}
