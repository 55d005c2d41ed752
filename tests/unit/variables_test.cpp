#include "kernels/variables.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/program_scan.h"

namespace cleave::kernels {
namespace {

bool keeps(const std::string& text) { return keeps_variables({text}); }

class Kept : public testing::TestWithParam<const char*> {};

TEST_P(Kept, IsSeen) {
  const std::string kernel = "kernel void k(global int* p) { p[get_global_id(0)] = 1; }\n";
  EXPECT_TRUE(keeps(GetParam())) << GetParam();
  EXPECT_TRUE(keeps(GetParam() + ("\n" + kernel))) << GetParam();
  EXPECT_TRUE(keeps(kernel + GetParam())) << GetParam();
  EXPECT_TRUE(ProgramScan(kernel + GetParam()).of("k").keeps) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Kept,
    testing::Values("int x;", "global int x;", "__global atomic_int x = ATOMIC_VAR_INIT(0);", "int x = 5;",
                    "int x[4];", "int x[N(3)];", "struct S { int a; } s;", "struct S s;",
                    "struct S { int a; };\nint x;", "enum { A } e;",
                    "union U { int a; } __attribute__((packed)) u;", "int x __attribute__((aligned(4)));",
                    "void f(void); int y;", "int f(int a) { return a; } global int y;", "DECLARE(x);", "X;",
                    "void f(void) { static int x; x++; }", "void f(void) { static global int x = 1, y; }",
                    "#define VAR(x) global int x;\nVAR(y)", "#define VAR(x) int x\nVAR(y);",
                    "#define VAR(x) X(x)\n#define X(x) int x\nVAR(y);", "#define VAR(x) VAR(x)\nVAR(y);",
                    "#define VAR int x\nVAR;", "#define VAR(x) int x;\nVAR(y)\nvoid f(void) {}",
                    "#define F(T) T f(T a) { return a; }\n#define F(T) T a\nF(int);",
                    "struct S f(int a) { return s; } int x;", "int a = 1, b = 2;", "global int (*p)[3];",
                    "constant int a = 1; int b;", "global int (x);",
                    "global int x __attribute((aligned(16)));",
                    "#define ALIGNED(n) __attribute__((aligned(n)))\nglobal int x ALIGNED(16);",
                    "struct S attribute;", "constant int *x;", "global __typeof__(1) x;",
                    "#define VAR(T, x) T x;\nVAR(global int, x)\nvoid f(void) {}",
                    "#define STATIC static\nvoid f(void) { STATIC int x; }",
                    "#define S T\n#define T static\nvoid f(void) { S int x; }"));

TEST(Variables, WhatKeepsNothing) {
  for (const char* const text :
       {"",
        "constant int x = 5;",
        "__constant float table[2] = { 1, 2 };",
        "typedef int T;",
        "constant char* constant names[2] = { 0 };",
        "int f(void);",
        "#define INLINE static inline\nINLINE int f(int a) { return a; }",
        "typedef struct { int a; } S;",
        "struct S { int a; };",
        "struct S;",
        "enum E { A, B };",
        "struct __attribute__((packed)) S { int a[3]; };",
        "void f(int a);",
        "float4 f(float4 a, __global int* b);",
        "static inline int f(int a) { int b = a; { int c; } return b; }",
        "const sampler_t s = CLK_FILTER_NEAREST;",
        "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(global int* p) { local int x[4]; }",
        "void f(void) { static constant int t[2] = { 1, 2 }; }",
        "#define G global\n#define LOOP for (;;) x\n",
        "union U { int a; } __attribute__((packed));",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"}) {
    EXPECT_FALSE(keeps(text)) << text;
  }
}

}  // namespace
}  // namespace cleave::kernels
