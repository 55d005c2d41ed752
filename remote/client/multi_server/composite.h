// What objects of a context over several servers are made of: a whole, which the program knows, and its
// parts, each an ordinary object of one server, which it never sees. Queues and events belong to one server
// and are ordinary objects below the context's part.
//
// A whole has no id. Its body is that of an ordinary object, filled in like its parts', so that what only
// looks into bodies need not know. A part is null where its server has gone, or has no device that the object
// is for.
//
// Thread-safe like the bodies that they begin with.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

struct CoherenceState;
class CommandOrder;

// What all objects of such contexts have in Object::driver, wholes and parts: children have their parent's.
inline constexpr std::uint16_t kMultiServerMark = 0xffff;
inline bool is_multi_server(const Object& object) { return object.driver == kMultiServerMark; }

inline void release_shard(cl_context shard) { client::clReleaseContext(shard); }
inline void release_shard(cl_mem shard) { client::clReleaseMemObject(shard); }
inline void release_shard(cl_sampler shard) { client::clReleaseSampler(shard); }
inline void release_shard(cl_program shard) { client::clReleaseProgram(shard); }
inline void release_shard(cl_kernel shard) { client::clReleaseKernel(shard); }

template <typename B, typename TheHandle>
struct Composite : B {
  using B::B;
  using Base = B;
  using Handle = TheHandle;
  ~Composite() override {
    for (const Handle shard : shards) {
      if (shard != nullptr) release_shard(shard);
    }
  }
  std::vector<Handle> shards;  // one for each of the context's
};

struct CompositeContext : Composite<ContextState, cl_context> {
  using Composite::Composite;
  std::shared_ptr<CommandOrder> order;
};

struct CompositeMemory : Composite<MemoryState, cl_mem> {
  using Composite::Composite;
  ~CompositeMemory() override;
  std::shared_ptr<CoherenceState> coherence;  // a sub-buffer's, or an image's on a buffer, are the buffer's
  cl_mem handle = nullptr;                    // for what is called at its end
};

using CompositeSampler = Composite<SamplerState, cl_sampler>;
using CompositeProgram = Composite<ProgramState, cl_program>;

struct CompositeKernel : Composite<KernelState, cl_kernel> {
  using Composite::Composite;
  struct Argument {
    bool may_write = true;                      // by what the kernel says of it
    cl_mem_flags flags = 0;                     // of what it is set to
    std::shared_ptr<CoherenceState> coherence;  // null: no memory object
  };
  std::vector<Argument> arguments;
};

inline CompositeContext& context_of(const Object& composite) { return state_of<CompositeContext>(composite); }

// Which part of its context a queue belongs to.
inline std::size_t shard_of(const QueueState& queue) { return state_of<ContextState>(*queue.context).shard; }

// Which part a device belongs to; the number of parts if it is none of the context's.
std::size_t shard_of(const CompositeContext& context, const Object* device);

inline Connection& connection_of(const CompositeContext& context, std::size_t shard) {
  return *state_of<ContextState>(*find(context.shards[shard])).connection;
}

// Makes a whole below `parent`, whose parts make(part, error) gives. What a server that has gone cannot make
// is left out, unless all have gone. fill(body, part's body) fills in the rest from one of its parts.
template <typename W, typename Make, typename Fill>
typename W::Handle create_composite(Object& context, Object& parent, cl_int* error_ret, Make make,
                                    Fill fill) {
  using Handle = typename W::Handle;
  const CompositeContext& of = context_of(context);
  const auto made = prepare<W>(parent, *of.connection, 0);
  Object* const object = made.first;
  W* const state = made.second;
  if (object == nullptr) return fail<Handle>(error_ret, CL_OUT_OF_HOST_MEMORY);
  cl_int error = CL_SUCCESS;
  bool filled = false;
  for (std::size_t shard = 0; shard < of.shards.size(); ++shard) {
    cl_int one = CL_SUCCESS;
    state->shards.push_back(make(shard, one));
    if (state->shards.back() != nullptr && !filled) {
      fill(*state, state_of<typename W::Base>(*find(state->shards.back())));
      filled = true;
    }
    if (one != CL_SUCCESS && (error == CL_SUCCESS || error == kConnectionLost)) error = one;
    if (one != CL_SUCCESS && connection_of(of, shard).alive()) break;
  }
  if (!filled || (error != CL_SUCCESS && error != kConnectionLost)) {
    delete state;
    client.objects.discard(*object);
    return fail<Handle>(error_ret, error == CL_SUCCESS ? CL_INVALID_VALUE : error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<Handle>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

}  // namespace cleave::remote::client::multi_server
