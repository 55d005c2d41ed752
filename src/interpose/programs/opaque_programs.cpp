// Programs without source: IL is scanned; binaries are split if Cleave knows them, or if the user trusts them.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/programs/binary_facts.h"
#include "interpose/programs/known_binaries.h"
#include "kernels/facts/spirv_scan.h"

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

// The binaries of the call: one for each device.
struct Binaries {
  cl_uint count;
  const cl_device_id* devices;
  const size_t* lengths;
  const unsigned char** bytes;
};

// What is known of each; empty where nothing is. A server's binaries are known there.
std::vector<std::optional<BinaryFacts>> facts_of(Interposer& p, const Binaries& binaries) {
  std::vector<std::optional<BinaryFacts>> all(binaries.count);
  for (cl_uint i = 0; i < binaries.count; ++i) {
    if (binaries.bytes[i] == nullptr || p.devices.of(binaries.devices[i])->quirks.remote) continue;
    all[i] = p.binaries.find(std::as_bytes(std::span(binaries.bytes[i], binaries.lengths[i])),
                             p.devices.of(binaries.devices[i])->driver);
  }
  return all;
}

// The record of the program: as of one from source if all its binaries are known, else as the user says, unless one is
// known to be wrong in slices. Empty if there is nothing to remember.
std::optional<ProgramRecord> record_of(const std::vector<std::optional<BinaryFacts>>& all,
                                       const Binaries& binaries, bool trust) {
  ProgramRecord record;
  const bool known =
      std::all_of(all.begin(), all.end(), [](const auto& facts) { return facts && facts->scans; });
  record.trusted = !known && trust && std::all_of(all.begin(), all.end(), [](const auto& facts) {
    return !facts || is_correct_in_slices(*facts);
  });
  record.may_have_prelude = record.trusted;
  std::shared_ptr<kernels::ProgramScan> scan;
  for (std::size_t i = 0; i < all.size(); ++i) {
    record.may_have_prelude = record.may_have_prelude || (all[i] && all[i]->may_have_prelude);
    if (!known) continue;
    const kernels::ProgramScan own(all[i]->scans->whole, all[i]->scans->kernels, all[i]->scans->causes);
    if (scan) scan->add(own);
    if (!scan) scan = std::make_shared<kernels::ProgramScan>(own);
    if (all[i]->tagged) record.tagged.push_back(binaries.devices[i]);
    if (!all[i]->tagged) record.no_prelude = all[i]->no_prelude;
    record.origin = all[i]->origin;
  }
  record.scan = std::move(scan);
  return record.scan || record.may_have_prelude ? std::optional(std::move(record)) : std::nullopt;
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
    if (!p.owner.is_this()) return noted(program, nullptr);  // only the Cleave that splits keeps notes
    const Binaries given{count, devices, lengths, binaries};
    const auto record = record_of(facts_of(p, given), given, p.settings().trust_binaries);
    // Probed here, since a launch may be within a callback.
    for (cl_uint i = 0; record && record->may_have_prelude && i < count; ++i) p.drivers.facts(devices[i]);
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
    kernels::Causes causes;
    if (auto scan = kernels::scan_spirv(module, &causes)) {
      scan->reads_global_id = true;  // it has no prelude, which matters once it is linked to other programs
      ProgramRecord record;
      record.scan = std::make_shared<const kernels::ProgramScan>(*scan, causes.list());
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
