#include "objects/objects.h"

#include <cassert>
#include <new>

namespace cleave::objects {
namespace {

// A linked list of a context's sub-devices beyond the first.
struct ExtraParent {
  Object* object;
  ExtraParent* next;
};

ExtraParent* extra_parents_of(const Object& object) {
  if (object.kind != Kind::context) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): set by add_parent()
  return reinterpret_cast<ExtraParent*>(object.extra.load(std::memory_order_relaxed));
}

// Not written where it stays the same: loaders read it of stale handles, too.
void set_dispatch(Object& object, const Table* dispatch) {
  if (object.dispatch != dispatch) object.dispatch = dispatch;
}

}  // namespace

bool Objects::begin(const Table& dispatch, Indexed indexed) {
  {
    // unlock() unlocks the index if there is one, so none may appear after lock().
    const base::MutexLock lock(wrap_mutex_);
    if (index_ == nullptr && indexed == Indexed::yes) index_ = new (std::nothrow) HandleIndex;
    if (index_ == nullptr && indexed == Indexed::yes) return false;
  }
  dispatch_ = &dispatch;
  return arena_.begin(dispatch);
}

Object* Objects::prepare(Kind kind, Object& parent) {
  Object* const object = arena_.allocate();
  if (object == nullptr) return nullptr;
  // A clone of a kernel is a child of the kernel's program.
  const bool clone = kind == Kind::kernel && parent.kind == Kind::kernel && parent.parents[0] != nullptr;
  Object* const above = clone ? parent.parents[0] : &parent;
  object->kind = kind;
  object->root = false;
  object->driver = parent.driver;
  set_dispatch(*object, parent.dispatch);
  object->dispatch_data = parent.dispatch_data;
  object->raw.store(nullptr, std::memory_order_relaxed);
  object->extra.store(0, std::memory_order_relaxed);
  object->parents = {above, nullptr};
  hold(*above);
  return object;
}

void Objects::discard(Object& object) { reap(object); }

Object& Objects::publish(Object& object, void* raw, std::uint64_t counts) {
  object.raw.store(raw, std::memory_order_relaxed);
  object.counts.store(counts, std::memory_order_relaxed);
  object.tag.store(live(object.kind), std::memory_order_release);
  if (index_ != nullptr && is_indexed(object.kind)) {
    try {
      index_->put(raw, object);
    } catch (const std::bad_alloc&) {
      // Not in the index: a query creates a second object for the same handle, which is the only consequence.
    }
  }
  return object;
}

Object* Objects::make_root(Kind kind, void* raw, std::uint16_t driver, void* dispatch_data,
                           const Table* dispatch) {
  Object* const object = arena_.allocate();
  if (object == nullptr) return nullptr;
  object->kind = kind;
  object->root = true;
  object->driver = driver;
  set_dispatch(*object, dispatch != nullptr ? dispatch : dispatch_);
  object->dispatch_data = dispatch_data;
  object->parents = {};
  object->extra.store(0, std::memory_order_relaxed);
  return &publish(*object, raw, kHolder);
}

Object* Objects::wrap(Kind kind, void* raw, Object& asked) {
  assert(index_ != nullptr);
  if (raw == nullptr) return nullptr;
  // Parents first: the driver may have reused the object's address since, but not those of live parents.
  for (Object* const parent : asked.parents) {
    if (parent != nullptr && parent->kind == kind && raw_of(*parent) == raw) return parent;
  }
  if (Object* const known = index_->find(raw, kind)) return known;
  const base::MutexLock lock(wrap_mutex_);
  Object* const known = index_->find(raw, kind);
  return known != nullptr ? known : make_root(kind, raw, asked.driver, asked.dispatch_data, asked.dispatch);
}

bool Objects::retain(Object& object) {
  if (object.root) return true;
  std::uint64_t counts = object.counts.load(std::memory_order_relaxed);
  while (counts != 0) {
    if (object.counts.compare_exchange_weak(counts, counts + kReference, std::memory_order_relaxed))
      return true;
  }
  return false;
}

Objects::Remaining Objects::release(Object& object) {
  if (object.root) return Remaining::some;
  std::uint64_t counts = object.counts.load(std::memory_order_relaxed);
  while (references_of(counts) != 0) {
    if (!object.counts.compare_exchange_weak(counts, counts - kReference, std::memory_order_acq_rel))
      continue;
    if (counts != kReference) return Remaining::some;
    invalidate(object);
    return Remaining::none;
  }
  return Remaining::invalid;
}

void Objects::drop(Object& object) {
  if (object.counts.fetch_sub(kHolder, std::memory_order_acq_rel) != kHolder) return;
  invalidate(object);
  reap(object);
}

void Objects::invalidate(Object& object) {
  object.tag.store(kGone, std::memory_order_release);
  if (index_ != nullptr && is_indexed(object.kind)) index_->forget(raw_of(object), object);
}

void Objects::reap(Object& object) {
  if (finalizer_ != nullptr && raw_of(object) != nullptr) finalizer_(object);
  for (Object* const parent : object.parents) {
    if (parent != nullptr) drop(*parent);
  }
  for (ExtraParent* held = extra_parents_of(object); held != nullptr;) {
    const ExtraParent last = *held;
    delete held;
    drop(*last.object);
    held = last.next;
  }
  arena_.recycle(object);
}

bool Objects::add_parent(Object& child, Object& parent) {
  if (child.parents[1] == nullptr) {
    child.parents[1] = &parent;
  } else {
    auto* const held = new (std::nothrow) ExtraParent{&parent, extra_parents_of(child)};
    if (held == nullptr || child.kind != Kind::context) return delete held, false;
    child.extra.store(reinterpret_cast<std::uintptr_t>(held), std::memory_order_relaxed);
  }
  hold(parent);
  return true;
}

void Objects::lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  wrap_mutex_.lock();
  arena_.mutex().lock();
  if (index_ != nullptr) index_->lock();
}

void Objects::unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  if (index_ != nullptr) index_->unlock();
  arena_.mutex().unlock();
  wrap_mutex_.unlock();
}

}  // namespace cleave::objects
