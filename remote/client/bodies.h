// What the client knows of each object: it stands behind Object::raw (objects/object.h) and ends with the object.
//
// Handles to other objects are plain pointers where the object holds them (objects.h: parents), so they are valid as
// long as it is. Members without a remark are written before the handle is known to the program.
//
// Thread-safe where it says so; OpenCL asks programs to keep clSetKernelArg on one kernel to one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "objects/object.h"

namespace cleave::remote::client {

class Connection;
using objects::Kind;
using objects::Object;
using Id = std::uint64_t;

struct Body {
  Body(Connection& the_connection, Id the_id) : connection(&the_connection), id(the_id) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  Connection* connection;
  Id id;
};

// A list of functions that the program wants called at an object's end: last in, first out.
template <typename Handle>
struct EndCalls {
  using Function = void(CL_CALLBACK*)(Handle, void*);
  struct Call {
    Function function;
    void* user_data;
  };
  std::mutex mutex;
  std::vector<Call> calls;
};

// One answer of a query, as the server has given it.
struct Info {
  cl_int error = CL_SUCCESS;
  std::vector<std::byte> bytes;
};
using Infos = std::map<cl_uint, Info>;

struct PlatformBody : Body {
  using Body::Body;
};

struct DeviceBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::device;
  std::size_t server = 0;  // which of the servers it is on
  Object* parent = nullptr;
  Infos infos;  // from the start of the connection
  // What the client's own checks need.
  cl_device_type type = 0;
  std::size_t max_group_size = 0;
  std::vector<std::size_t> max_item_sizes;
  cl_ulong max_allocation = 0;
  bool non_uniform = false;
  std::mutex more_mutex;  // guards more_infos
  Infos more_infos;       // asked for since
};

struct ContextBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::context;
  std::vector<Object*> devices;
  std::vector<cl_context_properties> properties;
  void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*) = nullptr;
  void* user_data = nullptr;
  cl_ulong max_allocation = 0;  // that every device can have
  EndCalls<cl_context> at_end;
};

struct QueueBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::queue;
  Object* context = nullptr;
  Object* device = nullptr;
  std::atomic<cl_command_queue_properties> properties{0};
  std::vector<cl_queue_properties> list;
  std::optional<cl_uint> size;
  std::atomic<cl_int> failure{CL_SUCCESS};  // of a command without an event; the next wait reports it
};

// A place of the program's memory that a memory object is mapped to.
struct Mapping {
  void* pointer = nullptr;
  cl_map_flags flags = 0;
  std::array<std::size_t, 3> origin{};  // buffers: bytes, in [0]
  std::array<std::size_t, 3> region{};
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
};

struct MemoryBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::memory;
  ~MemoryBody() override;

  Object* context = nullptr;
  Object* parent = nullptr;  // sub-buffers' and images' buffer
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  cl_mem_flags flags = 0;
  std::size_t size = 0;    // bytes; images: of all their pixels without padding
  std::size_t origin = 0;  // sub-buffers
  void* host = nullptr;    // CL_MEM_USE_HOST_PTR
  std::vector<cl_mem_properties> properties;

  // Images. `host` has these pitches, too.
  cl_image_format format{};
  cl_image_desc description{};
  std::size_t pixel = 0;  // bytes
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  cl_uint packet_size = 0;  // pipes
  cl_uint packets = 0;

  std::mutex mutex;                // guards what follows
  std::byte* shadow = nullptr;     // where maps lead without CL_MEM_USE_HOST_PTR; of `shadow_size` bytes
  std::size_t shadow_size = 0;
  std::vector<Mapping> mappings;
  EndCalls<cl_mem> at_end;
};

struct SamplerBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::sampler;
  Object* context = nullptr;
  cl_bool normalized = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> list;
};

// What is known of the kernels of one name in one build of a program. Thread-safe under `mutex`.
struct KernelFacts {
  enum class Holds : std::uint8_t { unknown, value, object, local };
  struct Argument {
    std::vector<std::pair<std::size_t, int>> accepted;  // size and class of what the driver has taken
    Holds holds = Holds::unknown;
    bool asked = false;
  };
  std::mutex mutex;
  std::vector<Argument> arguments;
};

struct ProgramBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::program;
  Object* context = nullptr;
  std::vector<Object*> devices;
  std::string source;  // CL_PROGRAM_SOURCE
  std::vector<std::byte> il;
  std::mutex mutex;  // guards what follows
  std::map<std::string, std::shared_ptr<KernelFacts>> kernels;
  EndCalls<cl_program> at_end;
};

// A form of launch that the driver has taken.
struct Shape {
  Id device = 0;
  cl_uint dimensions = 0;
  bool has_local = false;
  std::array<std::size_t, 3> local{};
  bool uniform = true;
  bool operator==(const Shape&) const = default;
};

struct KernelBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::kernel;
  Object* program = nullptr;
  std::string name;
  std::shared_ptr<KernelFacts> facts;
  std::vector<bool> set;
  std::vector<std::size_t> local_sizes;  // of arguments in local memory; 0: not one
  std::mutex mutex;                      // guards `accepted`
  std::vector<Shape> accepted;
};

struct EventBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::event;
  ~EventBody() override;

  Object* context = nullptr;
  Object* queue = nullptr;  // null: a user event
  cl_command_type command = 0;
  std::atomic<cl_int> status{CL_QUEUED};
  // CL_PROFILING_COMMAND_QUEUED, SUBMIT, START, END, COMPLETE; written before `status` says that it is done.
  std::array<cl_ulong, 5> times{};
  bool has_times = false;

  using Notify = void(CL_CALLBACK*)(cl_event, cl_int, void*);
  struct Call {
    cl_int status;
    Notify function;
    void* user_data;
  };
  std::mutex mutex;  // guards `calls`
  std::vector<Call> calls;
};

template <typename B>
B& body_of(const Object& object) {
  return *static_cast<B*>(static_cast<Body*>(objects::raw_of(object)));
}

}  // namespace cleave::remote::client
