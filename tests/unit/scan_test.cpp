#include "kernels/scan.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::kernels {
namespace {

constexpr const char* kPlain = R"(
  #define TILE 16
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  /* a product */
  __kernel void mm(__global const float* a, __local float* t, int n) {
    size_t i = get_global_id(0) + get_local_id(1) * get_local_size(0); // "text" 'c' 3.0f
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) a[i] = t[i % TILE];
  })";

TEST(Scan, PlainKernelIsSplittableAndDoesNotTalk) {
  EXPECT_TRUE(scan_source(kPlain).splittable);
  EXPECT_FALSE(scan_source(kPlain).talks);
  EXPECT_TRUE(scan_source("").splittable);
}

class SeesTheCut : public testing::TestWithParam<const char*> {};

TEST_P(SeesTheCut, IsNotSplittable) {
  EXPECT_FALSE(scan_source(GetParam()).splittable) << GetParam();
  EXPECT_FALSE(scan_source(std::string(kPlain) + GetParam()).splittable) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Scan, SeesTheCut,
    testing::Values("x = get_group_id(0);", "get_num_groups(0)", "get_global_size (1)",
                    "get_global_offset(0)", "get_work_dim()", "get_global_linear_id()",
                    "get_group_linear_id()", "#define G get_group_id\n", "// get_group_id in a comment",
                    "\"get_group_id\"", "_Z12get_group_idj(0)", "get_gro\\\nup_id(0)",
                    "get_gro\\  \nup_id(0)", "get_gro\\\r\nup_id(0)", "get_gro\\\n\rup_id(0)",
                    "get_gro\\\rup_id(0)", "__attribute__((weakref(\"_Z12get_gr\" \"oup_idj\")))",
                    "__attribute__((alias(\"x\")))", "#pragma redefine_extname a b\n", "#pragma weak a = b\n",
                    "_Pragma(\"weak\")", "_Z26__spirv_BuiltInWorkgroupIdi(0)", "#define C(a,b) a##b\n",
                    "#include \"x.h\"\n", "# include <x>\n", "#/* */include <x>\n", "/* */ #include <x>\n",
                    "#import <x>\n", "#include_next <x>\n", "%:include <x>\n", "%:define C(a,b) a %:%: b\n",
                    "?\?=include <x>\n", "get_gro?\?/\nup_id", "\\u0067et_group_id(0)", "asm(\"mov\")",
                    "__asm__ volatile(\"\")", "__builtin_ptx_read_ctaid_x()", "__spirv_BuiltInWorkgroupId",
                    "__ockl_get_group_id(0)", "enqueue_kernel(q, f, n, b)", "ndrange_1D(4)",
                    "get_default_queue()"));

class Talks : public testing::TestWithParam<const char*> {};

TEST_P(Talks, IsNoticedAndStaysSplittable) {
  EXPECT_TRUE(scan_source(GetParam()).talks) << GetParam();
  EXPECT_TRUE(scan_source(GetParam()).splittable) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Scan, Talks,
                         testing::Values("atomic_add(p, 1)", "atom_inc(p)", "atomic_load_explicit(p, o, s)",
                                         "volatile __global int* p", "mem_fence(CLK_GLOBAL_MEM_FENCE)",
                                         "memory_scope_device", "memory_scope_all_svm_devices",
                                         "read_pipe(p, &x)", "__opencl_atomic_load(p, o, s)",
                                         "__sync_fetch_and_add(p, 1)", "__c11_atomic_load(p, o)"));

TEST(ScanOptions, HarmlessOnesStaySo) {
  for (const char* options : {"", "-DN=16 -D M=4", "-cl-fast-relaxed-math -cl-mad-enable -cl-std=CL2.0",
                              "-I include -Werror -w", "-DNAME=\"x y\""}) {
    EXPECT_TRUE(scan_options(options).splittable) << options;
  }
}

TEST(ScanOptions, WhatBringsTextInIsInDoubt) {
  for (const char* options :
       {"-DG=get_group_id", "-D F(a,b)=a##b", "-include x.h", "-imacros x.h", "-Xclang -load", "@file",
        "-DP=get_global_size(0)", "-D G=get_gro\"\"up_id", "-DG=get_gr\"oup_id\"", "--config x", "-fplugin=x",
        "-Wp,-include,x", "-DG=get_gro\\up_id"}) {
    EXPECT_FALSE(scan_options(options).splittable) << options;
  }
}

}  // namespace
}  // namespace cleave::kernels
