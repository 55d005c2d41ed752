// The OpenCL objects of the simulated driver. Plain records: what the functions do with them is in the file
// of each kind's functions.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/sim/driver/core/object.h"
#include "tests/sim/driver/programs/kernel_scanner.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

struct Command;

// `ClHandle` is the type of the program's handle, `invalid` the error for a handle that is none.
template <class H, Kind its_kind, cl_int error>
struct ObjectOf : Object {
  using ClHandle = H;
  static constexpr Kind kind_of = its_kind;
  static constexpr cl_int invalid = error;
  explicit ObjectOf(DriverState& s) : Object(s, its_kind) {}
};

struct Platform : ObjectOf<cl_platform_id, Kind::platform, CL_INVALID_PLATFORM> {
  using ObjectOf::ObjectOf;
};

struct Device : ObjectOf<cl_device_id, Kind::device, CL_INVALID_DEVICE> {
  using ObjectOf::ObjectOf;

  std::string name;
  cl_uint compute_units = 1;
  std::shared_ptr<Device> parent;  // of a sub-device
  std::vector<cl_device_partition_property> partition;

  // The device that does the work. Sub-devices share their root's.
  Device& root() { return parent ? parent->root() : *this; }
};

struct Context : ObjectOf<cl_context, Kind::context, CL_INVALID_CONTEXT> {
  using ObjectOf::ObjectOf;
  ~Context() override;

  bool has(const Device& device) const;

  std::vector<std::shared_ptr<Device>> devices;
  std::vector<cl_context_properties> properties;
  std::vector<std::function<void()>> on_destruction;
  cl_uint queues = 0;
};

struct Queue : ObjectOf<cl_command_queue, Kind::queue, CL_INVALID_COMMAND_QUEUE> {
  using ObjectOf::ObjectOf;
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

struct Memory : ObjectOf<cl_mem, Kind::memory, CL_INVALID_MEM_OBJECT> {
  using ObjectOf::ObjectOf;
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

struct Sampler : ObjectOf<cl_sampler, Kind::sampler, CL_INVALID_SAMPLER> {
  using ObjectOf::ObjectOf;

  std::shared_ptr<Context> context;
  cl_bool normalized = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> properties;
};

struct Program : ObjectOf<cl_program, Kind::program, CL_INVALID_PROGRAM> {
  using ObjectOf::ObjectOf;
  ~Program() override;

  bool executable() const { return binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE; }

  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Device>> devices;
  std::string source;  // as the program gave it; empty for other origins
  std::string il;
  // What the binary, the linked inputs or the source contain: the text that kernels are looked up in.
  std::string code;
  std::string options;
  std::string binary_options;  // those of the build that made the code, in one line
  std::string build_log;
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type binary_type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::vector<KernelSignature> kernels;  // once it is executable
  bool built_in = false;
  std::size_t attached_kernels = 0;
  std::vector<std::function<void()>> on_destruction;
};

struct Kernel : ObjectOf<cl_kernel, Kind::kernel, CL_INVALID_KERNEL> {
  using ObjectOf::ObjectOf;
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

struct Event : ObjectOf<cl_event, Kind::event, CL_INVALID_EVENT> {
  using ObjectOf::ObjectOf;

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
Platform& behind(cl_platform_id);
Device& behind(cl_device_id);
Context& behind(cl_context);
Queue& behind(cl_command_queue);
Memory& behind(cl_mem);
Sampler& behind(cl_sampler);
Program& behind(cl_program);
Kernel& behind(cl_kernel);
Event& behind(cl_event);
template <class H>
struct BehindHandle {
  using Type = std::remove_reference_t<decltype(behind(H{}))>;
};

template <class H>
concept ObjectHandle = requires(H handle) {
  behind(handle);
};

}  // namespace cleave::sim
