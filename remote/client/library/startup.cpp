#include "remote/client/library/startup.h"

#include <memory>
#include <new>
#include <utility>

#include <sys/stat.h>

#include "base/log.h"
#include "base/settings/configuration.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "base/threads/scoped_thread_state.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/library/dispatch_table.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

base::NoDestructor<Client> client_storage;
base::NoDestructor<Catalog> catalog_storage;

namespace {

struct Startup {
  base::RecursiveMutex mutex;  // recursive: a transport's library may call OpenCL while we connect
  bool started CLEAVE_GUARDED_BY(mutex) = false;
  bool plain_table CLEAVE_GUARDED_BY(mutex) = false;
  base::ForkLocks* fork_locks CLEAVE_GUARDED_BY(mutex) = nullptr;  // null: not started
  Table table{};                                                   // constant once started
};
constinit Startup startup;

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

// The callbacks of an object's end, for later; empty: it has none.
template <typename S>
std::function<void()> take_destructor_callbacks(Object& object, S& state) {
  auto callbacks = state.destructor_callbacks.take();
  if (callbacks.empty()) return {};
  return [callbacks = std::move(callbacks), handle = objects::handle_of<typename S::Handle>(&object)] {
    post_callbacks(callbacks, handle);
  };
}

// The order is the driver's: memory may be in use until the server reports its end, a context ends after all that is in it, and
// a program after what was released before it.
void post_when_released(Object& object, MemoryState& memory) {
  if (auto function = take_destructor_callbacks(object, memory)) {
    memory.connection->on_memory_released(memory.id, state_of<ContextState>(*memory.context).id,
                                          std::move(function));
  }
}

void post_when_released(Object& object, ContextState& context) {
  if (auto function = take_destructor_callbacks(object, context))
    context.connection->on_context_released(context.id, std::move(function));
}

void release_program(Object& object, ProgramState& program) {
  auto function = take_destructor_callbacks(object, program);
  program.connection->release(program.id, true);
  if (function) {
    program.connection->on_program_released(program.id, state_of<ContextState>(*program.context).id,
                                            std::move(function));
  }
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
      if (state->id == 0) {
        post_destructor_callbacks(object, *static_cast<ContextState*>(state));
        break;
      }
      state->connection->unsubscribe(state->id);
      post_when_released(object, *static_cast<ContextState*>(state));
      break;
    case Kind::memory:
      if (state->id != 0) post_when_released(object, *static_cast<MemoryState*>(state));
      break;
    case Kind::program:
      if (state->id != 0) {
        release_program(object, *static_cast<ProgramState*>(state));
        delete state;
        return;
      }
      post_destructor_callbacks(object, *static_cast<ProgramState*>(state));
      break;
    default:
      break;
  }
  if (state->id != 0) state->connection->release(state->id, object.kind != Kind::event);
  delete state;
} catch (...) {  // out of memory: a callback or a release is lost
}

// Devices, pipes and descriptors are the interposer's alone: there is no file next to them.
void start_trace(const std::string& path) CLEAVE_REQUIRES(startup.mutex) {
  struct stat status {};
  if (path.empty() || call_trace != nullptr || path.starts_with("/dev/") || path.starts_with("/proc/") ||
      (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)))
    return;
  static base::NoDestructor<CallTrace> trace(path, *startup.fork_locks);
  call_trace = &*trace;
}

void start(bool plain_table) CLEAVE_REQUIRES(startup.mutex) {
  // Too large for a small stack.
  const std::unique_ptr<const base::Configuration> loaded(
      new base::Configuration(base::load(base::process_environment())));
  const base::Settings& all_settings = loaded->settings;
  const base::RemoteSettings& settings = all_settings.remote;
  start_trace(all_settings.trace);
  client.callbacks.use_signals_of_this_thread();
  startup.table = make_table(plain_table);
  if (!client.objects.begin(startup.table, objects::Objects::Indexed::no)) {
    return base::log_line("no memory for the objects of remote devices");
  }
  client.objects.set_finalizer(finalize);
  catalog.original_name = settings.original_name;
  catalog.servers.connect_all(settings, &has_same_devices);
  bool all = true;
  for (std::size_t i = 0; i < catalog.servers.count(); ++i) all &= catalog.servers.current(i) != nullptr;
  if (all || !settings.required) make_platform();
}

}  // namespace

const Table& platform_table() { return startup.table; }

void use_plain_table() {
  const base::RecursiveMutexLock lock(startup.mutex);
  if (!startup.started) startup.plain_table = true;
}

namespace {

// What is known of each root device.
struct DeviceInfoLocks {
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (const Object* const device : catalog.devices) state_of<DeviceState>(*device).infos.lock();
  }
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (const Object* const device : catalog.devices) state_of<DeviceState>(*device).infos.unlock();
  }
};

base::ForkLocks make_fork_locks() {
  using base::ForkOrder;
  static DeviceInfoLocks device_info_locks;
  base::ForkLocks locks;
  locks.add<&Servers::close_in_child>(ForkOrder::servers, catalog.servers, catalog.servers);
  locks.add(ForkOrder::device_infos, device_info_locks);
  for (const auto& [order, queue] : {std::pair{ForkOrder::callbacks, &client.callbacks},
                                     {ForkOrder::internal_callbacks, &client.internal_callbacks},
                                     {ForkOrder::migrations, &client.migration_worker}}) {
    locks.add<&CallbackQueue::reset_in_child>(order, *queue, *queue);
  }
  locks.add(ForkOrder::migrations, client.direct_paths);
  locks.add<&CopyThreads::reset_in_child>(ForkOrder::copy_threads, client.copy_threads, client.copy_threads);
  // Other threads of the parent may have left its objects in any state, with any of their locks held: so the objects are
  // disowned and never touched again.
  locks.add<&objects::Objects::disown_all>(ForkOrder::objects, client.objects, client.objects);
  locks.add(ForkOrder::shared_virtual_memory, client.svm);
  return locks;
}

}  // namespace

void initialize() noexcept try {
  const base::ScopedCancelDisable no_cancel;
  const base::RecursiveMutexLock lock(startup.mutex);
  if (startup.started) return;
  static base::NoDestructor<base::ForkLocks> fork_locks(make_fork_locks());
  startup.fork_locks = &*fork_locks;
  startup.started = true;
  start(startup.plain_table);
} catch (...) {
  base::log_line("out of memory while connecting to the servers of remote devices");
}

// Before initialize() there is nothing else to lock, and the rest may not be constructed yet: another thread may fork while
// this library is being loaded.
void before_fork() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  startup.mutex.lock();
  if (startup.fork_locks != nullptr) startup.fork_locks->before_fork();
}

void after_fork_in_parent() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  if (startup.fork_locks != nullptr) startup.fork_locks->after_fork_in_parent();
  startup.mutex.unlock();
}

void after_fork_in_child() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  if (startup.fork_locks != nullptr) startup.fork_locks->after_fork_in_child();
  new (&startup.mutex) base::RecursiveMutex;  // it is owned by a thread of the parent's
}

void restart_for_tests() {
  const base::RecursiveMutexLock lock(startup.mutex);
  startup.started = false;
}

void flush_all() noexcept {
  catalog.servers.flush();
  if (call_trace != nullptr) call_trace->end();
}

}  // namespace cleave::remote::client
