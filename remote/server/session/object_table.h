// The client's objects by their ids. Other clients' objects are in other processes.
//
// Thread-safe: builds register programs from threads of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"

namespace cleave::remote::server {

class MemoryHold;
class ProgramState;
class Queue;

enum class Kind : std::uint8_t { platform, device, context, queue, memory, sampler, program, kernel, event };

template <typename Handle>
struct KindOf;
template <Kind kKind, cl_int kInvalid>
struct HandleTraits {
  static constexpr Kind kind = kKind;
  static constexpr cl_int invalid = kInvalid;
};
template <>
struct KindOf<cl_platform_id> : HandleTraits<Kind::platform, CL_INVALID_PLATFORM> {};
template <>
struct KindOf<cl_device_id> : HandleTraits<Kind::device, CL_INVALID_DEVICE> {};
template <>
struct KindOf<cl_context> : HandleTraits<Kind::context, CL_INVALID_CONTEXT> {};
template <>
struct KindOf<cl_command_queue> : HandleTraits<Kind::queue, CL_INVALID_COMMAND_QUEUE> {};
template <>
struct KindOf<cl_mem> : HandleTraits<Kind::memory, CL_INVALID_MEM_OBJECT> {};
template <>
struct KindOf<cl_sampler> : HandleTraits<Kind::sampler, CL_INVALID_SAMPLER> {};
template <>
struct KindOf<cl_program> : HandleTraits<Kind::program, CL_INVALID_PROGRAM> {};
template <>
struct KindOf<cl_kernel> : HandleTraits<Kind::kernel, CL_INVALID_KERNEL> {};
template <>
struct KindOf<cl_event> : HandleTraits<Kind::event, CL_INVALID_EVENT> {};

// What a kernel's argument takes. The list is empty where the driver does not say.
enum class ArgumentKind : std::uint8_t { unknown, value, local, memory, sampler, queue };
using Arguments = std::vector<ArgumentKind>;

// Of a kernel. What is kept for it and its program counts as the client's memory while it lives.
struct KernelState {
  Arguments arguments;
  std::shared_ptr<ProgramState> program;
  std::shared_ptr<MemoryHold> memory;  // for its name and description
  std::map<cl_uint, std::shared_ptr<MemoryHold>>
      arguments_memory;  // for large values; for the reading thread
};

// Bytes of host memory that an object of this kind takes, with all that is kept about it, the driver's (PoCL's, where the most was
// measured) and the server's: rounded up. Kernels: and kOverheadOfArgument for each argument.
[[nodiscard]] constexpr std::uint64_t overhead_of(Kind kind) {
  constexpr std::uint64_t kSmall = 1U << 10U;
  switch (kind) {
    case Kind::context:
    case Kind::queue:
      return 4 * kSmall;
    case Kind::program:
      return 16 * kSmall;
    case Kind::kernel:
    case Kind::platform:
    case Kind::device:
    case Kind::memory:
    case Kind::sampler:
    case Kind::event:
      return kSmall;
  }
  return kSmall;
}
inline constexpr std::uint64_t kOverheadOfArgument = 128;  // with a small value
inline constexpr std::uint64_t kOverheadOfFailed = 256;  // an event or program that the driver does not have
// Overheads until a command has ended: with its event, the driver's and the server's; and for each event of its wait list, object of a
// list, and argument of a launch, which drivers copy.
inline constexpr std::uint64_t kOverheadOfCommand = 512;
inline constexpr std::uint64_t kOverheadOfListed = 64;
inline constexpr std::uint64_t kOverheadOfWatch = 128;  // a callback of an object's

struct Object {
  Object(Kind its_kind, void* its_handle, std::uint64_t its_size = 0)
      : kind(its_kind),
        handle(its_handle),
        size(its_size),
        overhead(its_kind == Kind::event && its_handle == nullptr ? kOverheadOfFailed
                                                                  : overhead_of(its_kind)) {}

  Kind kind;
  void* handle;            // null: the event of a command that failed, or a program that is being linked
  std::uint64_t size;      // of a buffer, in bytes
  std::uint64_t overhead;  // of host memory, in bytes
  bool watched = false;    // by callbacks of the driver's, once for all that the client wants to know
  std::shared_ptr<Queue> queue;           // of a queue
  std::shared_ptr<ProgramState> program;  // of a program
  std::shared_ptr<KernelState> kernel;    // of a kernel
};

// A device by its order among those that are offered.
struct DevicePlace {
  std::uint32_t platform = 0;
  std::uint32_t device = 0;
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

class ObjectTable {
 public:
  // False: the id is in use, is 0, or is in the server's range.
  bool add(std::uint64_t id, Object object);
  bool add_server_object(std::uint64_t id, Object object);  // platforms and their devices
  // The place of such a device.
  void set_place(cl_device_id device, DevicePlace place);
  [[nodiscard]] std::optional<DevicePlace> place_of(cl_device_id device) const;

  [[nodiscard]] std::optional<Object> find(std::uint64_t id) const;

  // The driver's handle; null if there is no object of this kind and id.
  template <typename Handle>
  [[nodiscard]] Handle handle(std::uint64_t id) const {
    const base::MutexLock lock(mutex_);
    const auto found = map_.find(id);
    return found != map_.end() && found->second.kind == KindOf<Handle>::kind
               ? static_cast<Handle>(found->second.handle)
               : nullptr;
  }

  // Sets the handle of a program that has been linked. False: the client has released it meanwhile.
  bool complete(std::uint64_t id, void* handle);

  // Notes that an object is watched, which counts with its overhead.
  void set_watched(std::uint64_t id);
  // What a launch of this kernel keeps of the kernel's arguments, in bytes.
  [[nodiscard]] std::uint64_t overhead_of_launch(std::uint64_t kernel) const;

  std::optional<Object> remove(std::uint64_t id);

  // The id of a device; 0: it has none.
  [[nodiscard]] std::uint64_t id_of(cl_device_id device) const;

  [[nodiscard]] std::vector<std::shared_ptr<Queue>> queues() const;

  [[nodiscard]] std::size_t size() const {
    const base::MutexLock lock(mutex_);
    return map_.size();
  }
  // Bytes of host memory that all objects take.
  [[nodiscard]] std::uint64_t overhead() const {
    const base::MutexLock lock(mutex_);
    return overhead_;
  }

 private:
  bool insert(std::uint64_t id, Object object);

  mutable base::Mutex mutex_;
  std::unordered_map<std::uint64_t, Object> map_ CLEAVE_GUARDED_BY(mutex_);
  std::uint64_t overhead_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<const void*, DevicePlace> places_ CLEAVE_GUARDED_BY(mutex_);
  std::unordered_map<const void*, std::uint64_t> devices_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
