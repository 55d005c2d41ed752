// Programs from source: their text is scanned and preceded by the prelude, which is enabled at build time if a kernel
// needs it. If that build fails, or the program could observe the prelude, it is built unchanged.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/programs/prelude_text.h"
#include "interpose/state/owned.h"
#include "kernels/prelude/prelude.h"
#include "kernels/text/build_options.h"
#include "kernels/text/includes.h"

namespace cleave::interpose {
namespace {

using Notify = void(CL_CALLBACK*)(cl_program, void*);
using DeviceList = std::vector<cl_device_id>;

std::string whole_text(cl_uint count, const char** strings, const size_t* lengths) {
  std::string text;
  for (cl_uint i = 0; i < count; ++i) {
    const bool terminated = lengths == nullptr || lengths[i] == 0;
    text.append(strings[i], terminated ? std::strlen(strings[i]) : lengths[i]);
  }
  return text;
}

bool has_strings(cl_uint count, const char** strings) {
  return count != 0 && strings != nullptr && std::find(strings, strings + count, nullptr) == strings + count;
}

// All devices of a context have one platform.
bool is_remote_context(const Table& next, Devices& known, cl_context context) {
  cl_uint count = 0;
  next.clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, nullptr);
  DeviceList devices(count);
  return count != 0 &&
         next.clGetContextInfo(context, CL_CONTEXT_DEVICES, count * sizeof(cl_device_id), devices.data(),
                               nullptr) == CL_SUCCESS &&
         known.of(devices.front())->quirks.remote;
}

// Why the prelude is not put in front of this text; empty if it is. Programs remain unchanged if nothing is ever split. A
// server splits by itself, and its scan could not analyse the prelude.
std::optional<NoPrelude> injection_obstacle(Interposer& p, cl_context context, const std::string& text) {
  if (p.owner.is_another()) return NoPrelude::unneeded;
  if (is_remote_context(p.next, p.devices, context)) return NoPrelude::remote;
  if (!p.policy->may_split() || !p.owner.is_this()) return NoPrelude::unneeded;
  return can_inject_prelude(text) ? std::nullopt : std::optional(NoPrelude::text);
}

// The program with the prelude. Null if the driver refuses it.
cl_program create_with_prelude(const Table& next, cl_context context, cl_uint count, const char** strings,
                               const size_t* lengths, cl_int* error) {
  const std::string_view prelude = kernels::prelude();
  std::vector<const char*> all{prelude.data()};
  std::vector<size_t> sizes{prelude.size()};
  for (cl_uint i = 0; i < count; ++i) {
    all.push_back(strings[i]);
    sizes.push_back(lengths != nullptr ? lengths[i] : 0);
  }
  return next.clCreateProgramWithSource(context, count + 1, all.data(), sizes.data(), error);
}

// The options that some drivers read from the environment.
std::string options_in_environment() {
  std::string all;
  for (const char* variable : {"POCL_EXTRA_BUILD_FLAGS", "OCLGRIND_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS",
                               "AMD_OCL_BUILD_OPTIONS_APPEND", "CLOVER_EXTRA_BUILD_OPTIONS",
                               "CLOVER_EXTRA_COMPILE_OPTIONS", "CLOVER_EXTRA_LINK_OPTIONS"}) {
    if (const char* more = std::getenv(variable)) all.append(" ").append(more);
  }
  return all;
}

// One call of clBuildProgram or clCompileProgram.
struct Build {
  cl_program program;
  cl_uint count = 0;
  const cl_device_id* devices = nullptr;
  const char* options = nullptr;
  Notify notify = nullptr;
  void* data = nullptr;
  // clCompileProgram only.
  bool compile = false;
  cl_uint headers = 0;
  const cl_program* header_programs = nullptr;
  const char** header_names = nullptr;

