// Samplers.
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/info_answer.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

std::shared_ptr<Sampler> make_sampler(CallFrame& frame, cl_context handle) {
  Context& context = frame.state.get(handle);
  require(frame.state.options.images, CL_INVALID_OPERATION);
  auto sampler = frame.state.make<Sampler>();
  sampler->context = shared(context);
  return sampler;
}

cl_sampler create(CallFrame& frame, cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                  cl_filter_mode filter) {
  auto sampler = make_sampler(frame, context);
  sampler->normalized = normalized;
  sampler->addressing = addressing;
  sampler->filter = filter;
  return handle_of(sampler);
}

cl_sampler create_with_properties(CallFrame& frame, cl_context context,
                                  const cl_sampler_properties* properties) {
  const auto list = property_list(properties);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    const bool known = list[i] == CL_SAMPLER_NORMALIZED_COORDS || list[i] == CL_SAMPLER_ADDRESSING_MODE ||
                       list[i] == CL_SAMPLER_FILTER_MODE;
    require(known, CL_INVALID_VALUE);
  }
  auto sampler = make_sampler(frame, context);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == CL_SAMPLER_NORMALIZED_COORDS) sampler->normalized = static_cast<cl_bool>(list[i + 1]);
    if (list[i] == CL_SAMPLER_ADDRESSING_MODE) {
      sampler->addressing = static_cast<cl_addressing_mode>(list[i + 1]);
    }
    if (list[i] == CL_SAMPLER_FILTER_MODE) sampler->filter = static_cast<cl_filter_mode>(list[i + 1]);
  }
  sampler->properties = list;
  return handle_of(sampler);
}

void retain(CallFrame& frame, cl_sampler handle) { frame.state.get(handle).retain(); }

void release(CallFrame& frame, cl_sampler handle) {
  require(frame.state.get(handle).release(), CL_INVALID_SAMPLER);
}

void info(CallFrame& frame, cl_sampler handle, cl_sampler_info name, std::size_t capacity, void* value,
          std::size_t* size) {
  const Sampler& sampler = frame.state.get(handle);
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT:
      return answer.value(sampler.references());
    case CL_SAMPLER_CONTEXT:
      return answer.value(handle_of(sampler.context));
    case CL_SAMPLER_NORMALIZED_COORDS:
      return answer.value(sampler.normalized);
    case CL_SAMPLER_ADDRESSING_MODE:
      return answer.value(sampler.addressing);
    case CL_SAMPLER_FILTER_MODE:
      return answer.value(sampler.filter);
    case CL_SAMPLER_PROPERTIES:
      return answer.list(sampler.properties);
    default:
      throw Error{CL_INVALID_VALUE};
  }
}

}  // namespace

void add_sampler_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateSampler, create);
  SIM_IMPLEMENT(clCreateSamplerWithProperties, create_with_properties);
  SIM_IMPLEMENT(clRetainSampler, retain);
  SIM_IMPLEMENT(clReleaseSampler, release);
  SIM_IMPLEMENT(clGetSamplerInfo, info);
}

}  // namespace cleave::sim
