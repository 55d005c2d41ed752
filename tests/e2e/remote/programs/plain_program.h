// For OpenCL programs that print what they find: an error ends them with its line.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/opencl.h"

inline const kit::Api cl(kit::linked_table(), kit::end_program);

inline void check(cl_int error, const kit::Where& where = kit::Where::current()) {
  cl.check("a call", error, where);
}

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not true: %s\n", what);
  std::exit(1);
}

template <typename T>
std::uint32_t checksum(const std::vector<T>& values) {
  std::uint32_t sum = 2166136261U;
  for (const T one : values) sum = (sum ^ one) * 16777619U;
  return sum;
}
