// Samplers.
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace sampler_functions {

std::shared_ptr<Sampler> make_sampler(CallFrame& frame, Context& context) {
  require(frame.state.options.images, CL_INVALID_OPERATION);
  auto sampler = frame.state.make<Sampler>();
  sampler->context = shared(context);
  return sampler;
}

cl_sampler create(CallFrame& frame, Context& context, cl_bool normalized, cl_addressing_mode addressing,
                  cl_filter_mode filter) {
  auto sampler = make_sampler(frame, context);
  sampler->normalized = normalized;
  sampler->addressing = addressing;
  sampler->filter = filter;
  return handle_of(sampler);
}

cl_sampler create_with_properties(CallFrame& frame, Context& context,
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

constexpr InfoRow<Sampler> sampler_rows[] = {
    {CL_SAMPLER_REFERENCE_COUNT, [](const Sampler& sampler) { return sampler.references(); }},
    {CL_SAMPLER_CONTEXT, [](const Sampler& sampler) { return handle_of(sampler.context); }},
    {CL_SAMPLER_NORMALIZED_COORDS, [](const Sampler& sampler) { return sampler.normalized; }},
    {CL_SAMPLER_ADDRESSING_MODE, [](const Sampler& sampler) { return sampler.addressing; }},
    {CL_SAMPLER_FILTER_MODE, [](const Sampler& sampler) { return sampler.filter; }},
    {CL_SAMPLER_PROPERTIES, [](const Sampler& sampler) { return sampler.properties; }},
};

}  // namespace sampler_functions

void sampler_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateSampler, create);
  SIM_IMPLEMENT(clCreateSamplerWithProperties, create_with_properties);
  SIM_IMPLEMENT(clRetainSampler, retain<Sampler>);
  SIM_IMPLEMENT(clReleaseSampler, release<Sampler>);
  SIM_IMPLEMENT(clGetSamplerInfo, answer_from<Sampler, sampler_rows>);
}

}  // namespace cleave::sim
