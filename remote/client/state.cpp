#include "remote/client/state.h"

#include <algorithm>

#include "base/configuration.h"
#include "base/log.h"
#include "base/undisturbed.h"
#include "remote/client/devices.h"

namespace cleave::remote::client {
namespace {

template <typename Handle>
void call_at_end(Object& object, EndCalls<Handle>& at_end) {
  const std::scoped_lock lock(at_end.mutex);
  for (auto call = at_end.calls.rbegin(); call != at_end.calls.rend(); ++call) {
    client.callbacks.post([call = *call, handle = objects::handle_of<Handle>(&object)] {
      call.function(handle, call.user_data);
    });
  }
  at_end.calls.clear();
}

// The memory of a memory object may be in use until the server says otherwise.
void call_when_gone(Object& object, MemoryBody& memory) {
  const std::scoped_lock lock(memory.at_end.mutex);
  if (memory.at_end.calls.empty()) return;
  memory.connection->at_end_of(
      memory.id, [calls = std::move(memory.at_end.calls), handle = objects::handle_of<cl_mem>(&object)] {
        for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
          client.callbacks.post([call = *call, handle] { call.function(handle, call.user_data); });
        }
      });
}

// Nothing holds the object any more. One without an id stands for those of several servers, which its body's
// end gives back.
void end(Object& object) noexcept try {
  auto* const body = static_cast<Body*>(objects::raw_of(object));
  switch (object.kind) {
    case Kind::platform:
      return;
    case Kind::queue:
      body->connection->dismiss(body->id);
      break;
    case Kind::context:
      if (body->id != 0) body->connection->dismiss(body->id);
      call_at_end(object, static_cast<ContextBody*>(body)->at_end);
      break;
    case Kind::memory:
      if (body->id != 0) call_when_gone(object, *static_cast<MemoryBody*>(body));
      break;
    case Kind::program:
      call_at_end(object, static_cast<ProgramBody*>(body)->at_end);
      break;
    default:
      break;
  }
  if (body->id != 0) body->connection->release(body->id, object.kind != Kind::event);
  delete body;
} catch (...) {  // out of memory: a call or a release is lost
}

void begin_here() {
  base::Configuration configuration = base::load(base::process_environment());
  client.settings = configuration.settings.remote;
  client.table = make_table();
  if (!client.objects.begin(client.table, objects::Objects::Indexed::no)) {
    return base::say("no memory for the remote devices' objects");
  }
  client.objects.call_at_end(end);
  client.servers.meet(client.settings);
  bool all = true;
  for (std::size_t i = 0; i < client.servers.count(); ++i) all &= client.servers.current(i) != nullptr;
  if (all || !client.settings.required) make_platform();
}

}  // namespace

Forever state;

void begin() noexcept try {
  const base::Uncancelled uncancelled;
  const std::scoped_lock lock(client.mutex);
  if (client.begun) return;
  client.begun = true;
  begin_here();
} catch (...) {
  base::say("out of memory while the remote devices were looked for");
}

void before_fork() {
  client.mutex.lock();
  client.servers.lock();
  for (const Object* const device : client.devices) body_of<DeviceBody>(*device).infos.lock();
  client.callbacks.lock();
  client.relays.lock();
  client.movers.lock();
  client.objects.lock_all();
  client.svm.lock();
}

namespace {

void unlock_after_fork() {
  client.svm.unlock();
  client.objects.unlock_all();
  for (const Object* const device : client.devices) body_of<DeviceBody>(*device).infos.unlock();
}

}  // namespace

void after_fork_in_parent() {
  unlock_after_fork();
  client.movers.unlock();
  client.relays.unlock();
  client.callbacks.unlock();
  client.servers.unlock();
  client.mutex.unlock();
}

// Nobody knows in which state other threads have left what the parent's objects stand for, or whether they
// held its locks. So they are not touched any more.
void after_fork_in_child() {
  client.objects.disown_all();
  unlock_after_fork();
  client.movers.start_anew();
  client.relays.start_anew();
  client.callbacks.start_anew();
  client.servers.leave_in_child();
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
