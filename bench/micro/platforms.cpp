// Prints the names of the platforms, the milliseconds that its first OpenCL call took, and, as last line, the memory of the
// process: its resident pages, and its share of those (Pss), in KiB.
#include <CL/cl.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main() {
  cl_uint count = 0;
  const auto start = std::chrono::steady_clock::now();
  clGetPlatformIDs(0, nullptr, &count);
  const std::chrono::duration<double, std::milli> first = std::chrono::steady_clock::now() - start;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    std::array<char, 256> name{};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
    std::puts(name.data());
  }
  std::printf("first_ms=%.3f\n", first.count());
  std::ifstream memory("/proc/self/smaps_rollup");
  for (std::string line; std::getline(memory, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "Rss: %lu", &kib) == 1) std::printf("rss=%lu ", kib);
    if (std::sscanf(line.c_str(), "Pss: %lu", &kib) == 1) std::printf("pss=%lu\n", kib);
  }
  return 0;
}