  [[nodiscard]] cl_int run_build(const Table& next, const char* with, Notify call, void* argument) const {
    return compile ? next.clCompileProgram(program, count, devices, with, headers, header_programs,
                                           header_names, call, argument)
                   : next.clBuildProgram(program, count, devices, with, call, argument);
  }
  [[nodiscard]] cl_int forward(const Table& next) const { return run_build(next, options, notify, data); }
};

DeviceList devices_of(const Table& next, const Build& build) {
  if (build.devices != nullptr) return {build.devices, build.devices + build.count};
  std::size_t size = 0;
  next.clGetProgramInfo(build.program, CL_PROGRAM_DEVICES, 0, nullptr, &size);
  DeviceList devices(size / sizeof(cl_device_id));
  next.clGetProgramInfo(build.program, CL_PROGRAM_DEVICES, size, devices.data(), nullptr);
  return devices;
}

kernels::ProgramScan scan_for(Interposer& p, const std::string& source, const Build& build) {
  kernels::BuildInputs surroundings;
  surroundings.options = build.options != nullptr ? build.options : "";
  surroundings.uncertain_options = options_in_environment();
  kernels::Embedded embedded;
  std::vector<std::string> given;
  const bool headers_given = build.header_programs != nullptr && build.header_names != nullptr;
  for (cl_uint i = 0; headers_given && i < build.headers; ++i) {
    const auto header = p.records.programs.find(build.header_programs[i]);
    if (header && header->source && build.header_names[i] != nullptr) {
      embedded.emplace_back(build.header_names[i], *header->source);
      given.emplace_back(build.header_names[i]);
    }
  }
  const kernels::Options options =
      kernels::parse_options(surroundings.options + " " + surroundings.uncertain_options);
  kernels::HeaderFiles headers(options.folders, embedded);
  kernels::Preprocessed program =
      kernels::preprocess(source, {surroundings.options, surroundings.uncertain_options, given}, headers);
  const bool includes = program.texts.size() > 1;
  // Quoted folder names may not be parsed as the compiler does.
  const bool certain = options.folders.empty() || !options.quotes || !includes;
  // Compilers may search the folders in these variables first.
  const bool more = std::getenv("CPATH") != nullptr || std::getenv("C_INCLUDE_PATH") != nullptr;
  if (program.missing) surroundings.missing = kernels::cause_of(*program.missing);
  if (!program.missing && includes && (!certain || more)) {
    surroundings.missing = kernels::Cause{.way = kernels::Cause::Way::unsure_of_folders,
                                          .construct = certain ? "CPATH or C_INCLUDE_PATH" : "-I",
                                          .file = {}};
  }
  surroundings.complete = !surroundings.missing;
  return kernels::ProgramScan(std::move(program), surroundings);
}

// Called before the build, since other threads may create kernels before the call returns. The scans of all builds of
// a program are combined, also if a call fails: that costs a split but never correctness.
void note_scan(Interposer& p, cl_program program, const kernels::ProgramScan& scan) {
  p.records.programs.update(program, [&](ProgramRecord& record) {
    auto all = std::make_shared<kernels::ProgramScan>(scan);
    if (record.scan) all->add(*record.scan);
    record.scan = std::move(all);
  });
}

// One build in progress. Concurrent builds of the same program may end in any order, so none of them is taken as the
// program's final state.
class BuildScope {
 public:
  BuildScope(Interposer& p, cl_program program) : p_(p), program_(program) {
    p_.records.programs.update(program_, [&](ProgramRecord& record) {
      alone_ = ++record.builds_in_flight == 1;
      record.missing_kernels.clear();
      number_ = ++record.builds;
    });
  }
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;
  ~BuildScope() {
    p_.records.programs.update(program_, [](ProgramRecord& record) { --record.builds_in_flight; });
  }

  [[nodiscard]] bool alone() const { return alone_; }

  // Kernels for these devices have no prelude from now on.
  void note_plain(const DeviceList& devices) { note(devices, nullptr); }
  void note_plain(const DeviceList& devices, NoPrelude why) {
    note_plain(devices);
    p_.records.programs.update(program_, [why](ProgramRecord& record) { record.no_prelude = why; });
  }

  // They have the prelude, if no other build began meanwhile.
  void note_prelude(const Build& build, const DeviceList& devices) { note(devices, &build); }

 private:
  void note(const DeviceList& devices, const Build* build) {
    p_.records.programs.update(program_, [&](ProgramRecord& record) {
      record.options.reset();
      std::erase_if(record.tagged, [&](cl_device_id device) {
        return std::find(devices.begin(), devices.end(), device) != devices.end();
      });
      record.may_have_prelude |= build != nullptr;
      if (build == nullptr || !alone_ || record.builds != number_) return;
      record.tagged.insert(record.tagged.end(), devices.begin(), devices.end());
      if (!build->compile) record.options = build->options != nullptr ? build->options : "";
    });
  }

