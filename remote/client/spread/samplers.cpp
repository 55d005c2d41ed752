#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"

namespace cleave::remote::client::spread {
namespace {

template <typename Make>
cl_sampler create_sampler(cl_context handle, cl_int* error_ret, Make make) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  return create<WholeSampler>(
      context, context, error_ret,
      [&](std::size_t part, cl_int& error) { return make(of.parts[part], error); },
      [&](WholeSampler& body, const SamplerBody& part) {
        body.context = &context;
        body.normalized = part.normalized;
        body.addressing = part.addressing;
        body.filter = part.filter;
        body.list = part.list;
      });
}

}  // namespace

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                       cl_filter_mode filter, cl_int* error_ret) {
  return create_sampler(context, error_ret, [&](cl_context part, cl_int& error) {
    return client::clCreateSampler(part, normalized, addressing, filter, &error);
  });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
                                                     const cl_sampler_properties* properties,
                                                     cl_int* error_ret) {
  return create_sampler(context, error_ret, [&](cl_context part, cl_int& error) {
    return client::clCreateSamplerWithProperties(part, properties, &error);
  });
}

}  // namespace cleave::remote::client::spread
