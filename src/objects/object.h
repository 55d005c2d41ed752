// An OpenCL object of our own around a driver's. Its address is the handle that programs hold.
//
// The first word is the dispatch table, as cl_khr_icd requires, the second the loader's data of cl_khr_icd 2. Both are those of
// the object's platform. All objects have the same size and live in one arena (objects/arena.h). Their memory stays readable
// forever, so that a stale handle is recognised by its tag, without a lock.
//
// Two counts keep an object alive: the program's references, and holds: those of children (a queue holds its context) and
// of callbacks that will pass the handle to the program. The program's references equal those of the driver's object, so
// queries for the count are the driver's. The object lives while either count is above zero: a driver keeps a context
// alive while it has queues, and a query for a queue's context must return the same handle.
//
// Thread-safe where the members are atomic; the others are written before the handle is published.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/opencl.h"
#include "objects/kind.h"

namespace cleave::objects {

inline constexpr std::size_t kObjectSize = 64;

struct alignas(kObjectSize) Object {
  const Table* dispatch = nullptr;
  void* dispatch_data = nullptr;
  std::atomic<std::uint32_t> tag{0};  // live(kind), or something else
  Kind kind{};
  bool root = false;                     // never freed: a platform, or a device that is not a sub-device
  std::uint16_t driver = 0;              // which of the wrapped platforms it belongs to
  std::atomic<std::uint64_t> counts{0};  // references * kReference + holds * kHolder
  std::atomic<void*> raw{nullptr};       // the driver's handle
  // The objects that it holds. In a dead object, the first is the next one in the quarantine.
  std::array<Object*, 2> parents{};
  // By kind: a kernel's arguments (set by the face), a context's further sub-devices (objects.cpp), a callback's data.
  std::atomic<std::uintptr_t> extra{0};
};
static_assert(sizeof(Object) == kObjectSize);

inline constexpr std::uint32_t kGone = 0x676f6e65;
inline constexpr std::uint32_t live(Kind kind) { return 0xc1ea7e00U + static_cast<std::uint32_t>(kind); }
// An object of the parent process, after fork().
inline constexpr std::uint32_t disowned(Kind kind) { return 0xd1504e00U + static_cast<std::uint32_t>(kind); }

inline constexpr std::uint64_t kReference = 1;
inline constexpr std::uint64_t kHolder = std::uint64_t{1} << 32U;
inline constexpr std::uint64_t references_of(std::uint64_t counts) { return counts & (kHolder - 1); }

inline void* raw_of(const Object& object) { return object.raw.load(std::memory_order_relaxed); }

template <OpenClHandle Handle>
Handle handle_of(Object* object) {
  return reinterpret_cast<Handle>(object);
}

}  // namespace cleave::objects
