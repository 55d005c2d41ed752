// Queries of programs: source, options and log are answered as if there were no prelude.

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/programs/known_binaries.h"
#include "interpose/programs/prelude_text.h"

namespace cleave::interpose {
namespace {

// Replaces the driver's answer. Some drivers report the size even if there is too little room; `ask` shows whether
// this one does.
template <typename Ask>
cl_int give(const std::string& text, const std::string& driver, size_t size, void* value, size_t* size_ret,
            Ask ask) {
  const bool fits = value == nullptr || size >= text.size() + 1;
  size_t reported_size = 0;
  if (!fits && size < driver.size() + 1) ask(size, value, &reported_size);
  if (fits && value != nullptr) std::memcpy(value, text.c_str(), text.size() + 1);
  if (size_ret != nullptr && (fits || reported_size != 0)) *size_ret = text.size() + 1;
  return fits ? CL_SUCCESS : CL_INVALID_VALUE;
}

// The driver's whole answer, which ends with a zero byte; empty on error.
template <typename Ask>
std::string answer_of(Ask ask) {
  std::size_t size = 0;
  if (ask(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (ask(size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.pop_back();
  return text;
}

std::string source_of(const Table& next, cl_program program) {
  return answer_of([&](size_t bytes, void* to, size_t* bytes_ret) {
    return next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes, to, bytes_ret);
  });
}

// Works without a record too: a kernel keeps its program alive after the record is gone.
std::string log_for(Interposer& p, cl_program program, cl_device_id device, const std::string& log) {
  if (log.empty()) return log;
  const std::string source = source_of(p.next, program);
  if (!has_prelude(source)) return log;
  return restore_quoted_lines(p.drivers.restore_line_numbers(log, device), remove_prelude(source));
}

template <typename T>
std::vector<T> list_of(const Table& next, cl_program program, cl_program_info name) {
  std::size_t size = 0;
  if (next.clGetProgramInfo(program, name, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::vector<T> list(size / sizeof(T));
  if (next.clGetProgramInfo(program, name, size, list.data(), nullptr) != CL_SUCCESS) return {};
  return list;
}

// The program gets its binaries and may load them again.
void note_binaries(Interposer& p, cl_program program, std::span<unsigned char* const> binaries) {
  const auto record = p.records.programs.find(program);
  const auto devices = list_of<cl_device_id>(p.next, program, CL_PROGRAM_DEVICES);
  const auto sizes = list_of<std::size_t>(p.next, program, CL_PROGRAM_BINARY_SIZES);
  for (std::size_t i = 0; i < std::min({binaries.size(), devices.size(), sizes.size()}); ++i) {
    if (binaries[i] == nullptr) continue;
    const auto binary = std::as_bytes(std::span(binaries[i], sizes[i]));
    if (record && has_prelude_for(*record, devices[i]))
      p.binaries.note(KnownBinaries::Mark::instrumented, binary);
    const bool right = record && is_correct_in_slices(*record, devices[i]);
    if (p.settings().trust_binaries && !right) p.binaries.note(KnownBinaries::Mark::unsplittable, binary);
  }
}

// Errors of our own bookkeeping are ignored.
cl_int give_binaries(Interposer& p, cl_program program, size_t size, void* value, size_t* size_ret) {
  const cl_int result = p.next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, size, value, size_ret);
  if (result != CL_SUCCESS || value == nullptr) return result;
  try {
    note_binaries(p, program, {static_cast<unsigned char**>(value), size / sizeof(unsigned char*)});
  } catch (...) {
  }
  return result;
}

}  // namespace

cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) noexcept {
  Interposer& p = interposer();
  const auto ask = [&](size_t bytes, void* to, size_t* bytes_ret) {
    return p.next.clGetProgramInfo(program, name, bytes, to, bytes_ret);
  };
  try {
    if (name == CL_PROGRAM_BINARIES) return give_binaries(p, program, size, value, size_ret);
    if (name != CL_PROGRAM_SOURCE) return ask(size, value, size_ret);
    const std::string driver = answer_of(ask);
    const std::string ours = remove_prelude(driver);
    return ours == driver ? ask(size, value, size_ret) : give(ours, driver, size, value, size_ret, ask);
  } catch (...) {
    return CL_OUT_OF_HOST_MEMORY;
  }
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info name,
                                         size_t size, void* value, size_t* size_ret) noexcept {
  Interposer& p = interposer();
  const auto ask = [&](size_t bytes, void* to, size_t* bytes_ret) {
    return p.next.clGetProgramBuildInfo(program, device, name, bytes, to, bytes_ret);
  };
  try {
    const bool concerned = name == CL_PROGRAM_BUILD_OPTIONS || name == CL_PROGRAM_BUILD_LOG;
    if (!concerned) return ask(size, value, size_ret);
    const std::string driver = answer_of(ask);
    std::string ours = remove_prelude_switch(driver);
    if (name == CL_PROGRAM_BUILD_LOG) ours = log_for(p, program, device, ours);
    return ours == driver ? ask(size, value, size_ret) : give(ours, driver, size, value, size_ret, ask);
  } catch (...) {
    return CL_OUT_OF_HOST_MEMORY;
  }
}

}  // namespace cleave::interpose
