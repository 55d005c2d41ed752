// Programs: what their text says about splitting. Nothing about a program is changed.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "interpose/overrides.h"
#include "interpose/process.h"

namespace cleave::interpose {
namespace {

std::string whole_text(cl_uint count, const char** strings, const size_t* lengths) {
  std::string text;
  for (cl_uint i = 0; i < count; ++i) {
    const bool terminated = lengths == nullptr || lengths[i] == 0;
    text.append(strings[i], terminated ? std::strlen(strings[i]) : lengths[i]);
  }
  return text;
}

// The options of the call, and those that some drivers take from the environment.
std::string all_options(const char* options) {
  std::string all = options != nullptr ? options : "";
  for (const char* variable : {"POCL_EXTRA_BUILD_FLAGS", "OCLGRIND_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS",
                               "AMD_OCL_BUILD_OPTIONS_APPEND", "CLOVER_EXTRA_BUILD_OPTIONS",
                               "CLOVER_EXTRA_COMPILE_OPTIONS", "CLOVER_EXTRA_LINK_OPTIONS"}) {
    if (const char* more = std::getenv(variable)) all.append(" ").append(more);
  }
  return all;
}

// What the options mean for a program: besides what they say themselves, a macro of theirs may lead to any
// function of the text that they name.
kernels::Scan scan_options_for(const ProgramRecord& program, const std::string& options) {
  kernels::Scan scan = kernels::scan_options(options);
  if (!program.text) return scan;
  kernels::for_each_name(options + " " + kernels::without_quotes(options), [&](std::string_view found) {
    const std::string name(found);
    if (program.text->has(name)) scan = kernels::both(scan, program.text->of(name));
  });
  return scan;
}

// Before the build, since it may end on another thread before the call returns. Options that were once in
// doubt leave the program in doubt, also when the call fails: that costs a split and never an answer.
void note_options(cl_program program, const char* options) noexcept {
  Process& p = process();
  kernels::Scan scan{false, true};
  try {
    const auto record = p.programs.find(program);
    if (!record) return;
    scan = scan_options_for(*record, all_options(options));
  } catch (...) {  // out of memory: in doubt
  }
  p.programs.update(program, [&](ProgramRecord& record) { record.rest = kernels::both(record.rest, scan); });
}

// A program of which no text was seen has no record, also where its address had one.
cl_program unseen(cl_program program) noexcept {
  if (program != nullptr) process().programs.forget(program);
  return program;
}

}  // namespace

cl_program CL_API_CALL create_program_with_source(cl_context context, cl_uint count, const char** strings,
                                                  const size_t* lengths, cl_int* error) noexcept {
  Process& p = process();
  cl_program program = p.next.clCreateProgramWithSource(context, count, strings, lengths, error);
  if (program == nullptr) return program;
  try {
    p.programs.add(program,
                   {std::make_shared<kernels::ProgramScan>(whole_text(count, strings, lengths)), {}});
  } catch (...) {  // out of memory: a program without a record stays whole
  }
  return program;
}

cl_program CL_API_CALL create_program_with_binary(cl_context context, cl_uint count,
                                                  const cl_device_id* devices, const size_t* lengths,
                                                  const unsigned char** binaries, cl_int* statuses,
                                                  cl_int* error) noexcept {
  return unseen(
      process().next.clCreateProgramWithBinary(context, count, devices, lengths, binaries, statuses, error));
}

cl_program CL_API_CALL create_program_with_il(cl_context context, const void* il, size_t length,
                                              cl_int* error) noexcept {
  return unseen(process().next.clCreateProgramWithIL(context, il, length, error));
}

cl_program CL_API_CALL create_program_with_built_in_kernels(cl_context context, cl_uint count,
                                                            const cl_device_id* devices, const char* names,
                                                            cl_int* error) noexcept {
  return unseen(process().next.clCreateProgramWithBuiltInKernels(context, count, devices, names, error));
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* data) noexcept {
  note_options(program, options);
  return process().next.clBuildProgram(program, count, devices, options, notify, data);
}

cl_int CL_API_CALL compile_program(cl_program program, cl_uint count, const cl_device_id* devices,
                                   const char* options, cl_uint headers, const cl_program* header_programs,
                                   const char** header_names, void(CL_CALLBACK* notify)(cl_program, void*),
                                   void* data) noexcept {
  note_options(program, options);
  return process().next.clCompileProgram(program, count, devices, options, headers, header_programs,
                                         header_names, notify, data);
}

cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id* devices,
                                    const char* options, cl_uint inputs, const cl_program* input_programs,
                                    void(CL_CALLBACK* notify)(cl_program, void*), void* data,
                                    cl_int* error) noexcept {
  Process& p = process();
  cl_program program =
      p.next.clLinkProgram(context, count, devices, options, inputs, input_programs, notify, data, error);
  if (program == nullptr) return program;
  // Splittable only if every input's whole text was seen and is.
  ProgramRecord linked;
  bool all_seen = inputs != 0;
  for (cl_uint i = 0; i < inputs && all_seen; ++i) {
    const auto input = p.programs.find(input_programs[i]);
    all_seen = input.has_value();
    if (all_seen) linked.rest = kernels::both(linked.rest, input->whole());
  }
  if (!all_seen) return unseen(program);
  try {
    p.programs.add(program, linked);
  } catch (...) {
  }
  return program;
}

}  // namespace cleave::interpose
