// Programs and kernels: what is found in a text, building, binaries, queries.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver/programs/kernel_scanner.h"
#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

class Program : public DriverTest<> {
 protected:
  std::string kernel_names(cl_program of) const { return cl.text(of, CL_PROGRAM_KERNEL_NAMES); }
};
using Kernel = DriverTest<>;

TEST(Source, FindsKernels) {
  const auto kernels = scan_kernels(R"(
    // kernel void commented(int a) {}
    /* __kernel void out(int a) {} */
    #define K kernel void defined(int a) \
              kernel void continued(int b) {}
    constant char text[] = "kernel void quoted() {}";
    void plain(global int* x) {}
    kernel void declared(int a);
    __kernel __attribute__((reqd_work_group_size(4, 2, 1))) void sized(void) {}
    __attribute__((reqd_work_group_size(64, 1, 1))) kernel void before() {}
    kernel void after() __attribute__((reqd_work_group_size(32, 1, 1)));
    void kernel backwards(const global float* restrict in, unsigned int n) { if (n) in[0]; }
    kernel void declared(int a) {}
  )");
  ASSERT_EQ(kernels.size(), 5u);
  EXPECT_EQ(kernels[0].name, "declared");
  EXPECT_EQ(kernels[1].name, "sized");
  EXPECT_TRUE(kernels[1].parameters.empty());
  EXPECT_EQ(kernels[1].required_size, (std::array<std::size_t, 3>{4, 2, 1}));
  EXPECT_EQ(kernels[1].attributes, "reqd_work_group_size(4,2,1)");
  EXPECT_EQ(kernels[2].required_size, (std::array<std::size_t, 3>{64, 1, 1}));
  EXPECT_EQ(kernels[3].required_size, (std::array<std::size_t, 3>{32, 1, 1}));
  EXPECT_EQ(kernels[4].name, "backwards");
  ASSERT_EQ(kernels[4].parameters.size(), 2u);
  EXPECT_EQ(kernels[4].parameters[0].kind, Parameter::Kind::memory);
  EXPECT_EQ(kernels[4].parameters[0].type, "float*");
  EXPECT_EQ(kernels[4].parameters[0].name, "in");
  EXPECT_EQ(kernels[4].parameters[1].type, "unsigned int");
}

TEST(Source, AcceptsAnyText) {
  for (const char* text :
       {"", "kernel", "kernel void", "kernel void f", "kernel void f(", "kernel void f(int a",
        "kernel __attribute__", "kernel __attribute__((", "\"", "/*", "#", "kernel void f)(", "(((("}) {
    for (const auto& kernel : scan_kernels(text)) EXPECT_EQ(kernel.name, "f") << text;
  }
}

