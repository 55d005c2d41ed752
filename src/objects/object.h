// An OpenCL object of our own, around one of a driver's. The handle that programs hold is its address.
//
// The first word is the dispatch table, as cl_khr_icd asks for, the second the loader's data of cl_khr_icd 2.
// All objects are of one size and live in one arena (objects/arena.h). Their memory stays readable for ever,
// so a handle whose object is gone is told apart by its tag, without a lock.
//
// Two counts make its life: the program's references, and those who hold it besides: its children (a queue
// holds its context), and callbacks that are to hand the handle out. The program's references are the
// driver's as well, one for one, so what a program asks for is the driver's own count. An object lives while
// there is any of either: a driver keeps a context alive while there are queues, and a query for the queue's
// context must give the same handle.
//
// Thread-safe where the members are atomic; the others are written before the handle is known to anybody.
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
  bool root = false;                     // never goes: a platform, or a device that is not a sub-device
  std::uint16_t driver = 0;              // which of the wrapped platforms it belongs to
  std::atomic<std::uint64_t> counts{0};  // the program's references, and kHolder times the holders
  std::atomic<void*> raw{nullptr};       // the driver's handle
  // What it holds. In an object that is gone, the first is the next to be used again.
  std::array<Object*, 2> parents{};
  // A kernel's arguments (vendor/arguments.cpp), a context's sub-devices (objects/objects.h), a callback's
  // user data.
  std::atomic<std::uintptr_t> extra{0};
};
static_assert(sizeof(Object) == kObjectSize);

inline constexpr std::uint32_t kGone = 0x676f6e65;
inline constexpr std::uint32_t live(Kind kind) { return 0xc1ea7e00U + static_cast<std::uint32_t>(kind); }
// Of the process that this one was forked from.
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
