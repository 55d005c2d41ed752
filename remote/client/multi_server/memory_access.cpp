#include "remote/client/multi_server/memory_access.h"

#include "remote/client/link/info_query.h"

namespace cleave::remote::client::multi_server {

bool may_write(const KernelState& kernel, cl_uint index) {
  const auto what = wire::InfoSubject::kernel_argument;
  const auto space = cached<cl_kernel_arg_address_qualifier>(
      kernel.infos, info_key(what, CL_KERNEL_ARG_ADDRESS_QUALIFIER, index), CL_KERNEL_ARG_ADDRESS_GLOBAL);
  const auto access = cached<cl_kernel_arg_access_qualifier>(
      kernel.infos, info_key(what, CL_KERNEL_ARG_ACCESS_QUALIFIER, index), CL_KERNEL_ARG_ACCESS_NONE);
  return space != CL_KERNEL_ARG_ADDRESS_CONSTANT && access != CL_KERNEL_ARG_ACCESS_READ_ONLY;
}

Access access_of_argument(bool is_writable, cl_mem_flags flags) {
  return is_writable && (flags & CL_MEM_READ_ONLY) == 0 ? Access::write : Access::read;
}

Access access_of_write(const MemoryState& buffer, std::size_t offset, std::size_t size) {
  const bool is_all =
      buffer.type == CL_MEM_OBJECT_BUFFER && buffer.parent == nullptr && offset == 0 && size == buffer.size;
  return is_all ? Access::overwrite : Access::write;
}

}  // namespace cleave::remote::client::multi_server
