// What the client keeps for each OpenCL object: the state behind Object::raw (objects/object.h). It is created with the
// object and deleted with it.
//
// A state refers to other objects by plain pointers where its own object is their child (objects.h: parents), which
// keeps them alive. Members without a remark are written before the program gets the handle and never again.
//
// Threads: members are immutable, atomic, or guarded by the mutex that is named, with one exception: the arguments of a
// kernel, since OpenCL forbids concurrent clSetKernelArg calls on one kernel. The mutexes here are taken one at a time;
// callback queues' may be taken while EventState::mutex or DestructorCallbacks' is held.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "objects/object.h"
#include "remote/client/objects/info_cache.h"

namespace cleave::remote::client {

class Connection;
using objects::Kind;
using objects::Object;
using Id = std::uint64_t;  // of an object on its connection; 0: none

struct ObjectState {
  ObjectState(Connection& the_connection, Id the_id) : connection(&the_connection), id(the_id) {}
  ObjectState(const ObjectState&) = delete;
  ObjectState& operator=(const ObjectState&) = delete;
  virtual ~ObjectState() = default;

  Connection* connection;  // null for root devices, whose connection changes (devices/catalog.h)
  Id id;
};

// Functions that the program registered for an object's destruction. They are called in reverse order. Thread-safe.
template <typename Handle>
class DestructorCallbacks {
 public:
  using Function = void(CL_CALLBACK*)(Handle, void*);
  struct Callback {
    Function function;
    void* user_data;
  };

  // Returns whether it is the first.
  bool add(Function function, void* user_data) {
    const base::MutexLock lock(mutex_);
    callbacks_.insert(callbacks_.begin(), {function, user_data});
    return callbacks_.size() == 1;
  }
  // All of them, in the order in which they are to be called.
  std::vector<Callback> take() {
    const base::MutexLock lock(mutex_);
    return std::exchange(callbacks_, {});
  }

 private:
  base::Mutex mutex_;
  std::vector<Callback> callbacks_ CLEAVE_GUARDED_BY(mutex_);  // the newest first
};

struct DeviceState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_device_id;
  static constexpr Kind kKind = Kind::device;
  void connection() const = delete;  // use live_connection() (devices/catalog.h)

  std::shared_ptr<Connection> connection_ref;  // sub-devices: keeps the connection that they belong to
  std::size_t server = 0;                      // index in the list of servers
  unsigned group = 0;                          // one platform of one server: devices that can share a context
  Object* parent = nullptr;
  InfoCache infos;  // filled from the server's welcome, later by queries
  // Whether out-of-order queues of the device run commands out of order (multi_server/out_of_order_probe.h).
  enum class Reordering : std::uint8_t { unknown, observed, never };
  std::atomic<Reordering> reordering{Reordering::unknown};
  // For the client's own checks.
  cl_device_type type = 0;
  std::size_t max_dimensions = 0;
  cl_ulong max_allocation = 0;
};

struct ContextState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_context;
  static constexpr Kind kKind = Kind::context;
  std::shared_ptr<Connection> connection_ref;  // keeps the connection for everything in the context
  std::vector<Object*> devices;
  std::vector<cl_context_properties> properties;
  void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*) = nullptr;
  void* user_data = nullptr;
  cl_ulong max_allocation = 0;  // the smallest of the devices'
  InfoCache infos;              // image formats
  DestructorCallbacks<cl_context> destructor_callbacks;

  // Only in a shard of a context over several servers (multi_server/composite.h): the composite that the program knows,
  // which outlives the shard's objects; the shard's number; the other shards' connections.
  Object* composite = nullptr;
  std::size_t shard = 0;
  std::vector<Connection*> siblings;
};

struct QueueState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_command_queue;
  static constexpr Kind kKind = Kind::queue;
  Object* context = nullptr;
  Object* device = nullptr;
  std::atomic<cl_command_queue_properties> properties{0};
  std::vector<cl_queue_properties> list;
  std::atomic<cl_int> failure{CL_SUCCESS};  // of a command without an event; the next clFinish reports it
  // In contexts over several servers: commands are sent even when the server's windows are full, and whether an
  // out-of-order queue is known to run its commands in order all the same.
  bool urgent = false;
  bool runs_in_order = false;
  // Command types for which the driver has accepted a wait list that is not null but has no events. One bit for each
  // type from CL_COMMAND_NDRANGE_KERNEL on.
  std::atomic<std::uint64_t> accepts_empty_wait_list{0};
};

struct MemoryState;
class MapRegion;  // link/map_regions.h

// One clEnqueueMap... of a memory object.
struct Mapping {
  void* pointer = nullptr;
  cl_map_flags flags = 0;
  std::array<std::size_t, 3> origin{};  // buffers: bytes, in [0]
  std::array<std::size_t, 3> region{};
  MemoryState* shadow_owner = nullptr;  // the object whose shadow holds it; null: the program's own memory
  std::shared_ptr<const MapRegion> shared_region;  // the shadow, if the server has it, too
};

