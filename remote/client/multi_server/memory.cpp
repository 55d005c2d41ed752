// Creating buffers and images: one on each server. coherence.h tracks which of them have the newest contents.
#include "remote/client/api/memory.h"

#include <atomic>

#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/coherence.h"
#include "remote/client/multi_server/command_order.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {
namespace {

// Copies everything that does not belong to one connection.
void copy_properties(MemoryState& to, const MemoryState& from) {
  to.type = from.type;
  to.flags = from.flags;
  to.size = from.size;
  to.origin = from.origin;
  to.host = from.host;
  to.properties = from.properties;
  to.format = from.format;
  to.description = from.description;
  to.pixel_bytes = from.pixel_bytes;
  to.row_pitch = from.row_pitch;
  to.slice_pitch = from.slice_pitch;
}

CompositeMemory& composite_of(cl_mem handle) { return state_of<CompositeMemory>(object_of(handle)); }

// A new object has the same contents on all servers: those that the program gave, or undefined ones.
std::shared_ptr<CoherenceState> coherence_of(const CompositeMemory& memory, const CompositeContext& context) {
  auto coherence = std::make_shared<CoherenceState>();
  coherence->domain = context.order;
  for (const cl_mem shard : memory.shards) {
    coherence->replicas.emplace_back();
    coherence->replicas.back().memory = shard;
  }
  return coherence;
}

// Creates a buffer or an image, on the memory object `above` if that is not null.
template <typename Make>
cl_mem create_memory(Object& context, Object* above, cl_int* error_ret, Make make) {
  const cl_mem made =
      create_composite<CompositeMemory>(context, above != nullptr ? *above : context, error_ret, make,
                                        [&](CompositeMemory& state, const MemoryState& shard) {
                                          copy_properties(state, shard);
                                          state.context = &context;
                                          state.parent = above;
                                        });
  if (made == nullptr) return made;
  CompositeMemory& composite = composite_of(made);
  composite.coherence = above != nullptr ? state_of<CompositeMemory>(*above).coherence
                                         : coherence_of(composite, context_of(context));
  return made;
}

template <typename MakeImage>
cl_mem create_image(cl_context handle, const cl_image_desc* desc, cl_int* error_ret, MakeImage make) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  Object* const above = desc == nullptr || desc->mem_object == nullptr ? nullptr : find(desc->mem_object);
  const bool is_wrong = desc != nullptr && desc->mem_object != nullptr &&
                        (above == nullptr || state_of<MemoryState>(*above).context != &context);
  if (is_wrong) return fail<cl_mem>(error_ret, CL_INVALID_IMAGE_DESCRIPTOR);
  return create_memory(context, above, error_ret, [&](std::size_t shard, cl_int& error) -> cl_mem {
    cl_image_desc one = desc == nullptr ? cl_image_desc{} : *desc;
    if (above != nullptr) one.mem_object = state_of<CompositeMemory>(*above).shards[shard];
    if (above != nullptr && one.mem_object == nullptr) return error = kConnectionLost, nullptr;
    return make(of.shards[shard], desc == nullptr ? nullptr : &one, error);
  });
}

// Calls the program's destructor callbacks after the last shard has ended.
struct ShardEndCount {
  std::atomic<std::size_t> left;
  std::vector<DestructorCallbacks<cl_mem>::Callback> callbacks;
  cl_mem handle;

  void count_one() {
    if (left.fetch_sub(1) != 1) return;
    for (const auto& callback : callbacks) callback.function(handle, callback.user_data);
  }
  static void CL_CALLBACK on_shard_end(cl_mem, void* data) {
    const std::unique_ptr<std::shared_ptr<ShardEndCount>> end_count(
        static_cast<std::shared_ptr<ShardEndCount>*>(data));
    (*end_count)->count_one();
  }
};

}  // namespace

CompositeMemory::~CompositeMemory() {
  auto callbacks = destructor_callbacks.take();
  if (callbacks.empty()) return;
  const auto end_count = std::make_shared<ShardEndCount>();
  end_count->left = shards.size() + 1;
  end_count->callbacks = std::move(callbacks);
  end_count->handle = handle;
  for (const cl_mem shard : shards) {
    auto kept = std::make_unique<std::shared_ptr<ShardEndCount>>(end_count);
    if (shard != nullptr && client::clSetMemObjectDestructorCallback(shard, &ShardEndCount::on_shard_end,
                                                                     kept.get()) == CL_SUCCESS) {
      static_cast<void>(kept.release());
    } else {
      end_count->left.fetch_sub(1);
    }
  }
  client.callbacks.post([end_count] { end_count->count_one(); });
}

cl_mem CL_API_CALL clCreateBuffer(cl_context handle, cl_mem_flags flags, size_t size, void* host,
                                  cl_int* error_ret) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  return create_memory(context, nullptr, error_ret, [&](std::size_t shard, cl_int& error) {
    return client::clCreateBuffer(of.shards[shard], flags, size, host, &error);
  });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error_ret) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  return create_memory(context, nullptr, error_ret, [&](std::size_t shard, cl_int& error) {
    return client::clCreateBufferWithProperties(of.shards[shard], properties, flags, size, host, &error);
  });
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* create_info, cl_int* error_ret) {
  Object& above = object_of(handle);
  const CompositeMemory& of = state_of<CompositeMemory>(above);
  return create_memory(*of.context, &above, error_ret, [&](std::size_t shard, cl_int& error) -> cl_mem {
    if (of.shards[shard] == nullptr) return error = kConnectionLost, nullptr;
    return client::clCreateSubBuffer(of.shards[shard], flags, type, create_info, &error);
  });
}

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(context, desc, error_ret,
                      [&](cl_context shard, const cl_image_desc* one, cl_int& error) {
                        return client::clCreateImage(shard, flags, format, one, host, &error);
                      });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(
      context, desc, error_ret, [&](cl_context shard, const cl_image_desc* one, cl_int& error) {
        return client::clCreateImageWithProperties(shard, properties, flags, format, one, host, &error);
      });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host,
                                   cl_int* error_ret) {
  return create_image(
      context, nullptr, error_ret, [&](cl_context shard, const cl_image_desc*, cl_int& error) {
        return client::clCreateImage2D(shard, flags, format, width, height, row_pitch, host, &error);
      });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host, cl_int* error_ret) {
  return create_image(context, nullptr, error_ret,
                      [&](cl_context shard, const cl_image_desc*, cl_int& error) {
                        return client::clCreateImage3D(shard, flags, format, width, height, depth, row_pitch,
                                                       slice_pitch, host, &error);
                      });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  if (name != CL_MEM_MAP_COUNT) return client::clGetMemObjectInfo(handle, name, size, value, size_ret);
  std::size_t count = 0;
  for (const cl_mem shard : composite_of(handle).shards) {
    if (shard == nullptr) continue;
    MemoryState& state = state_of<MemoryState>(object_of(shard));
    const base::MutexLock lock(state.mutex);
    count += state.mappings.size();
  }
  return InfoOutput{size, value, size_ret}.write(static_cast<cl_uint>(count));
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* function)(cl_mem, void*),
                                                    void* user_data) {
  if (function == nullptr) return CL_INVALID_VALUE;
  CompositeMemory& composite = composite_of(handle);
  composite.handle = handle;
  composite.destructor_callbacks.add(function, user_data);
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client::multi_server
