// What plain OpenCL programs share: the functions that they are linked with, a device by name, numbers on the command line.
// Errors are exceptions: std::logic_error for the command line, std::runtime_error for OpenCL's.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kit/command_line.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

inline const kit::Api cl(kit::linked_table(), kit::throw_error);

// The first device of that type on the first platform of that name that has one.
inline cl_device_id choose_device(const std::string& platform, cl_device_type type = CL_DEVICE_TYPE_ALL) {
  const cl_device_id device = cl.device_of(platform, type);
  if (device == nullptr) throw std::runtime_error("no such device");
  return device;
}

// The words as the first of these numbers, which are above zero.
inline void read_numbers(const std::vector<std::string>& words, const std::vector<std::size_t*>& numbers) {
  if (words.size() > numbers.size()) throw std::invalid_argument(words.back());
  for (std::size_t i = 0; i < words.size(); ++i) {
    *numbers[i] = kit::number<std::size_t>(words[i]);
    if (*numbers[i] == 0) throw std::invalid_argument(words[i]);
  }
}
