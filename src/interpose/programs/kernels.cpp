// Kernel objects: their records are derived from the program's.

#include <algorithm>
#include <string>

#include "interpose/calls/overrides.h"
#include "interpose/costs/cost_keys.h"
#include "interpose/interposer.h"
#include "interpose/programs/allowed_kernels.h"

namespace cleave::interpose {
namespace {

std::string name_of(const Table& next, cl_kernel kernel) {
  std::size_t size = 0;
  if (next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size) != CL_SUCCESS || size == 0) {
    return "(unknown)";
  }
  std::string name(size, '\0');
  if (next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr) != CL_SUCCESS) {
    return "(unknown)";
  }
  name.resize(std::min(name.find('\0'), size));
  return name;
}

plan::Kernel::Source source_of(const kernels::Scan& scan, const ProgramRecord& program, bool allowed) {
  using Source = plan::Kernel::Source;
  if (scan.opaque || (scan.assembly && !allowed)) return Source::unsplittable;
  if (!scan.reads_ndrange) return Source::splittable;
  if (!program.tagged.empty()) return Source::tagged;
  return program.no_prelude == NoPrelude::driver ? Source::untaggable : Source::unsplittable;
}

void apply_settings(const base::Settings& settings, const std::string& name, plan::Kernel& facts) {
  for (const std::string& pattern : settings.deny) facts.denied |= base::matches(pattern, name);
  for (const base::NamedSettings& named : settings.kernels) {
    if (named.alpha.is_set() && base::matches(named.pattern, name)) facts.alpha = &named.alpha;
  }
}

KernelRecord record_of(const base::Configuration& configuration, const std::optional<ProgramRecord>& program,
                       const std::string& name) {
  KernelRecord record;
  apply_settings(configuration.settings, name, record.facts);
  const bool allowed = is_allowed(configuration, name);
  record.trusted = program && program->trusted;
  record.may_have_prelude = program && program->may_have_prelude;
  if (record.trusted) {
    record.facts.source = plan::Kernel::Source::tagged;
    record.facts.communicates = true;
    record.facts.may_wait = !allowed;
    record.has_program_variables = true;
    return record;
  }
  if (program && program->no_prelude == NoPrelude::remote) {
    // Its server decides. No queue takes it here, so that the reason is the server, and not that nothing is known of it.
    record.facts.source = plan::Kernel::Source::splittable;
    record.facts.communicates = record.facts.may_wait = record.facts.shares_stores = true;
    record.has_program_variables = true;
    return record;
  }
  if (!program || !program->scan) return record;
  const kernels::Scan scan = program->scan->of(name);
  record.facts.source = source_of(scan, *program, allowed);
  record.facts.communicates = scan.communicates;
  record.facts.may_wait = scan.communicates && scan.may_wait && !allowed;
  // Variables of the program's own are such memory, too.
  record.facts.shares_stores = scan.shares_stores || scan.keeps_state;
  record.facts.depends_on_grouping = scan.reads_work_group;
  record.has_program_variables = scan.keeps_state;
  if (!program->tagged.empty()) {
    record.tagged = std::make_shared<const std::vector<cl_device_id>>(program->tagged);
  }
  return record;
}

void note(Interposer& p, cl_kernel kernel, cl_program made_from) noexcept {
  try {
    const std::string name = name_of(p.next, kernel);
    const auto program = p.records.programs.find(made_from);
    KernelRecord record = record_of(p.configuration, program, name);
    record.counters = &p.counters.of(name);
    if (p.policy->measures_launches() || p.turns.may_take_turns())
      record.identity = identity_of_kernel(name, program ? &*program : nullptr);
    p.records.kernels.add(kernel, record);
    if (p.findings.kept()) p.findings.add(name, findings_of(name, record, program ? &*program : nullptr));
  } catch (...) {  // out of memory: kernels without a record are not split
    ++p.records.changes;
  }
}

}  // namespace

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* name, cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_kernel kernel = p.next.clCreateKernel(program, name, error);
  if (kernel == nullptr && name != nullptr && build_without_prelude(program, name))
    kernel = p.next.clCreateKernel(program, name, error);
  if (kernel != nullptr) note(p, kernel, program);
  return kernel;
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels,
                                            cl_uint* count_ret) noexcept {
  Interposer& p = interposer();
  // Drivers may report the number even if there is too little room.
  cl_uint made = count_ret != nullptr ? *count_ret : 0;
  cl_int error = p.next.clCreateKernelsInProgram(program, count, kernels, &made);
  if (error != CL_SUCCESS && error != CL_INVALID_VALUE && build_without_prelude(program, nullptr)) {
    error = p.next.clCreateKernelsInProgram(program, count, kernels, &made);
  }
  if (count_ret != nullptr) *count_ret = made;
  if (error != CL_SUCCESS) return error;
  for (cl_uint i = 0; kernels != nullptr && i < made; ++i) note(p, kernels[i], program);
  return error;
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel source, cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_kernel kernel = p.next.clCloneKernel(source, error);
  if (kernel == nullptr) return kernel;
  const auto record = p.records.kernels.find(source);
  if (!record) {
    p.records.kernels.forget(kernel);
    return kernel;
  }
  try {
    p.records.kernels.add(kernel, *record);
  } catch (...) {
  }
  return kernel;
}

}  // namespace cleave::interpose
