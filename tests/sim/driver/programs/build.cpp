// Building, compiling and linking programs. Everything is done within the call; a callback is called before
// it returns, and then, as for drivers that build in the background, the call itself succeeds.
#include <algorithm>
#include <string>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/programs/spirv.h"

namespace cleave::sim {
namespace build_functions {

using Notify = void(CL_CALLBACK*)(cl_program, void*);

void check_devices(const Context& context, cl_uint count, const cl_device_id* devices) {
  require((count == 0) == (devices == nullptr), CL_INVALID_VALUE);
  for (cl_uint i = 0; i < count; ++i) {
    require(context.has(context.state.get(devices[i])), CL_INVALID_DEVICE);
  }
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void begin(Program& program, const char* options) {
  program.options = options == nullptr ? "" : options;
  // Code that is compiled already takes no options.
  if (!program.source.empty() || !program.il.empty() || program.binary_options.empty())
    program.binary_options = in_one_line(program.options);
  program.kernels.clear();
  program.build_log.clear();
  program.binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
}

bool is_set_to_fail(const Program& program) {
  const std::string& text = program.state.options.fail_build;
  if (text.empty()) return false;
  return program.code.find(text) != std::string::npos || program.options.find(text) != std::string::npos;
}

// Gives the program its new type, or a build log with the reason for the failure.
cl_int finish_build(Program& program, cl_program_binary_type type, cl_int failure) {
  if (is_set_to_fail(program)) {
    program.status = CL_BUILD_ERROR;
    program.build_log = "error: the text \"" + program.state.options.fail_build + "\" does not build here\n";
    return failure;
  }
  program.status = CL_BUILD_SUCCESS;
  program.binary_type = type;
  if (program.executable()) {
    program.kernels = is_spirv(program.code) ? entry_points(program.code) : scan_kernels(program.code);
  }
  return CL_SUCCESS;
}

void notify_or_throw(Program& program, Notify notify, void* user_data, cl_int code) {
  if (notify == nullptr) {
    require(code == CL_SUCCESS, code);
    return;
  }
  program.state.queue_callback(
      [held = shared(program), notify, user_data] { notify(handle_of(held), user_data); });
}

void build(CallFrame&, Program& program, cl_uint count, const cl_device_id* devices, const char* options,
           Notify notify, void* user_data) {
  check_devices(*program.context, count, devices);
  require(notify != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  require(program.attached_kernels == 0, CL_INVALID_OPERATION);
  require(!program.built_in, CL_INVALID_OPERATION);
  begin(program, options);
  notify_or_throw(program, notify, user_data,
                  finish_build(program, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_BUILD_PROGRAM_FAILURE));
}

void compile(CallFrame& frame, Program& program, cl_uint count, const cl_device_id* devices,
             const char* options, cl_uint headers, const cl_program* header_list, const char** header_names,
             Notify notify, void* user_data) {
  check_devices(*program.context, count, devices);
  require((headers == 0) == (header_list == nullptr), CL_INVALID_VALUE);
  require((headers == 0) == (header_names == nullptr), CL_INVALID_VALUE);
  require(notify != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  for (cl_uint i = 0; i < headers; ++i) frame.state.get(header_list[i]);
  require(!program.source.empty() || !program.il.empty(), CL_INVALID_OPERATION);
  require(program.attached_kernels == 0, CL_INVALID_OPERATION);
  begin(program, options);
  notify_or_throw(program, notify, user_data,
                  finish_build(program, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, CL_COMPILE_PROGRAM_FAILURE));
}

bool linkable(const Program& program) {
  return program.binary_type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT ||
         program.binary_type == CL_PROGRAM_BINARY_TYPE_LIBRARY;
}

cl_program link(CallFrame& frame, Context& context, cl_uint count, const cl_device_id* devices,
                const char* options, cl_uint inputs, const cl_program* input_list, Notify notify,
                void* user_data) {
  check_devices(context, count, devices);
  require(inputs > 0 && input_list != nullptr, CL_INVALID_VALUE);
  require(notify != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  std::string code;
  for (cl_uint i = 0; i < inputs; ++i) {
    const Program& input = frame.state.get(input_list[i]);
    require(linkable(input), CL_INVALID_OPERATION);
    code += input.code;
  }
  auto program = frame.state.make<Program>();
  program->context = shared(context);
  program->devices = context.devices;
  program->code = std::move(code);
  begin(*program, options);
  const bool library = program->options.find("-create-library") != std::string::npos;
  const cl_int result =
      finish_build(*program, library ? CL_PROGRAM_BINARY_TYPE_LIBRARY : CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
                   CL_LINK_PROGRAM_FAILURE);
  if (result != CL_SUCCESS && notify == nullptr) program->release();
  notify_or_throw(*program, notify, user_data, result);
  return handle_of(program);
}

constexpr InfoRow<Program> build_rows[] = {
    {CL_PROGRAM_BUILD_STATUS, [](const Program& program) { return program.status; }},
    {CL_PROGRAM_BUILD_OPTIONS, [](const Program& program) { return program.options; }},
    {CL_PROGRAM_BUILD_LOG, [](const Program& program) { return program.build_log; }},
    {CL_PROGRAM_BINARY_TYPE, [](const Program& program) { return program.binary_type; }},
    {CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, [](const Program&) { return std::size_t{0}; }},
};

void build_info(CallFrame&, const Program& program, const Device& device, InfoQuery query) {
  require(program.context->has(device), CL_INVALID_DEVICE);
  answer(build_rows, program, query);
}

}  // namespace build_functions

void build_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clBuildProgram, build);
  SIM_IMPLEMENT(clCompileProgram, compile);
  SIM_IMPLEMENT(clLinkProgram, link);
  SIM_IMPLEMENT(clGetProgramBuildInfo, build_info);
}

}  // namespace cleave::sim
