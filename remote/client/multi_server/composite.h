// Objects of a context over several servers: a composite, which the program knows, and its shards, ordinary objects of one
// server each, which the program never sees. Queues and events belong to one server: they are ordinary objects below a
// shard of the context.
//
// A composite has no id. Its state is that of an ordinary object, filled in like its shards', so code that only reads states
// need not distinguish. A shard is null if its server has gone, or has no device that the object is for.
//
// Thread-safe like the states on which they are based.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

struct CoherenceState;
class CommandOrder;

// Object::driver of all objects of such contexts, composites and shards; children inherit it from their parents.
inline constexpr std::uint16_t kMultiServerMark = 0xffff;
inline bool is_multi_server(const Object& object) { return object.driver == kMultiServerMark; }

inline void release_shard(cl_context shard) { client::clReleaseContext(shard); }
inline void release_shard(cl_mem shard) { client::clReleaseMemObject(shard); }
inline void release_shard(cl_sampler shard) { client::clReleaseSampler(shard); }
inline void release_shard(cl_program shard) { client::clReleaseProgram(shard); }
inline void release_shard(cl_kernel shard) { client::clReleaseKernel(shard); }

template <typename S>
struct Composite : S {
  using S::S;
  using Base = S;
  using Handle = typename S::Handle;
  ~Composite() override {
    for (const Handle shard : shards) {
      if (shard != nullptr) release_shard(shard);
    }
  }
  std::vector<Handle> shards;  // one for each shard of the context
};

struct CompositeContext : Composite<ContextState> {
  using Composite::Composite;
  std::shared_ptr<CommandOrder> order;
};

struct CompositeMemory : Composite<MemoryState> {
  using Composite::Composite;
  ~CompositeMemory() override;
  std::shared_ptr<CoherenceState> coherence;  // that of the buffer for sub-buffers and images on buffers
  std::atomic<cl_mem> handle{nullptr};        // for its destructor callbacks
};

using CompositeSampler = Composite<SamplerState>;
using CompositeProgram = Composite<ProgramState>;

struct CompositeKernel : Composite<KernelState> {
  using Composite::Composite;
  struct Argument {
    bool may_write = true;                      // by its qualifiers in the kernel
    cl_mem_flags flags = 0;                     // of the memory object
    std::shared_ptr<CoherenceState> coherence;  // null: not a memory object
  };
  std::vector<Argument> arguments;
};

inline CompositeContext& context_of(const Object& composite) { return state_of<CompositeContext>(composite); }

// The shard of its context to which a queue belongs.
inline std::size_t shard_of(const QueueState& queue) { return state_of<ContextState>(*queue.context).shard; }

// The shard to which a device belongs. The number of shards if it is not a device of the context.
std::size_t shard_of(const CompositeContext& context, const Object* device);

inline Connection& connection_of(const CompositeContext& context, std::size_t shard) {
  return *state_of<ContextState>(object_of(context.shards[shard])).connection;
}

// Creates a composite below `parent` whose shards make(shard, error) creates. What a lost server cannot create is left out,
// unless all servers are lost. fill(state, shard's state) fills in the rest from one of the shards.
template <typename C, typename Make, typename Fill>
typename C::Handle create_composite(Object& context, Object& parent, cl_int* error_ret, Make make,
                                    Fill fill) {
  using Handle = typename C::Handle;
  const CompositeContext& of = context_of(context);
  NewObject<C> made(parent, *of.connection, 0);
  if (!made) return fail<Handle>(error_ret, CL_OUT_OF_HOST_MEMORY);
  cl_int error = CL_SUCCESS;
  bool filled = false;
  for (std::size_t shard = 0; shard < of.shards.size(); ++shard) {
    cl_int one = CL_SUCCESS;
    made->shards.push_back(make(shard, one));
    if (made->shards.back() != nullptr && !filled) {
      fill(*made, state_of<typename C::Base>(object_of(made->shards.back())));
      filled = true;
    }
    if (one != CL_SUCCESS && (error == CL_SUCCESS || error == kConnectionLost)) error = one;
    if (one != CL_SUCCESS && connection_of(of, shard).alive()) break;
  }
  if (filled && error == kConnectionLost) error = CL_SUCCESS;
  if (!filled && error == CL_SUCCESS) error = CL_INVALID_VALUE;
  return made.finish(error, error_ret);
}

}  // namespace cleave::remote::client::multi_server
