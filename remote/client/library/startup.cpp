#include "remote/client/library/startup.h"

#include <new>

#include "base/configuration.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/scoped_thread_state.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/library/dispatch_table.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

struct Startup {
  base::RecursiveMutex mutex;  // recursive: a transport's library may call OpenCL while we connect
  bool started CLEAVE_GUARDED_BY(mutex) = false;
  bool plain_table CLEAVE_GUARDED_BY(mutex) = false;
  Table table{};  // constant once started
};
base::NoDestructor<Startup> startup;

template <typename Handle>
void post_callbacks(const std::vector<typename DestructorCallbacks<Handle>::Callback>& callbacks,
                    Handle handle) {
  for (const auto& callback : callbacks)
    client.callbacks.post([callback, handle] { callback.function(handle, callback.user_data); });
}

template <typename S>
void post_destructor_callbacks(Object& object, S& state) {
  post_callbacks(state.destructor_callbacks.take(), objects::handle_of<typename S::Handle>(&object));
}

// The memory may be in use until the server reports its end.
void post_when_released(Object& object, MemoryState& memory) {
  auto callbacks = memory.destructor_callbacks.take();
  if (callbacks.empty()) return;
  memory.connection->on_memory_released(
      memory.id, [callbacks = std::move(callbacks), handle = objects::handle_of<cl_mem>(&object)] {
        post_callbacks(callbacks, handle);
      });
}

// Nothing refers to the object any more. One without an id is a composite (multi_server/), which releases its shards.
void finalize(Object& object) noexcept try {
  auto* const state = static_cast<ObjectState*>(objects::raw_of(object));
  switch (object.kind) {
    case Kind::platform:
      return;
    case Kind::queue:
      state->connection->unsubscribe(state->id);
      break;
    case Kind::context:
      if (state->id != 0) state->connection->unsubscribe(state->id);
      post_destructor_callbacks(object, *static_cast<ContextState*>(state));
      break;
    case Kind::memory:
      if (state->id != 0) post_when_released(object, *static_cast<MemoryState*>(state));
      break;
    case Kind::program:
      post_destructor_callbacks(object, *static_cast<ProgramState*>(state));
      break;
    default:
      break;
  }
  if (state->id != 0) state->connection->release(state->id, object.kind != Kind::event);
  delete state;
} catch (...) {  // out of memory: a callback or a release is lost
}

void start(bool plain_table) {
  const base::RemoteSettings settings = base::load(base::process_environment()).settings.remote;
  startup->table = make_table(plain_table);
  if (!client.objects.begin(startup->table, objects::Objects::Indexed::no)) {
    return base::log_line("no memory for the objects of remote devices");
  }
  client.objects.set_finalizer(finalize);
  catalog.servers.connect_all(settings, &has_same_devices);
  bool all = true;
  for (std::size_t i = 0; i < catalog.servers.count(); ++i) all &= catalog.servers.current(i) != nullptr;
  if (all || !settings.required) make_platform();
}

}  // namespace

const Table& platform_table() { return startup->table; }

void use_plain_table() {
  const base::RecursiveMutexLock lock(startup->mutex);
  if (!startup->started) startup->plain_table = true;
}

void begin() noexcept try {
  const base::ScopedCancelDisable no_cancel;
  const base::RecursiveMutexLock lock(startup->mutex);
  if (startup->started) return;
  startup->started = true;
  start(startup->plain_table);
} catch (...) {
  base::log_line("out of memory while connecting to the servers of remote devices");
}

namespace {

// The analysis does not follow locks that one function takes and another one releases, or loops over mutexes.
void unlock_objects() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  client.svm.unlock();
  client.objects.unlock_all();
  for (const Object* const device : catalog.devices) state_of<DeviceState>(*device).infos.unlock();
}

}  // namespace

void before_fork() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  startup->mutex.lock();
  catalog.servers.lock();
  for (const Object* const device : catalog.devices) state_of<DeviceState>(*device).infos.lock();
  client.callbacks.lock();
  client.internal_callbacks.lock();
  client.migration_worker.lock();
  client.objects.lock_all();
  client.svm.lock();
}

void after_fork_in_parent() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  unlock_objects();
  client.migration_worker.unlock();
  client.internal_callbacks.unlock();
  client.callbacks.unlock();
  catalog.servers.unlock();
  startup->mutex.unlock();
}

// Other threads of the parent may have left its objects in any state, with any of their locks held: so the objects are
// disowned and never touched again.
void after_fork_in_child() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  client.objects.disown_all();
  unlock_objects();
  client.migration_worker.reset_in_child();
  client.internal_callbacks.reset_in_child();
  client.callbacks.reset_in_child();
  catalog.servers.close_in_child();
  new (&startup->mutex) base::RecursiveMutex;  // it is owned by a thread of the parent's
}

void restart_for_tests() {
  const base::RecursiveMutexLock lock(startup->mutex);
  startup->started = false;
}

void flush_all() noexcept { catalog.servers.flush(); }

}  // namespace cleave::remote::client