  Interposer& p_;
  cl_program program_;
  bool alone_ = false;
  unsigned number_ = 0;
};

// Whether all these drivers pass tags on. Unknown drivers are probed; if that is impossible now, the prelude is used
// all the same, since a later probe may succeed.
bool drivers_may_carry_tags(Interposer& p, const DeviceList& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](cl_device_id device) {
    // Launches with the prelude are not split on a driver that crashes on mixed offsets (drivers/device_queries.cpp).
    const Quirks quirks = p.devices.of(device)->quirks;
    if (quirks.failed_builds_are_final || quirks.crashes_on_mixed_offsets || quirks.remote) return false;
    const auto facts = p.drivers.facts(device);
    return !facts || facts->carries_tags;
  });
}

// Whether a log mentions the prelude, which the program must not see.
bool log_shows_prelude(const Table& next, cl_program program, const DeviceList& devices) {
  return std::any_of(devices.begin(), devices.end(), [&](cl_device_id device) {
    return remove_prelude_switch(program_log(next, program, device)).find(kernels::kReservedPrefix) !=
           std::string::npos;
  });
}

// Whether a kernel name contains the prelude's prefix.
bool kernels_show_prelude(const Table& next, cl_program program) {
  std::size_t size = 0;
  if (next.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size) != CL_SUCCESS) return false;
  std::string names(size, '\0');
  next.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names.data(), nullptr);
  return names.find(kernels::kReservedPrefix) != std::string::npos;
}

bool keeps_argument_info(Devices& known, const DeviceList& devices) {
  return std::any_of(devices.begin(), devices.end(), [&](cl_device_id device) {
    return known.of(device)->quirks.loses_argument_info_with_options;
  });
}

// Builds with the prelude. Returns whether it succeeded and its log does not reveal the prelude.
bool build_with_prelude(Interposer& p, const Build& build, const DeviceList& devices) {
  const bool in_words = build.options == nullptr && keeps_argument_info(p.devices, devices);
  const std::string options = options_with_prelude(build.options, in_words);
  return build.run_build(p.next, options.c_str(), nullptr, nullptr) == CL_SUCCESS &&
         !log_shows_prelude(p.next, build.program, devices) &&
         (build.compile || !kernels_show_prelude(p.next, build.program));
}

// Why a program with this scan is not built with the prelude; empty if that is to be tried.
std::optional<NoPrelude> prelude_obstacle(Interposer& p, const Build& build, const ProgramRecord& record,
                                          const kernels::Scan& whole) {
  if (!record.instrumented) return record.no_prelude;
  // Tagged slices may run this code after it is linked, or loaded as a trusted binary.
  const bool may_be_linked = build.compile || p.settings().trust_binaries;
  if (!whole.reads_ndrange && !(whole.reads_global_id && may_be_linked)) return NoPrelude::unneeded;
  // Programs that this one is linked to may use the names of a compiled program.
  const bool breaks_prelude = whole.breaks_prelude || (build.compile && whole.breaks_prelude_if_pasting);
  if (breaks_prelude) return NoPrelude::source;
  const bool sound =
      (build.devices == nullptr) == (build.count == 0) && (build.notify != nullptr || build.data == nullptr);
  return sound ? std::nullopt : std::optional(NoPrelude::build);
}

// The same for a build that is about to begin.
std::optional<NoPrelude> prelude_obstacle(Interposer& p, const BuildScope& scope, const DeviceList& devices) {
  if (!scope.alone()) return NoPrelude::concurrent;
  return drivers_may_carry_tags(p, devices) ? std::nullopt : std::optional(NoPrelude::driver);
}

