// The OpenCL objects of the simulated driver. Plain records: what the functions do with them is in the file
// of each kind's functions.
//
// `ClHandle` is the type of the program's handle, `invalid` the error for a handle that is none.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/driver/core/object.h"
#include "tests/sim/driver/programs/kernel_scanner.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

struct Command;

struct Platform : Object {
  using ClHandle = cl_platform_id;
  static constexpr Kind kind_of = Kind::platform;
  static constexpr cl_int invalid = CL_INVALID_PLATFORM;
  explicit Platform(DriverState& s) : Object(s, kind_of) {}
};

struct Device : Object {
  using ClHandle = cl_device_id;
  static constexpr Kind kind_of = Kind::device;
  static constexpr cl_int invalid = CL_INVALID_DEVICE;
  explicit Device(DriverState& s) : Object(s, kind_of) {}

  std::string name;
  cl_uint compute_units = 1;
  std::shared_ptr<Device> parent;  // of a sub-device
  std::vector<cl_device_partition_property> partition;

  // The device that does the work. Sub-devices share their root's.
  Device& root() { return parent ? parent->root() : *this; }
};

struct Context : Object {
  using ClHandle = cl_context;
  static constexpr Kind kind_of = Kind::context;
  static constexpr cl_int invalid = CL_INVALID_CONTEXT;
  explicit Context(DriverState& s) : Object(s, kind_of) {}
  ~Context() override;

  bool has(const Device& device) const;

  std::vector<std::shared_ptr<Device>> devices;
  std::vector<cl_context_properties> properties;
  std::vector<std::function<void()>> on_destruction;
  cl_uint queues = 0;
};

struct Queue : Object {
  using ClHandle = cl_command_queue;
  static constexpr Kind kind_of = Kind::queue;
  static constexpr cl_int invalid = CL_INVALID_COMMAND_QUEUE;
  explicit Queue(DriverState& s) : Object(s, kind_of) {}
  ~Queue() override {
    if (context) --context->queues;
  }

  bool out_of_order() const { return (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0; }
  bool profiling() const { return (flags & CL_QUEUE_PROFILING_ENABLE) != 0; }

  std::shared_ptr<Context> context;
  std::shared_ptr<Device> device;
  cl_command_queue_properties flags = 0;
  std::vector<cl_queue_properties> properties;

  // Commands that are not complete, in the order of their enqueuing, and the last barrier if it is among
  // them.
  std::deque<std::shared_ptr<Command>> commands;
  std::shared_ptr<Command> barrier;
};

// Where an image's pixels lie in its bytes.
struct ImageShape {
  cl_image_format format{};
  cl_image_desc desc{};
  std::size_t element = 0;  // bytes of a pixel
  Size3 size{1, 1, 1};      // in pixels, rows, slices (array layers count as the last)
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
};

struct Memory : Object {
  using ClHandle = cl_mem;
  static constexpr Kind kind_of = Kind::memory;
  static constexpr cl_int invalid = CL_INVALID_MEM_OBJECT;
  explicit Memory(DriverState& s) : Object(s, kind_of) {}
  ~Memory() override;

  bool is_image() const { return image.has_value(); }

  // A region that the program has mapped. It is a copy of its own, filled when the map command ends and taken
  // back when the unmap command does, except where the program lent its memory (CL_MEM_USE_HOST_PTR).
  struct Mapping {
    std::byte* pointer = nullptr;
    std::vector<std::byte> staging;
    cl_map_flags flags = 0;
    std::function<void(std::byte*)> write_back;
  };

  std::shared_ptr<Context> context;
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  cl_mem_flags flags = 0;
  std::size_t size = 0;
  std::byte* data = nullptr;  // in `storage`, in the program's memory, or in the parent's
  std::vector<std::byte> storage;
  void* host_pointer = nullptr;
  std::shared_ptr<Memory> parent;
  std::size_t origin = 0;
  std::vector<cl_mem_properties> properties;
  std::optional<ImageShape> image;
  std::vector<std::shared_ptr<Mapping>> mappings;
  std::vector<std::function<void()>> on_destruction;
};

struct Sampler : Object {
  using ClHandle = cl_sampler;
  static constexpr Kind kind_of = Kind::sampler;
  static constexpr cl_int invalid = CL_INVALID_SAMPLER;
  explicit Sampler(DriverState& s) : Object(s, kind_of) {}

  std::shared_ptr<Context> context;
  cl_bool normalized = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> properties;
};

struct Program : Object {
  using ClHandle = cl_program;
  static constexpr Kind kind_of = Kind::program;
  static constexpr cl_int invalid = CL_INVALID_PROGRAM;
  explicit Program(DriverState& s) : Object(s, kind_of) {}
  ~Program() override;

  bool executable() const { return binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE; }

  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Device>> devices;
  std::string source;  // as the program gave it; empty for other origins
  std::string il;
  // What the binary, the linked inputs or the source contain: the text that kernels are looked up in.
  std::string code;
  std::string options;
  std::string build_log;
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::vector<KernelSignature> kernels;  // once it is executable
  bool built_in = false;
  std::size_t attached_kernels = 0;
  std::vector<std::function<void()>> on_destruction;
};

struct Kernel : Object {
  using ClHandle = cl_kernel;
  static constexpr Kind kind_of = Kind::kernel;
  static constexpr cl_int invalid = CL_INVALID_KERNEL;
  explicit Kernel(DriverState& s) : Object(s, kind_of) {}
  ~Kernel() override {
    if (program) --program->attached_kernels;
  }

  // An argument as set: the value, and for memory objects and samplers the handle, which is not retained.
  struct ArgumentSlot {
    Argument value;
    const void* handle = nullptr;
  };

  std::shared_ptr<Program> program;
  KernelSignature signature;
  std::vector<ArgumentSlot> arguments;
};

struct Event : Object {
  using ClHandle = cl_event;
  static constexpr Kind kind_of = Kind::event;
  static constexpr cl_int invalid = CL_INVALID_EVENT;
  explicit Event(DriverState& s) : Object(s, kind_of) {}

  struct Callback {
    cl_int status;  // CL_SUBMITTED, CL_RUNNING or CL_COMPLETE
    void(CL_CALLBACK* function)(cl_event, cl_int, void*);
    void* user_data;
  };

  std::shared_ptr<Context> context;
  std::shared_ptr<Queue> queue;  // null for a user event
  std::shared_ptr<Command> command;
  std::vector<Callback> callbacks;  // those still to come
};

// From the type of a handle to the object behind it.
template <class H>
struct BehindHandle;
template <>
struct BehindHandle<cl_platform_id> {
  using Type = Platform;
};
template <>
struct BehindHandle<cl_device_id> {
  using Type = Device;
};
template <>
struct BehindHandle<cl_context> {
  using Type = Context;
};
template <>
struct BehindHandle<cl_command_queue> {
  using Type = Queue;
};
template <>
struct BehindHandle<cl_mem> {
  using Type = Memory;
};
template <>
struct BehindHandle<cl_sampler> {
  using Type = Sampler;
};
template <>
struct BehindHandle<cl_program> {
  using Type = Program;
};
template <>
struct BehindHandle<cl_kernel> {
  using Type = Kernel;
};
template <>
struct BehindHandle<cl_event> {
  using Type = Event;
};

template <class H>
concept ObjectHandle = requires {
  typename BehindHandle<H>::Type;
};

}  // namespace cleave::sim
