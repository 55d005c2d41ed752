// What the client knows of each object: it stands behind Object::raw (objects/object.h) and ends with the
// object.
//
// Handles to other objects are plain pointers where the object holds them (objects.h: parents), so they are
// valid as long as it is. Members without a remark are written before the handle is known to the program.
//
// Thread-safe where it says so; OpenCL asks programs to keep clSetKernelArg on one kernel to one thread at a
// time.
#pragma once

#include <array>
#include <atomic>
#include <compare>
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

struct ObjectState {
  ObjectState(Connection& the_connection, Id the_id) : connection(&the_connection), id(the_id) {}
  ObjectState(const ObjectState&) = delete;
  ObjectState& operator=(const ObjectState&) = delete;
  virtual ~ObjectState() = default;

  Connection* connection;  // null: a device that is no sub-device, which changes its connection
  Id id;
};

// A list of functions that the program wants called at an object's end: last in, first out.
template <typename Handle>
struct DestructorCallbacks {
  using Function = void(CL_CALLBACK*)(Handle, void*);
  struct Callback {
    Function function;
    void* user_data;
  };
  std::mutex mutex;
  std::vector<Callback> callbacks;
};

// Answers of queries, as the server has given them. Thread-safe.
class InfoCache {
 public:
  struct Key {
    cl_uint what = 0;  // wire::InfoSubject
    cl_uint param = 0;
    cl_uint index = 0;
    Id device = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): a zero that the compiler writes
    auto operator<=>(const Key&) const = default;
  };
  struct Info {
    cl_int error = CL_SUCCESS;
    std::vector<std::byte> bytes;
  };

  void put(const Key& key, Info info) {
    const std::scoped_lock lock(mutex_);
    infos_.insert_or_assign(key, std::move(info));
  }
  // What is there stays where it is until clear().
  [[nodiscard]] const Info* find(const Key& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = infos_.find(key);
    return found == infos_.end() ? nullptr : &found->second;
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    infos_.clear();
  }
  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }
  void copy_from(const InfoCache& other) {
    const std::scoped_lock lock(mutex_, other.mutex_);
    infos_ = other.infos_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Info> infos_;
};

struct DeviceState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::device;
  // Which one a device is on now is asked by reach() (devices.h).
  void connection() const = delete;

  std::shared_ptr<Connection> connection_ref;  // sub-devices: the connection's, like a context's
  std::size_t server = 0;                      // which of the servers it is on
  unsigned group = 0;  // those of one group, a platform of a server, can be in one context
  Id platform = 0;
  Object* parent = nullptr;
  InfoCache infos;  // from the start of the connection, and what was asked for since
  enum class Reordering : std::uint8_t { unknown, observed, never };
  std::atomic<Reordering> reordering{Reordering::unknown};  // on queues out of order (spread/overtaking.h)
  // What the client's own checks need.
  cl_device_type type = 0;
  std::size_t max_group_size = 0;
  std::vector<std::size_t> max_item_sizes;
  cl_ulong max_allocation = 0;
  bool non_uniform = false;
};

struct ContextState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::context;
  std::shared_ptr<Connection> connection_ref;  // for all that is in the context
  std::vector<Object*> devices;
  std::vector<cl_context_properties> properties;
  void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*) = nullptr;
  void* user_data = nullptr;
  cl_ulong max_allocation = 0;  // that every device can have
  InfoCache infos;              // image formats
  DestructorCallbacks<cl_context> destructor_callbacks;

  // A part of a context over the devices of several servers (spread/): that context, which lives while the
  // program has anything of the part's; the number of the part in it; and the connections of the other parts.
  Object* composite = nullptr;
  std::size_t shard = 0;
  std::vector<Connection*> siblings;
};

struct QueueState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::queue;
  Object* context = nullptr;
  Object* device = nullptr;
  std::atomic<cl_command_queue_properties> properties{0};
  std::vector<cl_queue_properties> list;
  std::optional<cl_uint> size;
  std::atomic<cl_int> failure{CL_SUCCESS};  // of a command without an event; the next wait reports it
  // Of a context over several servers: its commands do not wait for the windows; it is out of order, and its
  // commands run one after the other all the same, as far as is known.
  bool urgent = false;
  bool runs_in_order = false;
  // Kinds of commands that the driver has taken with a list of no events that is not null: bits, by their
  // type from CL_COMMAND_NDRANGE_KERNEL on.
  std::atomic<std::uint64_t> accepts_empty_wait_list{0};
};

struct MemoryState;