cl_int run_build(Interposer& p, const Build& build, const ProgramRecord& record) {
  BuildScope scope(p, build.program);
  const kernels::ProgramScan scan = scan_for(p, *record.source, build);
  note_scan(p, build.program, scan);
  const DeviceList devices = devices_of(p.next, build);
  scope.note_plain(devices);
  // Its log has to be queried after a build of our own.
  const DeviceHolds holds(p.devices, devices);
  auto obstacle = prelude_obstacle(p, build, record, scan.whole());
  if (!obstacle && !holds) obstacle = NoPrelude::driver;
  if (!obstacle) obstacle = prelude_obstacle(p, scope, devices);
  if (obstacle || !build_with_prelude(p, build, devices)) {
    scope.note_plain(devices, obstacle.value_or(NoPrelude::build));
    return build.forward(p.next);
  }
  scope.note_prelude(build, devices);
  if (build.notify != nullptr) build.notify(build.program, build.data);
  return CL_SUCCESS;
}

cl_int run_build(const Build& build) noexcept {
  Interposer& p = interposer();
  if (p.owner.is_another()) return build.forward(p.next);
  try {
    const auto record = p.records.programs.find(build.program);
    if (record && record->source) return run_build(p, build, *record);
  } catch (...) {  // out of memory: programs without a record are not split
    p.records.programs.forget(build.program);
  }
  return build.forward(p.next);
}

// The record of a linked program: what holds for all inputs; of a single one, for each of its kernels.
ProgramRecord linked_from(Interposer& p, cl_uint count, const cl_program* inputs) {
  ProgramRecord record;
  const auto first = count != 0 ? p.records.programs.find(inputs[0]) : std::nullopt;
  if (first && first->no_prelude == NoPrelude::remote) {
    record.no_prelude = NoPrelude::remote;
    return record;
  }
  kernels::Findings findings;
  std::optional<DeviceList> tagged;  // devices for which every input that needs the prelude has it
  std::optional<NoPrelude> missing;  // what the first input without it says
  bool known = true;
  std::shared_ptr<const kernels::ProgramScan> only;
  for (cl_uint i = 0; i < count; ++i) {
    const auto input = p.records.programs.find(inputs[i]);
    record.may_have_prelude |= input && input->may_have_prelude;
    known = known && input && input->scan;
    if (!known) continue;
    only = input->scan;
    const kernels::Scan& own = input->scan->whole();
    findings.add({own, kernels::Causes(input->scan->causes())});
    if (!own.reads_ndrange && !own.reads_global_id) continue;
    if (!missing && input->tagged.empty() && input->no_prelude != NoPrelude::unneeded)
      missing = input->no_prelude;
    if (!tagged) tagged = input->tagged;
    std::erase_if(*tagged, [&](cl_device_id device) {
      return std::find(input->tagged.begin(), input->tagged.end(), device) == input->tagged.end();
    });
  }
  if (!known) return record;
  // A function of another input may call any of this one.
  record.scan =
      count == 1 ? only : std::make_shared<kernels::ProgramScan>(findings.scan, findings.causes.list());
  record.tagged = tagged.value_or(DeviceList{});
  record.no_prelude = missing.value_or(NoPrelude::linked);
  return record;
}

DeviceList roots_of(Devices& known, const DeviceList& devices) {
  DeviceList roots;
  for (const cl_device_id device : devices) {
    cl_device_id const root = known.of(device)->root;
    if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
  }
  return roots;
}

}  // namespace

// Whether the program without the prelude has that kernel; with null, whether all its kernels can be created. Builds a
// copy in a context of its own: other threads may be using the program, and its context may report errors to the
// program. In place of sub-devices, which the program may have released, their roots are used.
bool kernel_exists_without_prelude(const Table& next, const ProgramRecord& record, const DeviceList& roots,
                                   const char* kernel) {
  const auto count = static_cast<cl_uint>(roots.size());
  const Owned<cl_context> context(
      next.clCreateContext(nullptr, count, roots.data(), nullptr, nullptr, nullptr), next.clReleaseContext);
  if (!context) return false;
  const char* text = record.source->c_str();
  const std::size_t size = record.source->size();
  const Owned<cl_program> program(next.clCreateProgramWithSource(context.get(), 1, &text, &size, nullptr),
                                  next.clReleaseProgram);
  if (!program || next.clBuildProgram(program.get(), count, roots.data(), record.options->c_str(), nullptr,
                                      nullptr) != CL_SUCCESS)
    return false;
  cl_uint kernels = 0;
  if (kernel == nullptr)
    return next.clCreateKernelsInProgram(program.get(), 0, nullptr, &kernels) == CL_SUCCESS;
  return Owned<cl_kernel>(next.clCreateKernel(program.get(), kernel, nullptr), next.clReleaseKernel) !=
         nullptr;
}

