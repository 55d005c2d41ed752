// Multiplies two matrices on the first device of the first platform, as programs do that do not choose, and prints the
// platform's name and "ok", or the error of the first call that failed.
//
//   first_platform SIDE      of the matrices
//
// With --default: on the default platform's device, with a context from clCreateContextFromType that names no platform.
// With --lines behind it: once for each line of the input.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "tests/kit/linked.h"

namespace {

using kit::Blocking;

constexpr const char* kSource =
    "kernel void product(int n, global const float* a, global const float* b, global float* c) {\n"
    "  int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];\n"
    "  c[y * n + x] = sum; }\n";

struct Failed {
  cl_int error;
};

[[noreturn]] void end_work(const char* /*call*/, cl_int error, const kit::Where& /*where*/) {
  throw Failed{error};
}

const kit::Api cl(kit::linked_table(), end_work);

void multiply(cl_context context, cl_device_id device, std::size_t side) {
  const kit::Queue queue = cl.queue(context, device);
  const kit::Program program = cl.build(context, kSource);
  const std::vector<float> host(side * side, 1.0F);
  const std::size_t bytes = host.size() * sizeof(float);
  const kit::Buffer a = cl.buffer(context, bytes);
  const kit::Buffer b = cl.buffer(context, bytes);
  const kit::Buffer c = cl.buffer(context, bytes);
  const kit::Kernel kernel = cl.kernel(program, "product", static_cast<cl_int>(side), a, b, c);
  cl.check("write", cl.write(queue, a, Blocking::no, std::span(host)));
  cl.check("write", cl.write(queue, b, Blocking::no, std::span(host)));
  cl.check("launch", cl.launch(queue, kernel, kit::Sizes(side, side)));
  std::vector<float> result(host.size());
  cl.check("read", cl.read(queue, c, Blocking::yes, std::span(result)));
  for (const float one : result) {
    if (one != static_cast<float>(side)) throw Failed{-9999};
  }
}

void work(bool by_default, std::size_t side) {
  std::string name = "none";
  try {
    cl_device_id device = nullptr;
    kit::Context context;
    if (by_default) {
      cl_int error = CL_SUCCESS;
      context = cl.own(::clCreateContextFromType(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &error));
      cl.check("clCreateContextFromType", error);
      cl.check("clGetContextInfo",
               cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr));
    } else {
      device = cl.device_of();
      context = cl.context(device);
    }
    name = cl.text(cl.info<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME);
    multiply(context, device, side);
    std::printf("%s: ok\n", name.c_str());
  } catch (const Failed& failed) {
    std::printf("%s: error %d\n", name.c_str(), failed.error);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s SIDE [--default [--lines]]\n", arguments[0]);
    return 2;
  }
  const auto side = static_cast<std::size_t>(std::atoi(arguments[1]));
  const bool by_default = count > 2 && std::strcmp(arguments[2], "--default") == 0;
  if (count > 3) {
    for (std::string line; std::getline(std::cin, line); std::fflush(stdout)) work(by_default, side);
    return 0;
  }
  work(by_default, side);
  return 0;
}