// A place of the program's memory that a memory object is mapped to.
struct Mapping {
  void* pointer = nullptr;
  cl_map_flags flags = 0;
  std::array<std::size_t, 3> origin{};  // buffers: bytes, in [0]
  std::array<std::size_t, 3> region{};
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
  MemoryState* shadow_owner = nullptr;  // in whose shadow it is; null: in the program's own memory
};

struct MemoryState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::memory;
  ~MemoryState() override;

  Object* context = nullptr;
  Object* parent = nullptr;  // sub-buffers' and images' buffer
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  cl_mem_flags flags = 0;
  std::size_t size = 0;    // bytes; images: of all their pixels without padding
  std::size_t origin = 0;  // sub-buffers
  void* host = nullptr;    // CL_MEM_USE_HOST_PTR
  bool svm = false;        // which is shared virtual memory
  std::vector<cl_mem_properties> properties;

  // Images. `host` has these pitches, too.
  cl_image_format format{};
  cl_image_desc description{};
  std::size_t pixel_bytes = 0;  // bytes
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  cl_uint packet_size = 0;  // pipes
  cl_uint packets = 0;

  std::mutex mutex;             // guards what follows
  std::byte* shadow = nullptr;  // where maps lead without CL_MEM_USE_HOST_PTR; of `shadow_size` bytes
  std::size_t shadow_size = 0;
  std::size_t shadow_users = 0;  // maps in it, those of the buffer's parts among them
  std::vector<Mapping> mappings;
  DestructorCallbacks<cl_mem> destructor_callbacks;
};

struct SamplerState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::sampler;
  Object* context = nullptr;
  cl_bool normalized = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> list;
};

// What is known of the kernels of one name in one build of a program. Thread-safe under `mutex`.
struct KernelSignature {
  // What an argument is set to: a plain value, an object's handle, local memory; or the driver does not say.
  enum class ArgumentKind : std::uint8_t { unknown, value, handle, local };
  // What it has been set to before without an error.
  struct Accepted {
    std::size_t size;
    unsigned form;
    bool operator==(const Accepted&) const = default;
  };
  std::vector<ArgumentKind> argument_kinds;  // one for each argument
  std::mutex mutex;                          // guards `accepted`
  std::vector<std::vector<Accepted>> accepted;
};

struct ProgramState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::program;
  Object* context = nullptr;
  std::vector<Object*> devices;
  std::string source;  // CL_PROGRAM_SOURCE
  std::vector<std::byte> il;
  InfoCache infos;                          // of its newest build
  std::mutex mutex;                         // guards what follows
  std::vector<std::size_t> reported_sizes;  // of its binaries: what the program has made room for
  std::map<std::string, std::shared_ptr<KernelSignature>> kernels;
  DestructorCallbacks<cl_program> destructor_callbacks;
};

// A form of launch that the driver has taken.
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
  static constexpr Kind kKind = Kind::kernel;
  Object* program = nullptr;
  std::string name;
  InfoCache infos;
  std::shared_ptr<KernelSignature> signature;
  std::vector<bool> set;                 // the arguments that are
  std::vector<std::size_t> local_sizes;  // those of local memory; 0: not one
  std::mutex mutex;                      // guards `accepted`
  std::vector<LaunchShape> accepted;     // with what is set now
};

struct EventState : ObjectState {
  using ObjectState::ObjectState;
  static constexpr Kind kKind = Kind::event;
  ~EventState() override;

  Object* context = nullptr;
  Object* queue = nullptr;  // null: a user event
  cl_command_type command = 0;
  std::atomic<cl_int> status{CL_QUEUED};
  // CL_PROFILING_COMMAND_QUEUED, SUBMIT, START, END, COMPLETE; written before `status` says that it is done.
  std::array<cl_ulong, 5> times{};
  bool has_times = false;

  using Notify = void(CL_CALLBACK*)(cl_event, cl_int, void*);
  struct Callback {
    cl_int status;
    Notify function;
    void* user_data;
    bool internal = false;  // not the program's: the relays' thread calls it (state.h)
  };
  std::mutex mutex;  // guards what follows
  std::vector<Callback> callbacks;
  bool is_set = false;   // a user event's
  bool counted = false;  // it is one of the program's user events that are not set yet
};

template <typename B>
B& state_of(const Object& object) {
  return *static_cast<B*>(static_cast<ObjectState*>(objects::raw_of(object)));
}

// The context that the program knows: its own, or the one that it is a part of.
inline Object* program_context(Object* context) {
  Object* const composite = state_of<ContextState>(*context).composite;
  return composite != nullptr ? composite : context;
}

}  // namespace cleave::remote::client
