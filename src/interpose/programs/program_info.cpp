// Queries of programs: source, options and log are answered as if there were no prelude.

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "interpose/calls/overrides.h"
#include "interpose/drivers/quirks.h"
#include "interpose/interposer.h"
#include "interpose/programs/binary_facts.h"
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

// Whether the program has kernels for all its devices. Drivers may report the question for their names as an error to the
// context's callback if it has none.
bool is_executable(const Table& next, cl_program program, const std::vector<cl_device_id>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](cl_device_id device) {
    cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
    return next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, nullptr) ==
               CL_SUCCESS &&
           type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  });
}

std::vector<std::string> kernel_names_of(const Table& next, cl_program program) {
  std::istringstream all(answer_of([&](size_t bytes, void* to, size_t* bytes_ret) {
    return next.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, bytes, to, bytes_ret);
  }));
  std::vector<std::string> names;
  for (std::string name; std::getline(all, name, ';');) names.push_back(name);
  return names;
}

// What is known of the program's binaries that it got between these two moments. Where a build ran meanwhile, nothing says
// which build they are of.
ProgramRecord settled(const std::optional<ProgramRecord>& before, const std::optional<ProgramRecord>& after) {
  if (!before || !after) return {};
  const bool same =
      before->builds == after->builds && before->builds_in_flight == 0 && after->builds_in_flight == 0;
  if (same) return *after;
  ProgramRecord unknown;
  unknown.may_have_prelude = before->may_have_prelude || after->may_have_prelude;
  return unknown;
}

// The program gets its binaries and may load them again. Of one that nothing is known of, this is noted where it counts:
// the user may trust binaries, and the next program from this one would be trusted, too.
void note_binaries(Interposer& p, cl_program program, const ProgramRecord& record,
                   const std::vector<std::size_t>& sizes, std::span<unsigned char* const> binaries) {
  const bool unknown = !record.scan && !record.may_have_prelude;
  if (record.trusted || (unknown && !p.settings().trust_binaries)) return;
  const auto devices = list_of<cl_device_id>(p.next, program, CL_PROGRAM_DEVICES);
  const DeviceHolds holds(p.devices, devices);
  if (!holds) return;  // what they have built cannot be queried any more
  const auto kernel_names =
      is_executable(p.next, program, devices) ? kernel_names_of(p.next, program) : std::vector<std::string>();
  for (std::size_t i = 0; i < std::min({binaries.size(), devices.size(), sizes.size()}); ++i) {
    if (binaries[i] == nullptr || sizes[i] == 0 || p.devices.of(devices[i])->quirks.remote) continue;
    p.binaries.note(std::as_bytes(std::span(binaries[i], sizes[i])), p.devices.of(devices[i])->driver,
                    facts_of(record, devices[i], kernel_names));
  }
}

// Errors of our own bookkeeping are ignored. Only the Cleave that splits knows what a build contains, and keeps notes.
cl_int give_binaries(Interposer& p, cl_program program, size_t size, void* value, size_t* size_ret) {
  const bool noted = value != nullptr && p.owner.is_this();
  const auto before = noted ? p.records.programs.find(program) : std::nullopt;
  // Queried first: a driver's binaries may grow, and the program has room for the size that it got earlier.
  const auto sizes =
      noted ? list_of<std::size_t>(p.next, program, CL_PROGRAM_BINARY_SIZES) : std::vector<std::size_t>();
  const cl_int result = p.next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, size, value, size_ret);
  if (result != CL_SUCCESS || !noted) return result;
  try {
    note_binaries(p, program, settled(before, p.records.programs.find(program)), sizes,
                  {static_cast<unsigned char**>(value), size / sizeof(unsigned char*)});
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