bool build_without_prelude(cl_program program, const char* kernel) noexcept try {
  Interposer& p = interposer();
  const auto record = p.records.programs.find(program);
  if (!record || !record->options || record->tagged.empty()) return false;
  const std::string name = kernel != nullptr ? kernel : "";
  if (kernel != nullptr && record->source->find(name) == std::string::npos) return false;
  if (record->missing_kernels.contains(name)) return false;
  if (!kernel_exists_without_prelude(p.next, *record, roots_of(p.devices, record->tagged), kernel)) {
    p.records.programs.update(program, [&](ProgramRecord& known) {
      if (known.builds == record->builds) known.missing_kernels.insert(name);
    });
    return false;
  }
  // Without a list, a build is for all devices of the program, also for those that have been released.
  const bool for_all = record->tagged == devices_of(p.next, Build{.program = program});
  const DeviceHolds holds(p.devices, record->tagged);
  if (!for_all && !holds) return false;
  BuildScope scope(p, program);
  scope.note_plain(record->tagged, NoPrelude::build);
  return p.next.clBuildProgram(program, for_all ? 0 : static_cast<cl_uint>(record->tagged.size()),
                               for_all ? nullptr : record->tagged.data(), record->options->c_str(), nullptr,
                               nullptr) == CL_SUCCESS;
} catch (...) {
  return false;
}

std::string program_log(const Table& next, cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) {
    return {};
  }
  std::string log(size, '\0');
  if (size == 0 || next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                                              nullptr) != CL_SUCCESS) {
    return {};
  }
  return log.substr(0, log.find('\0'));
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error) noexcept {
  Interposer& p = interposer();
  if (!has_strings(count, strings)) {
    return p.next.clCreateProgramWithSource(context, count, strings, lengths, error);
  }
  cl_program program = nullptr;
  try {
    ProgramRecord record;
    record.set_source(whole_text(count, strings, lengths));
    const auto obstacle = injection_obstacle(p, context, *record.source);
    if (p.owner.is_another()) {  // it scans the program, and this one splits nothing
      program = p.next.clCreateProgramWithSource(context, count, strings, lengths, error);
      if (program != nullptr) p.records.programs.forget(program);
      return program;
    }
    // Builds scan what has a source: here the server does.
    if (obstacle == NoPrelude::remote) record.source.reset();
    if (!obstacle) {
      program = create_with_prelude(p.next, context, count, strings, lengths, error);
      record.instrumented = program != nullptr;
    }
    record.no_prelude = obstacle.value_or(program != nullptr ? NoPrelude::unneeded : NoPrelude::build);
    if (program == nullptr)
      program = p.next.clCreateProgramWithSource(context, count, strings, lengths, error);
    if (program != nullptr) p.records.programs.add(program, record);
  } catch (...) {  // out of memory: programs without a record are not split
    if (program == nullptr) {
      program = p.next.clCreateProgramWithSource(context, count, strings, lengths, error);
    }
    if (program != nullptr) p.records.programs.forget(program);
  }
  return program;
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                                  const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                  void* data) noexcept {
  return run_build(Build{program, count, devices, options, notify, data});
}

cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                                    const char* options, cl_uint headers, const cl_program* header_programs,
                                    const char** header_names, void(CL_CALLBACK* notify)(cl_program, void*),
                                    void* data) noexcept {
  return run_build(
      Build{program, count, devices, options, notify, data, true, headers, header_programs, header_names});
}

cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint count, const cl_device_id* devices,
                                     const char* options, cl_uint inputs, const cl_program* input_programs,
                                     void(CL_CALLBACK* notify)(cl_program, void*), void* data,
                                     cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_program program =
      p.next.clLinkProgram(context, count, devices, options, inputs, input_programs, notify, data, error);
  if (program == nullptr) return program;
  try {
    p.records.programs.add(program, linked_from(p, inputs, input_programs));
    return program;
  } catch (...) {  // out of memory: programs without a record are not split
  }
  p.records.programs.forget(program);
  return program;
}

}  // namespace cleave::interpose
