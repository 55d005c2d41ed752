#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {
namespace {

template <typename Make>
cl_sampler create_sampler(cl_context handle, cl_int* error_ret, Make make) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  return create_composite<CompositeSampler>(
      context, context, error_ret,
      [&](std::size_t shard, cl_int& error) { return make(of.shards[shard], error); },
      [&](CompositeSampler& state, const SamplerState& shard) {
        state.context = &context;
        state.normalized = shard.normalized;
        state.addressing = shard.addressing;
        state.filter = shard.filter;
        state.list = shard.list;
      });
}

}  // namespace

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                       cl_filter_mode filter, cl_int* error_ret) {
  return create_sampler(context, error_ret, [&](cl_context shard, cl_int& error) {
    return client::clCreateSampler(shard, normalized, addressing, filter, &error);
  });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
                                                     const cl_sampler_properties* properties,
                                                     cl_int* error_ret) {
  return create_sampler(context, error_ret, [&](cl_context shard, cl_int& error) {
    return client::clCreateSamplerWithProperties(shard, properties, &error);
  });
}

}  // namespace cleave::remote::client::multi_server
