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

struct Body {
  Body(Connection& the_connection, Id the_id) : connection(&the_connection), id(the_id) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  Connection* connection;  // null: a device that is no sub-device, which changes its connection
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

// Answers of queries, as the server has given them. Thread-safe.
class Infos {
 public:
  struct Key {
    cl_uint what = 0;  // wire::What
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
  void copy_from(const Infos& other) {
    const std::scoped_lock lock(mutex_, other.mutex_);
    infos_ = other.infos_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Info> infos_;
};

struct DeviceBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::device;
  // Which one a device is on now is asked by reach() (devices.h).
  void connection() const = delete;

  std::shared_ptr<Connection> hold;  // sub-devices: the connection's, like a context's
  std::size_t server = 0;            // which of the servers it is on
  unsigned group = 0;                // those of one group, a platform of a server, can be in one context
  Id platform = 0;
  Object* parent = nullptr;
  Infos infos;  // from the start of the connection, and what was asked for since
  enum class Overtaking : std::uint8_t { unknown, seen, never };
  std::atomic<Overtaking> overtaking{Overtaking::unknown};  // on queues out of order (spread/overtaking.h)
  // What the client's own checks need.
  cl_device_type type = 0;
  std::size_t max_group_size = 0;
  std::vector<std::size_t> max_item_sizes;
  cl_ulong max_allocation = 0;
  bool non_uniform = false;
};

struct ContextBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::context;
  std::shared_ptr<Connection> hold;  // for all that is in the context
  std::vector<Object*> devices;
  std::vector<cl_context_properties> properties;
  void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*) = nullptr;
  void* user_data = nullptr;
  cl_ulong max_allocation = 0;  // that every device can have
  Infos infos;                  // image formats
  EndCalls<cl_context> at_end;

  // A part of a context over the devices of several servers (spread/): that context, which lives while the
  // program has anything of the part's; the number of the part in it; and the connections of the other parts.
  Object* whole = nullptr;
  std::size_t part = 0;
  std::vector<Connection*> beside;
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
  // Of a context over several servers: its commands do not wait for the windows; it is out of order, and its
  // commands run one after the other all the same, as far as is known.
  bool urgent = false;
  bool in_turn = false;
  // Kinds of commands that the driver has taken with a list of no events that is not null: bits, by their
  // type from CL_COMMAND_NDRANGE_KERNEL on.
  std::atomic<std::uint64_t> takes_no_events{0};
};

struct MemoryBody;

// A place of the program's memory that a memory object is mapped to.
struct Mapping {
  void* pointer = nullptr;
  cl_map_flags flags = 0;
  std::array<std::size_t, 3> origin{};  // buffers: bytes, in [0]
  std::array<std::size_t, 3> region{};
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
  MemoryBody* home = nullptr;  // in whose shadow it is; null: in the program's own memory
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
  bool svm = false;        // which is shared virtual memory
  std::vector<cl_mem_properties> properties;

  // Images. `host` has these pitches, too.
  cl_image_format format{};
  cl_image_desc description{};
  std::size_t pixel = 0;  // bytes
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  cl_uint packet_size = 0;  // pipes
  cl_uint packets = 0;

  std::mutex mutex;             // guards what follows
  std::byte* shadow = nullptr;  // where maps lead without CL_MEM_USE_HOST_PTR; of `shadow_size` bytes
  std::size_t shadow_size = 0;
  std::size_t shadow_users = 0;  // maps in it, those of the buffer's parts among them
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
  // What an argument is set to: a plain value, an object's handle, local memory; or the driver does not say.
  enum class Takes : std::uint8_t { unknown, value, handle, local };
  // What it has been set to before without an error.
  struct Accepted {
    std::size_t size;
    unsigned form;
    bool operator==(const Accepted&) const = default;
  };
  std::vector<Takes> takes;  // one for each argument
  std::mutex mutex;          // guards `accepted`
  std::vector<std::vector<Accepted>> accepted;
};

struct ProgramBody : Body {
  using Body::Body;
  static constexpr Kind kKind = Kind::program;
  Object* context = nullptr;
  std::vector<Object*> devices;
  std::string source;  // CL_PROGRAM_SOURCE
  std::vector<std::byte> il;
  Infos infos;                          // of its newest build
  std::mutex mutex;                     // guards what follows
  std::vector<std::size_t> told_sizes;  // of its binaries: what the program has made room for
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
  Infos infos;
  std::shared_ptr<KernelFacts> facts;
  std::vector<bool> set;                 // the arguments that are
  std::vector<std::size_t> local_sizes;  // those of local memory; 0: not one
  std::mutex mutex;                      // guards `accepted`
  std::vector<Shape> accepted;           // with what is set now
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
    bool ours = false;  // not the program's: the relays' thread calls it (state.h)
  };
  std::mutex mutex;  // guards what follows
  std::vector<Call> calls;
  bool is_set = false;   // a user event's
  bool counted = false;  // it is one of the program's user events that are not set yet
};

template <typename B>
B& body_of(const Object& object) {
  return *static_cast<B*>(static_cast<Body*>(objects::raw_of(object)));
}

// The context that the program knows: its own, or the one that it is a part of.
inline Object* known_context(Object* context) {
  Object* const whole = body_of<ContextBody>(*context).whole;
  return whole != nullptr ? whole : context;
}

}  // namespace cleave::remote::client
