// Programs without source: IL is scanned; binaries are split only if the user trusts them.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/programs/known_binaries.h"
#include "kernels/spirv_scan.h"

namespace cleave::interpose {
namespace {

// Sets the record of a new program, or removes that of an earlier program at the same address.
cl_program noted(cl_program program, const ProgramRecord* record) noexcept {
  if (program == nullptr) return program;
  Interposer& p = interposer();
  try {
    if (record != nullptr) {
      p.records.programs.add(program, *record);
      return program;
    }
  } catch (...) {  // out of memory: programs without a record are not split
  }
  p.records.programs.forget(program);
  return program;
}

// What is known of the binaries; usually nothing.
std::optional<ProgramRecord> known_of(Interposer& p, cl_uint count, const size_t* lengths,
                                      const unsigned char** binaries) {
  ProgramRecord record;
  record.trusted = p.settings().trust_binaries;
  for (cl_uint i = 0; i < count; ++i) {
    const auto binary = std::as_bytes(std::span(binaries[i], lengths[i]));
    record.trusted = record.trusted && !p.binaries.has(KnownBinaries::Mark::unsplittable, binary);
    record.may_have_prelude =
        record.may_have_prelude || p.binaries.has(KnownBinaries::Mark::instrumented, binary);
  }
  record.may_have_prelude = record.may_have_prelude || record.trusted;
  return record.may_have_prelude ? std::optional(record) : std::nullopt;
}

}  // namespace

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint count,
                                                 const cl_device_id* devices, const size_t* lengths,
                                                 const unsigned char** binaries, cl_int* statuses,
                                                 cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_program program =
      p.next.clCreateProgramWithBinary(context, count, devices, lengths, binaries, statuses, error);
  if (program == nullptr) return program;
  try {
    const auto record = known_of(p, count, lengths, binaries);
    // Probed here, since a launch may be within a callback.
    for (cl_uint i = 0; record && i < count && p.owner.is_this(); ++i) p.drivers.facts(devices[i]);
    return noted(program, record ? &*record : nullptr);
  } catch (...) {  // out of memory: not split
    return noted(program, nullptr);
  }
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* il, size_t length,
                                             cl_int* error) noexcept {
  cl_program program = interposer().next.clCreateProgramWithIL(context, il, length, error);
  if (program == nullptr) return program;
  try {
    const std::span module(static_cast<const std::byte*>(il), length);
    if (auto scan = kernels::scan_spirv(module)) {
      scan->reads_global_id = true;  // it has no prelude, which matters once it is linked to other programs
      ProgramRecord record;
      record.scan = std::make_shared<const kernels::ProgramScan>(*scan);
      record.no_prelude = NoPrelude::il;
      return noted(program, &record);
    }
  } catch (...) {  // out of memory: programs without a record are not split
  }
  return noted(program, nullptr);
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count,
                                                         const cl_device_id* devices, const char* names,
                                                         cl_int* error) noexcept {
  return noted(interposer().next.clCreateProgramWithBuiltInKernels(context, count, devices, names, error),
               nullptr);
}

}  // namespace cleave::interpose
