#include "kernels/facts/harmless_atomics.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

bool may_communicate(const std::string& text, const char* options = "") {
  BuildInputs with;
  with.options = options;
  return ProgramScan(text, with).of("k").communicates;
}

class HarmlessOperation : public testing::TestWithParam<const char*> {};

TEST_P(HarmlessOperation, DoesNotCommunicate) { EXPECT_FALSE(may_communicate(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(
    Kernels, HarmlessOperation,
    testing::Values(
        "kernel void k(global int* p) { atomic_add(p, 1); }",
        "kernel void k(volatile __global uint* p, int i) { if (i > 2) { atomic_inc(&p[i + 1]); } }",
        "kernel void k(global volatile int* p, int i) { if (i) atomic_max(p + i, i); else atom_or(p, i); }",
        "kernel void k(global int* restrict p) { int x = 1; atomic_sub(p, x); x = 2; atomic_and(p, x); }",
        "kernel void k(local int* p) { while (atomic_inc(p) < 3) {} }",
        "#define N (1 << 4)\n#define KERNEL kernel\nKERNEL void k(local int* p) { int x = atomic_add(p, N); "
        "}",
        "kernel void k(volatile local int* p) { int old = atomic_cmpxchg(&p[2], 0, 1); while (p[0]) {} }",
        "kernel void k(global int* o) { local int h[16]; for (int i = 0; i < 9; ++i) o[i] = "
        "atomic_add(&h[i], 1); }",
        "kernel void k(global int* o) { volatile __local int h[4][4]; o[0] = atomic_add(&h[1][2], 1); }",
        "kernel void k(global int* o) { local int n; while (o[0]) atomic_inc(&n); }",
        "kernel void k(global int* o) { while (o[0]) mem_fence(CLK_LOCAL_MEM_FENCE); }",
        "void f(volatile global int* p) { atomic_inc(p); } kernel void k(volatile global int* p) { f2(); }"));

class Communication : public testing::TestWithParam<const char*> {};

TEST_P(Communication, IsKept) { EXPECT_TRUE(may_communicate(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(
    Used, Communication,
    testing::Values("kernel void k(global int* p) { int x = atomic_add(p, 1); }",
                    "kernel void k(global int* p) { p[1] = atomic_inc(p); }",
                    "kernel void k(global int* p) { if (atomic_inc(p) == 3) p[1] = 2; }",
                    "kernel void k(global int* p) { int x; x = 1, atomic_inc(p); }",
                    "kernel void k(global int* p) { int x = ({ atomic_inc(p); }); }",
                    "kernel void k(global int* p) { int x = (int)atomic_inc(p); }",
                    "kernel void k(global int* p, int i) { int x = i ? 1 : atomic_inc(p); }",
                    "int f(global int* p) { return atomic_inc(p); } kernel void k(global int* p) { f(p); }",
                    "kernel void k(global int* p) { M(a; atomic_inc(p); b); }",
                    "kernel void k(global int* p) { X atomic_inc(p); }",
                    "kernel void k(global int* p) { atomic_inc(p) + 1; }",
                    "kernel void k(global int* p) { WHEN(1) atomic_inc(p); }",
                    "#define ADD(p) atomic_inc(p)\nkernel void k(global int* p) { ADD(p); }"));
INSTANTIATE_TEST_SUITE_P(
    Waiting, Communication,
    testing::Values(
        "kernel void k(global int* p, global int* q) { atomic_inc(p); while (q[0] < 9) {} }",
        "kernel void k(global int* p) { for (int i = 0; i < 9; ++i) atomic_inc(p); }",
        "kernel void k(global int* p) { do { atomic_inc(p); } while (p[0] < 9); }",
        "kernel void k(global int* p) { again: atomic_inc(p); if (p[0] < 9) goto again; }",
        "void f(global int* p) { atomic_inc(p); } kernel void k(global int* p) { while (p[1]) f(p); }",
        "void f(global int* p) { while (p[1]) {} } kernel void k(global int* p) { atomic_inc(p); f(p); }",
        "#define WAIT while (p[0] < 9)\nkernel void k(global int* p) { atomic_inc(p); WAIT; }",
        "#define LOOP while\nkernel void k(global int* p) { atomic_inc(p); LOOP (p[0] < 9); }"));
INSTANTIATE_TEST_SUITE_P(
    Operations, Communication,
    testing::Values(
        "kernel void k(global int* p) { atomic_xchg(p, 1); }",
        "kernel void k(global int* p) { atomic_cmpxchg(p, 1, 2); }",
        "kernel void k(global atomic_int* p) { atomic_store(p, 1); }",
        "kernel void k(global atomic_int* p) { atomic_fetch_add(p, 1); }",
        "kernel void k(global float* p) { atomic_add(p, 1); }",
        "kernel void k(global T* p) { atomic_add(p, 1); }",
        "kernel void k(volatile global int* p) { int x = p[0]; }",
        "kernel void k(volatile global int* p) { atomic_inc(p); p[1] = 2; }",
        "kernel void k(volatile global int* p) { atomic_inc(&p[p[0]]); }",
        "kernel void k(volatile global int* p) { atomic_add(p, p[1]); }",
        "kernel void k(global int* p) { volatile global int* q = p; atomic_inc(p); }",
        "kernel void k(global int* p) { mem_fence(CLK_GLOBAL_MEM_FENCE); }",
        "kernel void k(global int* p) { mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }",
        "#define CLK_LOCAL_MEM_FENCE 2\nkernel void k(global int* p) { mem_fence(CLK_LOCAL_MEM_FENCE); }",
        "kernel void k(global int* p) { atomic_inc(p); printf(\"x\"); }",
        "kernel void k(global int** p) { atomic_inc(p[0]); }",
        "kernel void k(global int** p) { atomic_inc(&p[0][1]); }",
        "kernel void k(global S* p) { atomic_inc(&p[0].q[1]); }",
        "kernel void k(global S* p) { atomic_inc(p->q); }"));
// Memory that seems to be local.
INSTANTIATE_TEST_SUITE_P(
    Spaces, Communication,
    testing::Values(
        "kernel void k(global int* p) { int x = atomic_inc(p); local int q[2]; }",
        "kernel void k(global int* g) { local int p[2]; { global int* p = g; int x = atomic_inc(p); } }",
        "kernel void k(global int* g) { local int p[2]; { GP a, p = g; int x = atomic_inc(p); } }",
        "kernel void k(global int* g) { local int p[2]; for (GP a, p = g, b;;) { int x = atomic_inc(p); } }",
        "kernel void k(global int* g) { global int* local p; int x = atomic_inc(p); }",
        "kernel void k(global int* g) { int* local p; int x = atomic_inc(p); }",
        "kernel void k(global int* g) { local GP p; int x = atomic_inc(p); }",
        "kernel void k(global int* g) { local GP p[4]; int x = atomic_inc(&p[0][1]); }",
        "kernel void k(local GP p) { int x = atomic_inc(p); }",
        "kernel void k(local int* p) { GP __attribute__((x)) p = g; int x = atomic_inc(p); }",
        "kernel void k(local int* p) { struct { int a; } *q, *p; int x = atomic_inc(p); }",
        "#define SHADOW global int* p = g;\nkernel void k(local int* p) { SHADOW int x = atomic_inc(p); }",
        "#define get_q global int* p = g;\n#define SHADOW get_q\nkernel void k(local int* p) { SHADOW int x "
        "= "
        "atomic_inc(p); }",
        "#define GPTR(n) global int* n = g\nkernel void k(local int* p) { GPTR(p); int x = atomic_inc(p); }",
        "#define P p\nkernel void k(local int* p) { GP P = g; int x = atomic_inc(p); }",
        "#define LIST(a, b) a, b\nkernel void k(local int* p) { GP LIST(a, p) = g; int x = atomic_inc(p); }",
        "#define if(x) int y =\nkernel void k(global int* p) { if (1) atomic_inc(p); }",
        "kernel void k(global int* g) { local GP p[4]; int x = atomic_inc(p[0]); }",
        "kernel void k(global int* g) { local S p[4]; int x = atomic_inc(&p[0].next[1]); }",
        "kernel void k(global int* g) { local S p[4]; int x = atomic_inc(p->next); }",
        "kernel void k(global int* g) { local S p[4]; int x = atomic_inc(&p[0]->n); }",
        "#define local global\nkernel void k(local int* p) { int x = atomic_inc(p); }",
        "kernel void k(local int* p, global int* q) { int x = atomic_inc(q); }",
        "kernel void k(local int* p, global int* q) { int x = atomic_inc(1 ? q : q); }"));

TEST(HarmlessAtomics, WordsThatOptionsRedefineAreNotTrusted) {
  const char* const text = "kernel void k(local int* p) { int x = atomic_inc(p); }";
  EXPECT_FALSE(may_communicate(text));
  EXPECT_TRUE(may_communicate(text, "-Dlocal=global"));
  EXPECT_TRUE(may_communicate("kernel void k(global int* p) { if (1) atomic_inc(p); }", "-D if(x)=int\ty="));
}

TEST(HarmlessAtomics, TheirLoopIsTheCause) {
  const ProgramScan scan("kernel void k(global int* p) {\n atomic_inc(p);\n while (p[1]) {}\n}");
  const Causes causes(scan.causes_of("k"));
  ASSERT_NE(causes.of(Cause::Finding::communicates), nullptr);
  EXPECT_EQ(sentence(*causes.of(Cause::Finding::communicates)), "`atomic_inc` is used in line 2");
}

}  // namespace
}  // namespace cleave::kernels
