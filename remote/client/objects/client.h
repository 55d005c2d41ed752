// The process-wide object table, the callback threads, what is known of ways between servers, and how objects are found and created.
//
// Thread-safe.
#pragma once

#include <cassert>
#include <new>
#include <type_traits>
#include <utility>

#include "base/no_destructor.h"
#include "objects/objects.h"
#include "remote/client/link/box.h"
#include "remote/client/link/copy_threads.h"
#include "remote/client/multi_server/direct_paths.h"
#include "remote/client/objects/callback_queue.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/object_state.h"
#include "remote/client/objects/svm_blocks.h"

namespace cleave::remote::client {

struct Client {
  objects::Objects objects;
  CallbackQueue callbacks;  // the program's functions
  // For dependencies between servers (multi_server/). What runs on the first waits for nothing but sockets; what runs on
  // the second waits for data on its way between servers.
  CallbackQueue internal_callbacks;
  CallbackQueue migration_worker;
  CopyThreads copy_threads;
  SvmBlocks svm;
  multi_server::DirectPaths direct_paths;
};

// Never destroyed: programs call OpenCL from exit handlers, too. Defined in library/startup.cpp.
extern base::NoDestructor<Client> client_storage;
inline constinit Client& client = *client_storage;

// Reads the settings and connects to the servers, once; concurrent calls wait for the first. Never throws.
// Defined in library/startup.cpp.
void initialize() noexcept;

// The object behind a handle, or null.
template <objects::OpenClHandle Handle>
Object* find(Handle handle) {
  return client.objects.find(handle);
}

// The object behind a handle that is known to be valid: an entry point has checked it, or it is the client's own.
template <objects::OpenClHandle Handle>
Object& object_of(Handle handle) {
  Object* const found = find(handle);
  assert(found != nullptr);
  if (found == nullptr) __builtin_unreachable();  // else GCC 12 warns of what a null reference would do
  return *found;
}

template <typename... States>
struct StateList {
  template <typename Handle, typename First, typename... Rest>
  static auto pick() {
    if constexpr (std::is_same_v<typename First::Handle, Handle>) {
      return static_cast<First*>(nullptr);
    } else {
      return pick<Handle, Rest...>();
    }
  }
  template <typename Handle>
  using For = std::remove_pointer_t<decltype(pick<Handle, States...>())>;
};
template <typename Handle>
using StateFor = StateList<DeviceState, ContextState, QueueState, MemoryState, SamplerState, ProgramState,
                           KernelState, EventState>::For<Handle>;

// The state of the object behind a handle, or null.
template <typename Handle>
StateFor<Handle>* find_state(Handle handle) {
  const Object* const object = find(handle);
  return object == nullptr ? nullptr : &state_of<StateFor<Handle>>(*object);
}

// An object that is being created, with its state. It is discarded unless it is published.
//
//   NewObject<SamplerState> made(*context, connection, connection.new_id());
//   if (!made) return fail<cl_sampler>(error_ret, CL_OUT_OF_HOST_MEMORY);
//   made->list = ...;
//   return made.create(error_ret, [&](auto& b) { return wire::CreateCreateSampler(b, made->id, ...); });
template <typename S>
class NewObject {
 public:
  // Takes the memory first, so that an object that a server has made is not lost for want of it.
  NewObject(Object& parent, Connection& connection, Id id)
      : object_(client.objects.prepare(S::kKind, parent)) {
    if (object_ != nullptr) state_ = new (std::nothrow) S(connection, id);
  }
  NewObject(const NewObject&) = delete;
  NewObject& operator=(const NewObject&) = delete;
  ~NewObject() {
    delete state_;
    if (object_ != nullptr) client.objects.discard(*object_);
  }

  explicit operator bool() const { return state_ != nullptr; }
  S* operator->() const { return state_; }
  S& operator*() const { return *state_; }
  [[nodiscard]] Object& object() const { return *object_; }

  // From here on the handle is valid, with one reference of the program's.
  Object& publish() {
    assert(state_ != nullptr);
    return client.objects.publish(*std::exchange(object_, nullptr),
                                  static_cast<ObjectState*>(std::exchange(state_, nullptr)));
  }
  // What a creating function returns: the handle if there is no error.
  typename S::Handle finish(cl_int error, cl_int* error_ret) {
    if (error != CL_SUCCESS) return fail<typename S::Handle>(error_ret, error);
    if (error_ret != nullptr) *error_ret = CL_SUCCESS;
    return objects::handle_of<typename S::Handle>(&publish());
  }
  // The same for an object that the server creates by the command make(builder).
  template <typename Make>
  typename S::Handle create(cl_int* error_ret, Make make, const Box& data = {}) {
    return finish(state_->connection->call({}, make, data), error_ret);
  }

 private:
  Object* object_;
  S* state_ = nullptr;
};

}  // namespace cleave::remote::client
