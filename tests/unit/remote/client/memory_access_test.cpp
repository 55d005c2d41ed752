// What commands are taken to do to memory objects in contexts over several servers.
#include "remote/client/multi_server/memory_access.h"

#include <cstring>

#include <gtest/gtest.h>

#include "remote/client/link/info_query.h"

namespace cleave::remote::client::multi_server {
namespace {

// Never looked into.
Connection& no_connection() { return *reinterpret_cast<Connection*>(std::uintptr_t{4096}); }

void say(KernelState& kernel, cl_kernel_arg_info name, cl_uint index, cl_uint value) {
  InfoCache::Info info;
  info.bytes.resize(sizeof value);
  std::memcpy(info.bytes.data(), &value, sizeof value);
  kernel.infos.put(info_key(wire::InfoSubject::kernel_argument, name, index), info);
}

TEST(Access, KernelMayWriteUnqualifiedMemory) {
  KernelState kernel(no_connection(), 1);
  EXPECT_TRUE(may_write(kernel, 0));
  say(kernel, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 0, CL_KERNEL_ARG_ADDRESS_GLOBAL);
  say(kernel, CL_KERNEL_ARG_ACCESS_QUALIFIER, 0, CL_KERNEL_ARG_ACCESS_NONE);
  EXPECT_TRUE(may_write(kernel, 0));
  say(kernel, CL_KERNEL_ARG_ACCESS_QUALIFIER, 1, CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
  EXPECT_TRUE(may_write(kernel, 1));
  say(kernel, CL_KERNEL_ARG_ACCESS_QUALIFIER, 2, CL_KERNEL_ARG_ACCESS_READ_WRITE);
  EXPECT_TRUE(may_write(kernel, 2));
}

TEST(Access, ConstantMemoryAndReadOnlyImagesAreReadOnly) {
  KernelState kernel(no_connection(), 1);
  say(kernel, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 1, CL_KERNEL_ARG_ADDRESS_CONSTANT);
  EXPECT_FALSE(may_write(kernel, 1));
  say(kernel, CL_KERNEL_ARG_ACCESS_QUALIFIER, 2, CL_KERNEL_ARG_ACCESS_READ_ONLY);
  EXPECT_FALSE(may_write(kernel, 2));
  EXPECT_TRUE(may_write(kernel, 0)) << "another argument";
}

TEST(Access, LaunchWritesAllButReadOnlyArguments) {
  EXPECT_EQ(access_of_argument(true, CL_MEM_READ_WRITE), Access::write);
  EXPECT_EQ(access_of_argument(true, CL_MEM_WRITE_ONLY), Access::write);
  EXPECT_EQ(access_of_argument(true, CL_MEM_READ_ONLY), Access::read);
  EXPECT_EQ(access_of_argument(true, CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS), Access::read);
  EXPECT_EQ(access_of_argument(false, CL_MEM_READ_WRITE), Access::read);
}

TEST(Access, FullWriteReplacesTheContents) {
  MemoryState buffer(no_connection(), 1);
  buffer.size = 100;
  EXPECT_EQ(access_of_write(buffer, 0, 100), Access::overwrite);
  EXPECT_EQ(access_of_write(buffer, 0, 99), Access::write);
  EXPECT_EQ(access_of_write(buffer, 1, 100), Access::write);
  EXPECT_EQ(access_of_write(buffer, 0, 0), Access::write);
  objects::Object whole;
  buffer.parent = &whole;
  EXPECT_EQ(access_of_write(buffer, 0, 100), Access::write) << "the rest of the whole stays";
  MemoryState image(no_connection(), 1);
  image.type = CL_MEM_OBJECT_IMAGE1D;
  image.size = 100;
  EXPECT_EQ(access_of_write(image, 0, 100), Access::write);
}

}  // namespace
}  // namespace cleave::remote::client::multi_server
