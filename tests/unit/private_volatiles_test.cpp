#include "kernels/facts/private_volatiles.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

bool communicates(const std::string& text) { return ProgramScan(text).of("k").communicates; }

class PrivateVolatile : public testing::TestWithParam<const char*> {};

TEST_P(PrivateVolatile, DoesNotCommunicate) { EXPECT_FALSE(communicates(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(
    Kernels, PrivateVolatile,
    testing::Values(
        "kernel void k(global int* p) { volatile int i = get_local_id(0) + 4 * get_local_id(1); p[i] = i; }",
        "kernel void k(global int* p) { int a; __volatile unsigned long i; i = a; p[0] = i; }",
        "kernel void k(global int* p) { if (p[0]) { volatile uint i = max(p[0], p[1]); p[0] = i; } }",
        "kernel void k(global int* p) { for (int j = 0; j < 4; ++j) { volatile int i = j; p[i] = j; } }",
        "kernel void k(global int* p) { if (p) { p[0] = 1; } else { volatile int i = 2; p[1] = i; } }",
        "kernel void k(global int* p) { { volatile int i = 3; } if (p) {} else { volatile int i; } }",
        // Macros that stand for anything, elsewhere.
        "#define SET(x, y) x = y; global int* q = p\n#define N 4\n"
        "kernel void k(global int* p) {\n#pragma unroll\n volatile int i = N * get_local_id(1);\n SET(p[0], "
        "i); }",
        "#define N 4\nkernel void k(global int* p) {\n#if N > 3\n volatile int i = N;\n#endif\n p[0] = i; "
        "}"));

class VolatileOfOthers : public testing::TestWithParam<const char*> {};

TEST_P(VolatileOfOthers, Communicates) { EXPECT_TRUE(communicates(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(
    Pointers, VolatileOfOthers,
    testing::Values("kernel void k(global int* p) { volatile int* i = p; }",
                    "kernel void k(global int* p) { volatile int i, *q = p; }",
                    "kernel void k(global int* p) { volatile int i = 0, *q = p; }",
                    "kernel void k(global int* p) { volatile int i = f(1, 2), *q = p; }",
                    "kernel void k(global int* p) { volatile int i[2], *q = p; }",
                    "kernel void k(global int* p) { int i = *(volatile int*)p; }",
                    "kernel void k(global int* p) { int i = f(p); volatile global int* q = p; }",
                    "kernel void k(global int* p) { global volatile int* q = p; }",
                    "kernel void k(volatile global int* p) { volatile int i = p[0]; }",
                    "kernel void k(global int* p) { volatile T i = p; }",
                    "kernel void k(global int* p) { int volatile i = *p; }"));
// A member of a structure may be anywhere.
INSTANTIATE_TEST_SUITE_P(
    Members, VolatileOfOthers,
    testing::Values(
        "kernel void k(global int* p) { struct S { volatile int i; }; global struct S* q = p; }",
        "kernel void k(global int* p) { struct S { int a; volatile int i; }; global struct S* q = p; }",
        "kernel void k(global int* p) { typedef struct { struct { int b; } a; volatile int i; } S; }",
        "kernel void k(global int* p) { union { volatile int i; } *q = p; }",
        "struct S { volatile int i; };\nkernel void k(global struct S* p) { while (!p->i) {} }",
        "#define TYPE struct S\nkernel void k(global int* p) { TYPE { volatile int i; }; global TYPE* q = p; "
        "}",
        "#define TYPE(x) struct x\nkernel void k(global int* p) { TYPE(S) { volatile int i; }; }"));
INSTANTIATE_TEST_SUITE_P(
    Macros, VolatileOfOthers,
    testing::Values(
        "#define BOTH i, *q\nkernel void k(global int* p) { volatile int BOTH; q = p; }",
        "#define NEXT 0, *q = p\nkernel void k(global int* p) { volatile int i = NEXT; }",
        "#define int global int\nkernel void k(global int* p) { volatile int i = 0; }",
        "#define if(x) struct S\nkernel void k(global int* p) { if (1) { volatile int i; }; }",
        "#define VALUE *(volatile int*)p\nkernel void k(global int* p) { volatile int i = VALUE; }",
        "#define KEEP(x) x\nkernel void k(global int* p) { KEEP(; volatile int i; ) }",
        "kernel void k(global int* p) { global\n#if X\n#endif\n volatile int i; }",
        "volatile int i;\nkernel void k(global int* p) { p[0] = i; }"));

// In front of the declaration there is something else for a compiler that skips a part.
INSTANTIATE_TEST_SUITE_P(
    Branches, VolatileOfOthers,
    testing::Values(
        "kernel void k(global int* p) { typedef\n#ifdef __AMDGCN__\n int y;\n#endif\n volatile int x; }",
        "kernel void k(global int* p) { struct S\n#ifdef __AMDGCN__\n ;\n#endif\n { volatile int x; }; }",
        "kernel void k(global int* p) {\n#ifdef __AMDGCN__\n int y;\n#endif\n volatile int x; }"));
// A type ends in front of it, or begins behind it.
INSTANTIATE_TEST_SUITE_P(
    Types, VolatileOfOthers,
    testing::Values(
        "#define EMPTY\nkernel void k(global int* p) { typedef enum { A, B } volatile uint EMPTY; }",
        "#define EMPTY\nkernel void k(global int* p) { int a; volatile uint EMPTY = a; }",
        "#define get_c , *q\n#define C get_c\nkernel void k(global int* p) { int a; volatile int x = 0 C = "
        "p; }",
        "#define get_c global *q\n#define C get_c\nkernel void k(global int* p) { int a; volatile int C = p; "
        "}",
        "#define R &get_r\nkernel void k(global int* p) { int a; volatile int R = *p; }"));
// With an index that is read anew each time, a compiler reads the memory behind it anew, too.
INSTANTIATE_TEST_SUITE_P(
    Loops, VolatileOfOthers,
    testing::Values(
        "struct H { global int* p; };\nkernel void k(global int* p, global int* out) { struct H h = { p }; "
        "volatile int i = 0; if (get_group_id(0) == 0) h.p[i] = 1; else { while (!h.p[i]); out[0] = 1; } }",
        "void f(global int* p) { while (!p[0]); }\nkernel void k(global int* p) { volatile int i = 0; f(p + "
        "i); }"));

}  // namespace
}  // namespace cleave::kernels
