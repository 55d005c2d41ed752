// Programs: creation, queries, callbacks. Building is in build.cpp.
//
// A binary of this driver is a line of text, then the code: "CLEAVE-SIM-BINARY 1 E" for an executable, C for
// a compiled object, L for a library, followed by the options of the build. So it survives the way into another program
// and back, and builds with other options differ.
#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/programs/spirv.h"

namespace cleave::sim {
namespace program_functions {

constexpr std::string_view binary_magic = "CLEAVE-SIM-BINARY 1 ";

std::string binary_of(const Program& program) {
  char type = 0;
  switch (program.binary_type) {
    case CL_PROGRAM_BINARY_TYPE_EXECUTABLE:
      type = 'E';
      break;
    case CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT:
      type = 'C';
      break;
    case CL_PROGRAM_BINARY_TYPE_LIBRARY:
      type = 'L';
      break;
    default:
      return {};
  }
  return std::string(binary_magic) + type + program.binary_options + '\n' + program.code;
}

// False if it is not one of ours.
bool read_binary(Program& program, std::string_view binary) {
  const std::size_t type = binary_magic.size();
  const std::size_t end = binary.find('\n');
  if (end == std::string_view::npos || end <= type || !binary.starts_with(binary_magic)) return false;
  switch (binary[type]) {
    case 'E':
      program.binary_type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
      break;
    case 'C':
      program.binary_type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
      break;
    case 'L':
      program.binary_type = CL_PROGRAM_BINARY_TYPE_LIBRARY;
      break;
    default:
      return false;
  }
  program.binary_options = binary.substr(type + 1, end - type - 1);
  program.code = binary.substr(end + 1);
  return true;
}

std::shared_ptr<Program> make_program(CallFrame& frame, Context& context) {
  auto program = frame.state.make<Program>();
  program->context = shared(context);
  program->devices = context.devices;
  return program;
}

// Gives back the reference that creating gave, where creating fails halfway.
[[noreturn]] void release_and_throw(Program& program, cl_int code) {
  program.release();
  throw Error{code};
}

cl_program with_source(CallFrame& frame, Context& context, cl_uint count, const char** strings,
                       const std::size_t* lengths) {
  require(count > 0 && strings != nullptr, CL_INVALID_VALUE);
  std::string source;
  for (cl_uint i = 0; i < count; ++i) {
    require(strings[i] != nullptr, CL_INVALID_VALUE);
    const bool counted = lengths != nullptr && lengths[i] > 0;
    source.append(strings[i], counted ? lengths[i] : std::strlen(strings[i]));
  }
  auto program = make_program(frame, context);
  program->source = source;
  program->code = std::move(source);
  return handle_of(program);
}

void read_device_list(Program& program, cl_uint count, const cl_device_id* list) {
  program.devices.clear();
  for (cl_uint i = 0; i < count; ++i) {
    Device* device = program.state.find_as<Device>(list[i]);
    if (device == nullptr || !program.context->has(*device)) release_and_throw(program, CL_INVALID_DEVICE);
    program.devices.push_back(shared(*device));
  }
}

// All devices are alike, so the first binary stands for all.
cl_program with_binary(CallFrame& frame, Context& context, cl_uint count, const cl_device_id* devices,
                       const std::size_t* lengths, const unsigned char** binaries, cl_int* status) {
  require(count > 0 && devices != nullptr && lengths != nullptr && binaries != nullptr, CL_INVALID_VALUE);
  auto program = make_program(frame, context);
  read_device_list(*program, count, devices);
  cl_int worst = CL_SUCCESS;
  for (cl_uint i = 0; i < count; ++i) {
    cl_int code = CL_SUCCESS;
    if (binaries[i] == nullptr || lengths[i] == 0) {
      code = CL_INVALID_VALUE;
    } else if (!read_binary(*program, {reinterpret_cast<const char*>(binaries[i]), lengths[i]})) {
      code = CL_INVALID_BINARY;
    }
    if (status != nullptr) status[i] = code;
    if (worst == CL_SUCCESS) worst = code;
  }
  if (worst != CL_SUCCESS) release_and_throw(*program, worst);
  // An executable is to be built first; the others can be linked.
  if (program->binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
    program->binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
  return handle_of(program);
}

// SPIR-V, of which the entry points are read, or for tests the text of a program.
cl_program with_il(CallFrame& frame, Context& context, const void* il, std::size_t length) {
  require(il != nullptr && length > 0, CL_INVALID_VALUE);
  auto program = make_program(frame, context);
  program->il.assign(static_cast<const char*>(il), length);
  program->code = program->il;
  return handle_of(program);
}

// Built-in are "sim_builtin" and all names that have a body. They are executable at once.
cl_program with_built_in_kernels(CallFrame& frame, Context& context, cl_uint count,
                                 const cl_device_id* devices, const char* names) {
  require(count > 0 && devices != nullptr && names != nullptr, CL_INVALID_VALUE);
  auto program = make_program(frame, context);
  read_device_list(*program, count, devices);
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ';');) {
    const bool known = name == "sim_builtin" || frame.state.bodies.contains(name);
    if (!known) release_and_throw(*program, CL_INVALID_VALUE);
    program->kernels.push_back({name, {}, std::nullopt, {}});
  }
  program->built_in = true;
  program->binary_type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  program->status = CL_BUILD_SUCCESS;
  return handle_of(program);
}

const std::vector<KernelSignature>& kernels_of(const Program& program) {
  require(program.executable(), CL_INVALID_PROGRAM_EXECUTABLE);
  return program.kernels;
}

std::string kernel_names(const Program& program) {
  std::string names;
  for (const auto& kernel : kernels_of(program)) names += (names.empty() ? "" : ";") + kernel.name;
  return names;
}

// One pointer to room for each device; null where the program does not want that one.
void answer_binaries(const Program& program, const InfoAnswer& answer) {
  const std::size_t size = program.devices.size() * sizeof(unsigned char*);
  answer.size(size);
  if (answer.place() == nullptr) return;
  require(answer.capacity() >= size, CL_INVALID_VALUE);
  const std::string binary = binary_of(program);
  auto* const* places = static_cast<unsigned char* const*>(answer.place());
  for (std::size_t i = 0; i < program.devices.size(); ++i) {
    if (places[i] != nullptr) std::memcpy(places[i], binary.data(), binary.size());
  }
}

constexpr InfoRow<Program> program_rows[] = {
    {CL_PROGRAM_REFERENCE_COUNT, [](const Program& program) { return program.references(); }},
    {CL_PROGRAM_CONTEXT, [](const Program& program) { return handle_of(program.context); }},
    {CL_PROGRAM_NUM_DEVICES,
     [](const Program& program) { return static_cast<cl_uint>(program.devices.size()); }},
    {CL_PROGRAM_DEVICES, [](const Program& program) { return handles_of(program.devices); }},
    {CL_PROGRAM_SOURCE, [](const Program& program) { return program.source; }},
    {CL_PROGRAM_IL, [](const Program& program,
                       const InfoAnswer& answer) { answer.bytes(program.il.data(), program.il.size()); }},
    {CL_PROGRAM_BINARY_SIZES,
     [](const Program& program) {
       return std::vector<std::size_t>(program.devices.size(), binary_of(program).size());
     }},
    {CL_PROGRAM_BINARIES,
     [](const Program& program, const InfoAnswer& answer) { answer_binaries(program, answer); }},
    {CL_PROGRAM_NUM_KERNELS, [](const Program& program) { return kernels_of(program).size(); }},
    {CL_PROGRAM_KERNEL_NAMES, [](const Program& program) { return kernel_names(program); }},
    {CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, [](const Program&) { return false; }},
    {CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, [](const Program&) { return false; }},
};

void set_release_callback(CallFrame& frame, cl_program handle, void(CL_CALLBACK* notify)(cl_program, void*),
                          void* user_data) {
  Program& program = frame.state.get(handle);
  require(notify != nullptr, CL_INVALID_VALUE);
  program.on_destruction.emplace_back([=] { notify(handle, user_data); });
}

// The value changes nothing that the driver simulates.
void set_specialization(CallFrame& frame, cl_program handle, cl_uint, std::size_t size, const void* value) {
  require(!frame.state.get(handle).il.empty(), CL_INVALID_PROGRAM);
  require(size > 0 && value != nullptr, CL_INVALID_VALUE);
}

}  // namespace program_functions

void program_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateProgramWithSource, with_source);
  SIM_IMPLEMENT(clCreateProgramWithBinary, with_binary);
  SIM_IMPLEMENT(clCreateProgramWithIL, with_il);
  SIM_IMPLEMENT(clCreateProgramWithBuiltInKernels, with_built_in_kernels);
  SIM_IMPLEMENT(clRetainProgram, retain<Program>);
  SIM_IMPLEMENT(clReleaseProgram, release<Program>);
  SIM_IMPLEMENT(clGetProgramInfo, answer_from<Program, program_rows>);
  SIM_IMPLEMENT(clSetProgramReleaseCallback, set_release_callback);
  SIM_IMPLEMENT(clSetProgramSpecializationConstant, set_specialization);
}

}  // namespace cleave::sim
