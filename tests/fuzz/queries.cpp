#include "queries.h"

#include <string>

namespace fuzz {

namespace {

constexpr std::size_t kAnyLength = ~std::size_t{0};

// Adds the answer to a query for a string: its text, or a hash of one that is longer than `most`.
template <typename Query>
void add_text(Observations& observations, const char* name, Query query, std::size_t most = 300) {
  std::size_t size = 0;
  cl_int status = query(0, nullptr, &size);
  std::string text(size, '\0');
  if (status == CL_SUCCESS && size > 0) status = query(size, text.data(), nullptr);
  if (status != CL_SUCCESS) observations.add(name, status);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.size() > most) {
    observations.hash(name, text.data(), text.size());
  } else {
    observations.add(name, text);
  }
}

template <typename T, typename Query>
void add_number(Observations& observations, const char* name, Query query) {
  T value{};
  const cl_int status = query(sizeof value, static_cast<void*>(&value), nullptr);
  observations.add(
      name, status == CL_SUCCESS ? static_cast<long long>(value) : static_cast<long long>(status) - 1000000);
}

void add_arguments(Observations& observations, cl_kernel kernel) {
  cl_uint count = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  for (cl_uint place = 0; place < count; ++place) {
    const auto query = [&](cl_kernel_arg_info what) {
      return [=](std::size_t size, void* value, std::size_t* needed) {
        return clGetKernelArgInfo(kernel, place, what, size, value, needed);
      };
    };
    add_text(observations, "name", query(CL_KERNEL_ARG_NAME));
    add_text(observations, "type", query(CL_KERNEL_ARG_TYPE_NAME));
    add_number<cl_kernel_arg_address_qualifier>(observations, "space",
                                                query(CL_KERNEL_ARG_ADDRESS_QUALIFIER));
    add_number<cl_kernel_arg_access_qualifier>(observations, "access", query(CL_KERNEL_ARG_ACCESS_QUALIFIER));
    add_number<cl_kernel_arg_type_qualifier>(observations, "qualifier", query(CL_KERNEL_ARG_TYPE_QUALIFIER));
  }
}

}  // namespace

void add_program(Observations& observations, cl_program program, cl_device_id device) {
  const auto info = [&](cl_program_info what) {
    return [=](std::size_t size, void* value, std::size_t* needed) {
      return clGetProgramInfo(program, what, size, value, needed);
    };
  };
  const auto of_build = [&](cl_program_build_info what) {
    return [=](std::size_t size, void* value, std::size_t* needed) {
      return clGetProgramBuildInfo(program, device, what, size, value, needed);
    };
  };
  add_text(observations, "source", info(CL_PROGRAM_SOURCE));
  add_text(observations, "names", info(CL_PROGRAM_KERNEL_NAMES));
  add_number<std::size_t>(observations, "kernels", info(CL_PROGRAM_NUM_KERNELS));
  add_number<cl_uint>(observations, "references", info(CL_PROGRAM_REFERENCE_COUNT));
  add_text(observations, "options", of_build(CL_PROGRAM_BUILD_OPTIONS));
  add_number<cl_build_status>(observations, "status", of_build(CL_PROGRAM_BUILD_STATUS));
  add_number<cl_program_binary_type>(observations, "kind", of_build(CL_PROGRAM_BINARY_TYPE));
  add_text(observations, "log", of_build(CL_PROGRAM_BUILD_LOG), kAnyLength);
}

void add_kernel(Observations& observations, cl_kernel kernel, cl_device_id device, bool attributes) {
  const auto info = [&](cl_kernel_info what) {
    return [=](std::size_t size, void* value, std::size_t* needed) {
      return clGetKernelInfo(kernel, what, size, value, needed);
    };
  };
  add_text(observations, "function", info(CL_KERNEL_FUNCTION_NAME));
  add_number<cl_uint>(observations, "arguments", info(CL_KERNEL_NUM_ARGS));
  add_number<cl_uint>(observations, "references", info(CL_KERNEL_REFERENCE_COUNT));
  if (attributes) add_text(observations, "attributes", info(CL_KERNEL_ATTRIBUTES));
  std::size_t required[3] = {};
  observations.add("sizes", clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                                     sizeof required, required, nullptr));
  for (const std::size_t size : required) observations.add("size", static_cast<long long>(size));
  add_arguments(observations, kernel);
}

}  // namespace fuzz
