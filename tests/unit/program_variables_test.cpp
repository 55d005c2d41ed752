#include "kernels/facts/program_variables.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

bool keeps_state(const std::string& text, const char* options = "-cl-std=CL2.0") {
  std::deque<SourceText> texts;
  SourceText& joined = texts.emplace_back(text, "");
  joined.compiled = joined.tokens;
  return has_program_variables(texts, options);
}

class PersistentVariable : public testing::TestWithParam<const char*> {};

TEST_P(PersistentVariable, IsDetected) {
  const std::string kernel = "kernel void k(global int* p) { p[get_global_id(0)] = 1; }\n";
  EXPECT_TRUE(keeps_state(GetParam())) << GetParam();
  EXPECT_TRUE(keeps_state(GetParam() + ("\n" + kernel))) << GetParam();
  EXPECT_TRUE(keeps_state(kernel + GetParam())) << GetParam();
  BuildInputs with;
  with.options = "-cl-std=CL2.0";
  EXPECT_TRUE(ProgramScan(kernel + GetParam(), with).of("k").keeps_state) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PersistentVariable,
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
                    "#define S T\n#define T static\nvoid f(void) { S int x; }",
                    "#define F(n) int n(int a) { return a; }\nF(f)\nF(g)\nint counter;",
                    "#define ALIGNED(n) __attribute__((aligned(n)))\nALIGNED(16) int counter;",
                    "#define USE(x)\nUSE(1)\nglobal int counter = 0;",
                    "void f(void) { static constant int* p; }", "int f(int a), counter;", "global int (*p);",
                    "global int counter, *constant q = 0;", "constant int a = 1, (*b) = 0;",
                    "global int (x[4]);", "T (x);",
                    "#define CLOSE }\n#define OPEN void g(void) {\nvoid f(void) { CLOSE int counter; OPEN }",
                    "void f(void)\n#if 0\n{\n#endif\n; int counter;\n#if 0\n}\n#endif\n",
                    "#define CAT(a, b) a##b\nvoid f(void) { CAT(sta, tic) int x; }",
                    "void f(void) {\n#include \"x.h\"\n} }"));

TEST(Variables, LocalAndConstantVariablesAreNotFlagged) {
  for (const char* const text :
       {"",
        "constant int x = 5;",
        "__constant float table[2] = { 1, 2 };",
        "typedef int T;",
        "int f(void);",
        "typedef struct { int a; } S;",
        "struct S { int a; };",
        "struct S;",
        "enum E { A, B };",
        "struct __attribute__((packed)) S { int a[3]; };",
        "void f(int a);",
        "float4 f(float4 a, __global int* b);",
        "static inline int f(int a) { int b = a; { int c; } return b; }",
        "const sampler_t s = CLK_FILTER_NEAREST;",
        "static int* f(global int* p, int (*a)[2]) { return 0; }",
        "static constant uint table[2] = {1u, 2u, };",
        "constant float a = -(1.0f + 2), b = (float)(3);",
        "#if 1\nint f(void) { return 1; }\n#else\nint f(void) {\n#if 2\nreturn 2;\n#endif\n}\n#endif\n",
        "#define S(else) #else\nint f(int x);",
        "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(global int* p) { local int x[4]; }",
        "#define G global\n#define LOOP for (;;) x\n",
        "union U { int a; } __attribute__((packed));",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"}) {
    EXPECT_FALSE(keeps_state(text)) << text;
  }
}

TEST(Variables, OldLanguageVersionsHaveNone) {
  for (const char* const options : {"", "-DN=4", "-cl-std=CL1.2", "-cl-std=CL1.1 -w", "-cl-std=CL3.0"}) {
    EXPECT_FALSE(keeps_state("int x;", options)) << options;
  }
  for (const char* const options : {"-cl-std=CL2.0", "-cl-std=CL1.2 -cl-std=CL2.0", "-cl-std=CLC++",
                                    "-cl-st\"d=CL2.0\"", "@file", "-std=CL2.0", "-cl-std CL2.0"}) {
    EXPECT_TRUE(keeps_state("int x;", options)) << options;
  }
}

TEST(Variables, NamesDefinedByOptionsAreUncertain) {
  EXPECT_FALSE(keeps_state("int f(void);", "-cl-std=CL2.0"));
  EXPECT_TRUE(keeps_state("int f(void);", "-cl-std=CL2.0 -Df=x,"));
  EXPECT_TRUE(keeps_state("void f(void) { S int x; }", "-cl-std=CL2.0 -DS=static"));
}

}  // namespace
}  // namespace cleave::kernels