struct MemoryState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_mem;
  static constexpr Kind kKind = Kind::memory;
  ~MemoryState() override;  // api/maps.cpp

  Object* context = nullptr;
  Object* parent = nullptr;  // the buffer of a sub-buffer or of an image on a buffer
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  cl_mem_flags flags = 0;
  std::size_t size = 0;    // bytes; images: of all pixels, without padding
  std::size_t origin = 0;  // sub-buffers
  void* host = nullptr;    // CL_MEM_USE_HOST_PTR
  bool svm = false;        // `host` is shared virtual memory
  std::vector<cl_mem_properties> properties;

  // Images. The pitches are also those of `host`.
  cl_image_format format{};
  cl_image_desc description{};
  std::size_t pixel_bytes = 0;
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  cl_uint packet_size = 0;  // pipes
  cl_uint packets = 0;

  base::Mutex mutex;
  // The memory that maps return where the program gave none (CL_MEM_USE_HOST_PTR). Sub-buffers use their buffer's. It is our own, or,
  // while it is used, a region that is shared with the server.
  std::byte* shadow CLEAVE_GUARDED_BY(mutex) = nullptr;
  std::size_t shadow_size CLEAVE_GUARDED_BY(mutex) = 0;  // of our own
  std::shared_ptr<MapRegion> shadow_region CLEAVE_GUARDED_BY(mutex);
  std::size_t shadow_users CLEAVE_GUARDED_BY(mutex) = 0;  // maps in it, sub-buffers' included
  std::vector<Mapping> mappings CLEAVE_GUARDED_BY(mutex);
  DestructorCallbacks<cl_mem> destructor_callbacks;
};

struct SamplerState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_sampler;
  static constexpr Kind kKind = Kind::sampler;
  Object* context = nullptr;
  cl_bool normalized = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> list;
};

// The parameters of the kernels of one name in one build of a program, shared by those kernels.
struct KernelSignature {
  // What an argument takes: a plain value, an object's handle or local memory. Unknown: the driver does not tell.
  enum class ArgumentKind : std::uint8_t { unknown, value, handle, local };
  // A kind of value that the driver has accepted for an argument.
  struct Accepted {
    std::size_t size;
    unsigned form;
    bool operator==(const Accepted&) const = default;
  };
  std::vector<ArgumentKind> argument_kinds;  // one for each argument
  base::Mutex mutex;
  std::vector<std::vector<Accepted>> accepted CLEAVE_GUARDED_BY(mutex);  // one list for each argument
};

struct ProgramState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_program;
  static constexpr Kind kKind = Kind::program;
  Object* context = nullptr;
  std::vector<Object*> devices;
  std::string source;  // CL_PROGRAM_SOURCE
  std::vector<std::byte> il;
  InfoCache infos;  // of the newest build
  base::Mutex mutex;
  // CL_PROGRAM_BINARY_SIZES as last reported: what the program has allocated for the binaries.
  std::vector<std::size_t> reported_sizes CLEAVE_GUARDED_BY(mutex);
  std::map<std::string, std::shared_ptr<KernelSignature>> kernels CLEAVE_GUARDED_BY(mutex);
  DestructorCallbacks<cl_program> destructor_callbacks;
};

// A launch's parameters as far as the driver's acceptance depends on them.
struct LaunchShape {
  Id device = 0;
  cl_uint dimensions = 0;
  bool has_local = false;
  std::array<std::size_t, 3> local{};
  bool uniform = true;
  bool operator==(const LaunchShape&) const = default;
};

struct KernelState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_kernel;
  static constexpr Kind kKind = Kind::kernel;
  Object* program = nullptr;
  std::string name;
  InfoCache infos;
  std::shared_ptr<KernelSignature> signature;
  std::vector<bool> set;                 // which arguments have been set
  std::vector<std::size_t> local_sizes;  // of arguments in local memory, else 0
  base::Mutex mutex;
  // Launches that the driver has accepted with the arguments as they are now.
  std::vector<LaunchShape> accepted CLEAVE_GUARDED_BY(mutex);
};

struct EventState : ObjectState {
  using ObjectState::ObjectState;
  using Handle = cl_event;
  static constexpr Kind kKind = Kind::event;
  ~EventState() override;  // api/events.cpp

  Object* context = nullptr;
  Object* queue = nullptr;  // null: a user event
  cl_command_type command = 0;
  std::atomic<cl_int> status{CL_QUEUED};
  // CL_PROFILING_COMMAND_QUEUED, SUBMIT, START, END, COMPLETE. Written before `status` becomes CL_COMPLETE or less, and
  // read only after.
  std::array<cl_ulong, 5> times{};
  bool has_times = false;

  using Notify = void(CL_CALLBACK*)(cl_event, cl_int, void*);
  struct Callback {
    cl_int status;
    Notify function;
    void* user_data;
    bool internal = false;  // ours: called on client.internal_callbacks
  };
  base::Mutex mutex;
  std::vector<Callback> callbacks CLEAVE_GUARDED_BY(mutex);
  bool is_set CLEAVE_GUARDED_BY(mutex) = false;  // user events
  // Whether the connection counts it among the program's user events that are not set yet.
  std::atomic<bool> counted{false};
};

// Requires: the object's state is an `S`.
template <typename S>
S& state_of(const Object& object) {
  return *static_cast<S*>(static_cast<ObjectState*>(objects::raw_of(object)));
}

// The context that the program knows: the given one, or the composite whose shard it is.
inline Object* program_context(Object* context) {
  Object* const composite = state_of<ContextState>(*context).composite;
  return composite != nullptr ? composite : context;
}

}  // namespace cleave::remote::client
