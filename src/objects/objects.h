// The objects of a face whose handles are ours: creation around a driver's object, look-up, reference counts, and
// destruction. An object goes through these calls:
//
//   prepare   allocates memory, before the driver is called, so that an object of the driver is never lost
//   publish   the driver's call succeeded: the handle is valid, with one reference of the program's
//   discard   the driver's call failed
//   release   drops a reference of the program's; after the last one the handle is invalid, and the caller calls
//   reap      after the driver's release function
//
// Thread-safe; nothing throws. Look-up takes no lock. Creation and destruction take the arena's lock and, for the kinds
// that queries return, one of the index.
#pragma once

#include <cstdint>

#include "base/threads/mutex.h"
#include "objects/arena.h"
#include "objects/handle_index.h"
#include "objects/object.h"

namespace cleave::objects {

class Objects {
 public:
  constexpr Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() { delete index_; }  // in tests only; otherwise never destroyed

  // Called once, before all else. Returns false if there is no memory. Faces without a driver's handles need no index;
  // they do not call wrap().
  enum class Indexed : bool { no, yes };
  bool begin(const Table& dispatch, Indexed indexed = Indexed::yes);

  // Sets a function that is called with each published object before it is freed, while its parents are still alive. For
  // faces that keep data of their own behind `raw`. To be called before there are objects.
  using Finalizer = void (*)(Object&) noexcept;
  void set_finalizer(Finalizer function) { finalizer_ = function; }

  // The live object behind a handle that a program passed, or null.
  template <OpenClHandle Handle>
  [[nodiscard]] Object* find(Handle handle) const {
    return arena_.find(handle, KindOf<Handle>::kind);
  }
  [[nodiscard]] Object* find(const void* handle, Kind kind) const { return arena_.find(handle, kind); }
  [[nodiscard]] Object* slot_at(const void* handle) const { return arena_.slot_at(handle); }

  // Memory for a child of `parent`, with a hold on it; null if there is no memory.
  Object* prepare(Kind kind, Object& parent);
  void discard(Object& object);

  // `counts` is the initial value of Object::counts.
  Object& publish(Object& object, void* raw, std::uint64_t counts = kReference);

  // A platform, or a device that is not a sub-device; never freed. All that is made from it gets the same dispatch table:
  // that of begin(), or another one with the same functions, by which others tell drivers apart. Null if there is no memory.
  Object* make_root(Kind kind, void* raw, std::uint16_t driver, void* dispatch_data,
                    const Table* dispatch = nullptr);

  // The object around a driver's handle that a query about `asked` returned. A handle that is not known yet (the driver
  // made it by itself) gets an object that is never freed. Null for null, and if there is no memory. Requires: an
  // index.
  Object* wrap(Kind kind, void* raw, Object& asked);

  // Adds a reference of the program's; false if the object has died meanwhile.
  bool retain(Object& object);

  enum class Remaining : std::uint8_t { invalid, some, none };
  Remaining release(Object& object);
  void reap(Object& object);

  // Adds a hold of `child` on `parent`, before the child is published. False if there is no memory.
  bool add_parent(Object& child, Object& parent);

  void hold(Object& object) { object.counts.fetch_add(kHolder, std::memory_order_relaxed); }
  void drop(Object& object);

  // For fork(): all locks, which the analysis cannot follow. A face registers this object (base/threads/fork_locks.h).
  void lock();
  void unlock();

  // In the forked child, before unlock(): all objects but roots belong to the parent process. Their handles become
  // invalid, the driver's objects behind them are not touched, and their memory is not reused.
  void disown_all() {
    arena_.mutex().assert_held();
    arena_.disown_all();
  }
  template <OpenClHandle Handle>
  [[nodiscard]] bool is_disowned(Handle handle) const {
    const Object* const object = arena_.slot_at(handle);
    return object != nullptr && object->tag.load(std::memory_order_relaxed) == disowned(KindOf<Handle>::kind);
  }

 private:
  void invalidate(Object& object);

  Arena arena_;
  const Table* dispatch_ = nullptr;
  HandleIndex* index_ = nullptr;
  Finalizer finalizer_ = nullptr;
  base::Mutex wrap_mutex_;  // so that concurrent queries make one object for a driver's handle
};

}  // namespace cleave::objects
