// All objects of a face whose handles are ours: made around a driver's, found, counted, and gone in time.
//
//   prepare   takes the memory before the driver is asked, so that what the driver made is never lost for
//   want of it publish   the driver has made its object: from now on the handle is valid, with one reference
//   of the program's discard   the driver has not release   the program gives a reference back; if nothing is
//   left, the handle is invalid from here on, and
//             `reap` follows when the driver has been told
//
// Thread-safe. Nothing here throws. Finding an object takes no lock; making and losing one takes the arena's
// and, for the kinds that queries answer with, one of the index.
#pragma once

#include <cstdint>
#include <mutex>

#include "objects/arena.h"
#include "objects/handle_index.h"
#include "objects/object.h"

namespace cleave::objects {

class Objects {
 public:
  constexpr Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() { delete index_; }  // only tests do that

  // Once, before all else. False if there is no memory. Without an index for faces that have no driver's
  // handles to lead back from; they do not call wrap().
  enum class Indexed : bool { no, yes };
  bool begin(const Table& dispatch, Indexed indexed = Indexed::yes);

  // From now on called with each object that was published, when nothing holds it any more and before what it
  // holds itself is dropped. For faces that keep something of their own behind `raw`. Before there are
  // objects.
  using Finalizer = void (*)(Object&) noexcept;
  void set_finalizer(Finalizer function) { finalizer_ = function; }

  // The live object behind a handle that a program gave, or null.
  template <OpenClHandle Handle>
  [[nodiscard]] Object* find(Handle handle) const {
    return arena_.find(handle, KindOf<Handle>::kind);
  }
  [[nodiscard]] Object* find(const void* handle, Kind kind) const { return arena_.find(handle, kind); }
  [[nodiscard]] Object* slot_at(const void* handle) const { return arena_.slot_at(handle); }

  // Memory for an object that belongs below `parent`, which it will hold; null if there is none.
  Object* prepare(Kind kind, Object& parent);
  void discard(Object& object);

  // `counts` is what the object begins with.
  Object& publish(Object& object, void* raw, std::uint64_t counts = kReference);

  // A platform, or a device that is not a sub-device: never goes. Null if there is no memory.
  Object* make_root(Kind kind, void* raw, std::uint16_t driver, void* dispatch_data);

  // The object around a driver's handle that a query about `asked` has answered with. What is not known yet
  // (the driver made it by itself) gets an object that never goes. Null for null, and if there is no memory.
  Object* wrap(Kind kind, void* raw, Object& asked);

  // One more of the program's references; false if the object has gone meanwhile.
  bool retain(Object& object);

  enum class Remaining : std::uint8_t { invalid, some, none };
  Remaining release(Object& object);
  void reap(Object& object);

  // `child` holds `parent`, too. Before the child is known to others. False if there is no memory.
  bool add_parent(Object& child, Object& parent);

  void hold(Object& object) { object.counts.fetch_add(kHolder, std::memory_order_relaxed); }
  void drop(Object& object);

  // For fork(): no other thread is inside between these two.
  void lock_all();
  void unlock_all();

  // In the child, before unlock_all(): all objects but roots are the parent's. Their handles are not valid,
  // and what is behind them is never touched again; neither is their memory used for others.
  void disown_all() { arena_.disown_all(); }
  template <OpenClHandle Handle>
  [[nodiscard]] bool is_disowned(Handle handle) const {
    const Object* const object = arena_.slot_at(handle);
    return object != nullptr && object->tag.load(std::memory_order_relaxed) == disowned(KindOf<Handle>::kind);
  }

 private:
  void invalidate(Object& object);

  Arena arena_;
  HandleIndex* index_ = nullptr;
  Finalizer finalizer_ = nullptr;
  std::mutex wrap_mutex_;  // a driver's handle gets one object, whoever asks first
};

}  // namespace cleave::objects
