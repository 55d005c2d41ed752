#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

void apply(SamplerState& state, cl_sampler_properties name, cl_sampler_properties value) {
  switch (name) {
    case CL_SAMPLER_NORMALIZED_COORDS:
      state.normalized = static_cast<cl_bool>(value);
      break;
    case CL_SAMPLER_ADDRESSING_MODE:
      state.addressing = static_cast<cl_addressing_mode>(value);
      break;
    case CL_SAMPLER_FILTER_MODE:
      state.filter = static_cast<cl_filter_mode>(value);
      break;
    default:
      break;
  }
}

cl_sampler create(cl_context handle, const std::vector<cl_sampler_properties>& list, bool plain,
                  cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_sampler>(error_ret, CL_INVALID_CONTEXT);
  const ContextState& of = state_of<ContextState>(*context);
  NewObject<SamplerState> made(*context, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_sampler>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  if (!plain) made->list = list;
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    apply(*made, list[i], list[i + 1]);
    values.push_back(list[i + 1]);
  }
  return made.create(error_ret, [&](auto& b) {
    const auto properties = plain ? b.CreateVector(values) : wire_list(b, list);
    return wire::CreateCreateSampler(b, made->id, of.id, properties, plain);
  });
}

}  // namespace

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                       cl_filter_mode filter, cl_int* error_ret) {
  return create(context,
                {CL_SAMPLER_NORMALIZED_COORDS, normalized, CL_SAMPLER_ADDRESSING_MODE, addressing,
                 CL_SAMPLER_FILTER_MODE, filter, 0},
                true, error_ret);
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
                                                     const cl_sampler_properties* properties,
                                                     cl_int* error_ret) {
  return create(context, property_list(properties), false, error_ret);
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler handle, cl_sampler_info name, size_t size, void* value,
                                    size_t* size_ret) {
  const SamplerState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_SAMPLER;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_SAMPLER_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state->context));
    case CL_SAMPLER_NORMALIZED_COORDS:
      return output.write(state->normalized);
    case CL_SAMPLER_ADDRESSING_MODE:
      return output.write(state->addressing);
    case CL_SAMPLER_FILTER_MODE:
      return output.write(state->filter);
    case CL_SAMPLER_PROPERTIES:
      return output.write_list(state->list);
    default:
      return CL_INVALID_VALUE;
  }
}

}  // namespace cleave::remote::client