TEST_F(Program, BuildsDeclaredKernels) {
  EXPECT_EQ(kernel_names(program), "add;note;idle;other;fixed;all");
  cl_int code = 0;
  EXPECT_EQ(cl.clCreateKernel(program, "missing", &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_KERNEL_NAME);
  EXPECT_EQ(cl.clCreateKernel(unbuilt_program("kernel void k() {}"), "k", &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_PROGRAM_EXECUTABLE);
}

TEST_F(Program, KeepsSourceAndOptions) {
  const char* strings[] = {"kernel void a() {}", "kernel void b() {} and more"};
  const std::size_t lengths[] = {0, 18};
  const kit::Program both = cl.own(cl.clCreateProgramWithSource(context, 2, strings, lengths, nullptr));
  EXPECT_EQ(cl.build(both, "-D X=1"), CL_SUCCESS);
  EXPECT_EQ(cl.text(both, CL_PROGRAM_SOURCE), "kernel void a() {}kernel void b() {}");
  EXPECT_EQ(cl.build_text(both, device, CL_PROGRAM_BUILD_OPTIONS), "-D X=1");
}

TEST(ConfiguredProgram, FailsToBuildOnDemand) {
  DriverFixture fixture(kit::with(Options{}, &Options::fail_build, "forbidden"));
  const cl_program program = fixture.unbuilt_program("kernel void forbidden() {}");
  EXPECT_EQ(fixture.cl.build(program, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(fixture.cl.build_log(program, fixture.device).find("forbidden"), std::string::npos);
  cl_build_status status = CL_BUILD_NONE;
  fixture.cl.clGetProgramBuildInfo(program, fixture.driver.device(), CL_PROGRAM_BUILD_STATUS, sizeof status,
                                   &status, nullptr);
  EXPECT_EQ(status, CL_BUILD_ERROR);
  const cl_program fine = fixture.unbuilt_program("kernel void k() {}");
  EXPECT_EQ(fixture.cl.build(fine, "-D forbidden"), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(fixture.cl.build(fine), CL_SUCCESS);
}

TEST_F(Program, BuildCallbackRuns) {
  const cl_program watched = unbuilt_program("kernel void k() {}");
  cl_program notified = nullptr;
  const auto notify = [](cl_program built, void* data) { *static_cast<cl_program*>(data) = built; };
  EXPECT_EQ(cl.clBuildProgram(watched, 0, nullptr, "", notify, &notified), CL_SUCCESS);
  EXPECT_EQ(notified, watched);
}

TEST_F(Program, CannotBeRebuiltWithLiveKernels) {
  make_kernel("idle");
  EXPECT_EQ(cl.build(program), CL_INVALID_OPERATION);
}

TEST_F(Program, BinariesRoundTrip) {
  std::vector<unsigned char> binary = cl.binary(program);
  const std::size_t size = binary.size();
  const unsigned char* given = binary.data();
  cl_int accepted = 1;
  cl_int code = 1;
  const kit::Program copy =
      cl.own(cl.clCreateProgramWithBinary(context, 1, &device, &size, &given, &accepted, &code));
  EXPECT_EQ(accepted, CL_SUCCESS);
  EXPECT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(cl.build(copy), CL_SUCCESS);
  EXPECT_EQ(kernel_names(copy), kernel_names(program));
  std::size_t source = 0;
  cl.clGetProgramInfo(copy, CL_PROGRAM_SOURCE, 0, nullptr, &source);
  EXPECT_EQ(source, 1u);
  binary[0] ^= 1;
  EXPECT_EQ(cl.clCreateProgramWithBinary(context, 1, &device, &size, &given, &accepted, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_BINARY);
}

TEST_F(Program, CompilesAndLinks) {
  const cl_program first = unbuilt_program("kernel void one() {}");
  const cl_program second = unbuilt_program("kernel void two() {}");
  for (const cl_program input : {first, second}) EXPECT_EQ(cl.compile(input), CL_SUCCESS);
  EXPECT_EQ(kernel_names(cl.link(context, {first, second})), "one;two");
}

TEST_F(Program, ReadsSpirvEntryPoints) {
  const std::vector<std::uint32_t> module = {
      0x07230203,      0x00010200, 0, 10,       0,  // header
      (5u << 16) | 15, 6,          4, 0x646461, 7,  // OpEntryPoint Kernel %4 "add" %7
      (5u << 16) | 54, 1,          4, 0,        2,  // %4 = OpFunction
      (3u << 16) | 55, 3,          5,               // two parameters
      (3u << 16) | 55, 3,          6,               //
      (1u << 16) | 56};                             // OpFunctionEnd
  const kit::Program spirv =
      cl.own(cl.clCreateProgramWithIL(context, module.data(), module.size() * 4, nullptr));
  ASSERT_EQ(cl.build(spirv), CL_SUCCESS);
  EXPECT_EQ(kernel_names(spirv), "add");
  const cl_mem buffer = make_buffer({5});
  const kit::Kernel kernel = cl.kernel(spirv, "add", buffer, cl_int{2});
  launch(queue, kernel);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{7});
}

TEST_F(Program, HasBuiltInKernels) {
  cl_int code = 0;
  const kit::Program built_in =
      cl.own(cl.clCreateProgramWithBuiltInKernels(context, 1, &device, "sim_builtin;add", &code));
  ASSERT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(kernel_names(built_in), "sim_builtin;add");
  EXPECT_EQ(cl.clCreateProgramWithBuiltInKernels(context, 1, &device, "none", &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_VALUE);
}

TEST_F(Kernel, CreatesAllOfAProgramAtOnce) {
  cl_uint count = 0;
  EXPECT_EQ(cl.clCreateKernelsInProgram(program, 0, nullptr, &count), CL_SUCCESS);
  ASSERT_EQ(count, 6u);
  std::vector<cl_kernel> kernels(count);
  EXPECT_EQ(cl.clCreateKernelsInProgram(program, 2, kernels.data(), nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(cl.clCreateKernelsInProgram(program, count, kernels.data(), nullptr), CL_SUCCESS);
  for (const cl_kernel kernel : kernels) cl.clReleaseKernel(kernel);
}

TEST_F(Kernel, AnswersQueries) {
  const cl_kernel kernel = make_kernel("all");
  char name[20];
  EXPECT_EQ(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_STREQ(name, "all");
  EXPECT_EQ(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 3, name, nullptr), CL_INVALID_VALUE);
  cl_kernel_arg_address_qualifier address = 0;
  cl.clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, nullptr);
  EXPECT_EQ(address, static_cast<cl_kernel_arg_address_qualifier>(CL_KERNEL_ARG_ADDRESS_LOCAL));
  Size3 required{};
  cl.clGetKernelWorkGroupInfo(make_kernel("fixed"), driver.device(), CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                              sizeof required, required.data(), nullptr);
  EXPECT_EQ(required, (Size3{8, 2, 1}));
}

}  // namespace
}  // namespace cleave::sim
