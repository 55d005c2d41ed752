// Programs and kernels: what is found in a text, building, binaries, queries.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver/programs/kernel_scanner.h"
#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

std::string kernel_names(DriverFixture& fixture, cl_program program) {
  return fixture.cl.text(program, CL_PROGRAM_KERNEL_NAMES);
}

cl_program with_source(DriverFixture& fixture, const char* text) {
  return fixture.cl.clCreateProgramWithSource(fixture.context, 1, &text, nullptr, nullptr);
}

std::string build_log(DriverFixture& fixture, cl_program program) {
  return fixture.cl.build_log(program, fixture.device);
}

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
    scan_kernels(text);
  }
}

TEST(Program, BuildsDeclaredKernels) {
  DriverFixture fixture;
  EXPECT_EQ(kernel_names(fixture, fixture.program), "add;note;idle;other;fixed;all");
  cl_int code = 0;
  EXPECT_EQ(fixture.cl.clCreateKernel(fixture.program, "missing", &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_KERNEL_NAME);
  const cl_program unbuilt = with_source(fixture, "kernel void k() {}");
  EXPECT_EQ(fixture.cl.clCreateKernel(unbuilt, "k", &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_PROGRAM_EXECUTABLE);
  fixture.cl.clReleaseProgram(unbuilt);
}

TEST(Program, KeepsSourceAndOptions) {
  DriverFixture fixture;
  const char* strings[] = {"kernel void a() {}", "kernel void b() {} and more"};
  const std::size_t lengths[] = {0, 18};
  const kit::Program program =
      fixture.cl.own(fixture.cl.clCreateProgramWithSource(fixture.context, 2, strings, lengths, nullptr));
  EXPECT_EQ(fixture.cl.build(program, "-D X=1"), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.text(program, CL_PROGRAM_SOURCE), "kernel void a() {}kernel void b() {}");
  char text[100];
  fixture.cl.clGetProgramBuildInfo(program, fixture.driver.device(), CL_PROGRAM_BUILD_OPTIONS, sizeof text,
                                   text, nullptr);
  EXPECT_STREQ(text, "-D X=1");
}

TEST(Program, FailsToBuildOnDemand) {
  Options options;
  options.fail_build = "forbidden";
  DriverFixture fixture(options);
  const cl_program program = with_source(fixture, "kernel void forbidden() {}");
  EXPECT_EQ(fixture.cl.build(program, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(build_log(fixture, program).find("forbidden"), std::string::npos);
  cl_build_status status = CL_BUILD_NONE;
  fixture.cl.clGetProgramBuildInfo(program, fixture.driver.device(), CL_PROGRAM_BUILD_STATUS, sizeof status,
                                   &status, nullptr);
  EXPECT_EQ(status, CL_BUILD_ERROR);
  fixture.cl.clReleaseProgram(program);
  const cl_program fine = with_source(fixture, "kernel void k() {}");
  EXPECT_EQ(fixture.cl.build(fine, "-D forbidden"), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(fixture.cl.build(fine), CL_SUCCESS);
  fixture.cl.clReleaseProgram(fine);
}

TEST(Program, BuildCallbackRuns) {
  DriverFixture fixture;
  const cl_program program = with_source(fixture, "kernel void k() {}");
  cl_program notified = nullptr;
  const auto notify = [](cl_program built, void* data) { *static_cast<cl_program*>(data) = built; };
  EXPECT_EQ(fixture.cl.clBuildProgram(program, 0, nullptr, "", notify, &notified), CL_SUCCESS);
  EXPECT_EQ(notified, program);
  fixture.cl.clReleaseProgram(program);
}

TEST(Program, CannotBeRebuiltWithLiveKernels) {
  DriverFixture fixture;
  fixture.make_kernel("idle");
  EXPECT_EQ(fixture.cl.build(fixture.program), CL_INVALID_OPERATION);
}

TEST(Program, BinariesRoundTrip) {
  DriverFixture fixture;
  const auto size = fixture.cl.info<std::size_t>(fixture.program, CL_PROGRAM_BINARY_SIZES);
  std::vector<unsigned char> binary(size);
  unsigned char* place = binary.data();
  EXPECT_EQ(fixture.cl.clGetProgramInfo(fixture.program, CL_PROGRAM_BINARIES, sizeof place, &place, nullptr),
            CL_SUCCESS);
  const cl_device_id device = fixture.driver.device();
  const unsigned char* given = binary.data();
  cl_int status = 1;
  cl_int code = 1;
  const kit::Program copy = fixture.cl.own(
      fixture.cl.clCreateProgramWithBinary(fixture.context, 1, &device, &size, &given, &status, &code));
  EXPECT_EQ(status, CL_SUCCESS);
  EXPECT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(fixture.cl.build(copy), CL_SUCCESS);
  EXPECT_EQ(kernel_names(fixture, copy), kernel_names(fixture, fixture.program));
  std::size_t source = 0;
  fixture.cl.clGetProgramInfo(copy, CL_PROGRAM_SOURCE, 0, nullptr, &source);
  EXPECT_EQ(source, 1u);
  binary[0] ^= 1;
  EXPECT_EQ(fixture.cl.clCreateProgramWithBinary(fixture.context, 1, &device, &size, &given, &status, &code),
            nullptr);
  EXPECT_EQ(code, CL_INVALID_BINARY);
}

TEST(Program, CompilesAndLinks) {
  DriverFixture fixture;
  const cl_program first = with_source(fixture, "kernel void one() {}");
  const cl_program second = with_source(fixture, "kernel void two() {}");
  const cl_program inputs[] = {first, second};
  for (const cl_program input : inputs) {
    EXPECT_EQ(fixture.cl.clCompileProgram(input, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
              CL_SUCCESS);
  }
  cl_int code = 0;
  const cl_program linked =
      fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "", 2, inputs, nullptr, nullptr, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(kernel_names(fixture, linked), "one;two");
  for (const cl_program program : {first, second, linked}) fixture.cl.clReleaseProgram(program);
}

TEST(Program, ReadsSpirvEntryPoints) {
  DriverFixture fixture;
  const std::vector<std::uint32_t> module = {
      0x07230203,      0x00010200, 0, 10,       0,  // header
      (5u << 16) | 15, 6,          4, 0x646461, 7,  // OpEntryPoint Kernel %4 "add" %7
      (5u << 16) | 54, 1,          4, 0,        2,  // %4 = OpFunction
      (3u << 16) | 55, 3,          5,               // two parameters
      (3u << 16) | 55, 3,          6,               //
      (1u << 16) | 56};                             // OpFunctionEnd
  const kit::Program program = fixture.cl.own(
      fixture.cl.clCreateProgramWithIL(fixture.context, module.data(), module.size() * 4, nullptr));
  ASSERT_EQ(fixture.cl.build(program), CL_SUCCESS);
  EXPECT_EQ(kernel_names(fixture, program), "add");
  const kit::Kernel kernel = fixture.cl.kernel(program, "add");
  const cl_mem buffer = fixture.make_buffer({5});
  const cl_int n = 2;
  EXPECT_EQ(fixture.cl.set_argument(kernel, 0, buffer), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.set_argument(kernel, 1, n), CL_SUCCESS);
  fixture.launch(fixture.queue, kernel);
  EXPECT_EQ(fixture.read(buffer, 1), std::vector<cl_int>{7});
}

TEST(Program, HasBuiltInKernels) {
  DriverFixture fixture;
  const cl_device_id device = fixture.driver.device();
  cl_int code = 0;
  const kit::Program program = fixture.cl.own(
      fixture.cl.clCreateProgramWithBuiltInKernels(fixture.context, 1, &device, "sim_builtin;add", &code));
  ASSERT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(kernel_names(fixture, program), "sim_builtin;add");
  EXPECT_EQ(fixture.cl.clCreateProgramWithBuiltInKernels(fixture.context, 1, &device, "none", &code),
            nullptr);
  EXPECT_EQ(code, CL_INVALID_VALUE);
}

TEST(Kernel, CreatesAllOfAProgramAtOnce) {
  DriverFixture fixture;
  cl_uint count = 0;
  EXPECT_EQ(fixture.cl.clCreateKernelsInProgram(fixture.program, 0, nullptr, &count), CL_SUCCESS);
  ASSERT_EQ(count, 6u);
  std::vector<cl_kernel> kernels(count);
  EXPECT_EQ(fixture.cl.clCreateKernelsInProgram(fixture.program, 2, kernels.data(), nullptr),
            CL_INVALID_VALUE);
  EXPECT_EQ(fixture.cl.clCreateKernelsInProgram(fixture.program, count, kernels.data(), nullptr), CL_SUCCESS);
  for (const cl_kernel kernel : kernels) fixture.cl.clReleaseKernel(kernel);
}

TEST(Kernel, AnswersQueries) {
  DriverFixture fixture;
  const cl_kernel kernel = fixture.make_kernel("all");
  char name[20];
  EXPECT_EQ(fixture.cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr),
            CL_SUCCESS);
  EXPECT_STREQ(name, "all");
  EXPECT_EQ(fixture.cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 3, name, nullptr), CL_INVALID_VALUE);
  cl_kernel_arg_address_qualifier address = 0;
  fixture.cl.clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address,
                                nullptr);
  EXPECT_EQ(address, static_cast<cl_kernel_arg_address_qualifier>(CL_KERNEL_ARG_ADDRESS_LOCAL));
  Size3 required{};
  fixture.cl.clGetKernelWorkGroupInfo(fixture.make_kernel("fixed"), fixture.driver.device(),
                                      CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required.data(),
                                      nullptr);
  EXPECT_EQ(required, (Size3{8, 2, 1}));
}

}  // namespace
}  // namespace cleave::sim
