#include <algorithm>

#include "base/configuration.h"
#include "base/log.h"
#include "base/scoped_thread_state.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

template <typename Handle>
void set_finalizer(Object& object, DestructorCallbacks<Handle>& destructor_callbacks) {
  const std::scoped_lock lock(destructor_callbacks.mutex);
  for (auto call = destructor_callbacks.callbacks.rbegin(); call != destructor_callbacks.callbacks.rend();
       ++call) {
    client.callbacks.post([call = *call, handle = objects::handle_of<Handle>(&object)] {
      call.function(handle, call.user_data);
    });
  }
  destructor_callbacks.callbacks.clear();
}

// The memory of a memory object may be in use until the server says otherwise.
void post_when_released(Object& object, MemoryState& memory) {
  const std::scoped_lock lock(memory.destructor_callbacks.mutex);
  if (memory.destructor_callbacks.callbacks.empty()) return;
  memory.connection->on_memory_released(
      memory.id, [callbacks = std::move(memory.destructor_callbacks.callbacks),
                  handle = objects::handle_of<cl_mem>(&object)] {
        for (auto call = callbacks.rbegin(); call != callbacks.rend(); ++call) {
          client.callbacks.post([call = *call, handle] { call.function(handle, call.user_data); });
        }
      });
}

// Nothing holds the object any more. One without an id stands for those of several servers, which its body's
// end gives back.
void end(Object& object) noexcept try {
  auto* const state = static_cast<ObjectState*>(objects::raw_of(object));
  switch (object.kind) {
    case Kind::platform:
      return;
    case Kind::queue:
      state->connection->unsubscribe(state->id);
      break;
    case Kind::context:
      if (state->id != 0) state->connection->unsubscribe(state->id);
      set_finalizer(object, static_cast<ContextState*>(state)->destructor_callbacks);
      break;
    case Kind::memory:
      if (state->id != 0) post_when_released(object, *static_cast<MemoryState*>(state));
      break;
    case Kind::program:
      set_finalizer(object, static_cast<ProgramState*>(state)->destructor_callbacks);
      break;
    default:
      break;
  }
  if (state->id != 0) state->connection->release(state->id, object.kind != Kind::event);
  delete state;
} catch (...) {  // out of memory: a call or a release is lost
}

void start() {
  base::Configuration configuration = base::load(base::process_environment());
  client.settings = configuration.settings.remote;
  client.table = make_table();
  if (!client.objects.begin(client.table, objects::Objects::Indexed::no)) {
    return base::log_line("no memory for the remote devices' objects");
  }
  client.objects.set_finalizer(end);
  client.servers.connect_all(client.settings);
  bool all = true;
  for (std::size_t i = 0; i < client.servers.count(); ++i) all &= client.servers.current(i) != nullptr;
  if (all || !client.settings.required) make_platform();
}

}  // namespace

NoDestructor state;

void begin() noexcept try {
  const base::ScopedCancelDisable uncancelled;
  const std::scoped_lock lock(client.mutex);
  if (client.started) return;
  client.started = true;
  start();
} catch (...) {
  base::log_line("out of memory while the remote devices were looked for");
}

void before_fork() {
  client.mutex.lock();
  client.servers.lock();
  for (const Object* const device : client.devices) state_of<DeviceState>(*device).infos.lock();
  client.callbacks.lock();
  client.internal_callbacks.lock();
  client.migration_worker.lock();
  client.objects.lock_all();
  client.svm.lock();
}

namespace {

void unlock_objects() {
  client.svm.unlock();
  client.objects.unlock_all();
  for (const Object* const device : client.devices) state_of<DeviceState>(*device).infos.unlock();
}

}  // namespace

void after_fork_in_parent() {
  unlock_objects();
  client.migration_worker.unlock();
  client.internal_callbacks.unlock();
  client.callbacks.unlock();
  client.servers.unlock();
  client.mutex.unlock();
}

// Nobody knows in which state other threads have left what the parent's objects stand for, or whether they
// held its locks. So they are not touched any more.
void after_fork_in_child() {
  client.objects.disown_all();
  unlock_objects();
  client.migration_worker.reset_in_child();
  client.internal_callbacks.reset_in_child();
  client.callbacks.reset_in_child();
  client.servers.close_in_child();
  new (&client.mutex) std::recursive_mutex;  // its owner was a thread of the parent's
}

void flush_all() noexcept { client.servers.flush(); }

std::string printable(std::string text) {
  constexpr std::size_t kMost = 200;
  if (text.size() > kMost) text.resize(kMost);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

}  // namespace cleave::remote::client
