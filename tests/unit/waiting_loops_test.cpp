// Which loops end by themselves while nobody else changes memory, and which may wait.
#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/loops.h"
#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

Scan scan_kernel(const std::string& text, const char* options = "") {
  BuildInputs with;
  with.options = options;
  return ProgramScan(text, with).of("k");
}

// Of a kernel with that body.
std::string program(const std::string& body) {
  return "typedef struct { int n; int m[4]; } S;\nint read(global int* q) { return *q; }\n"
         "void change(int* q) { --*q; }\n"
         "kernel void k(global int* p, global const S* s, int n) { int i = 9; int b = 0; uint r = n; " +
         body + " }";
}

class LoopThatEnds : public testing::TestWithParam<const char*> {};

TEST_P(LoopThatEnds, DoesNotWait) {
  EXPECT_FALSE(scan_kernel(program(GetParam())).may_wait) << GetParam();
  const Scan with_atomics = scan_kernel(program("atomic_inc(p); " + std::string(GetParam())));
  EXPECT_TRUE(with_atomics.communicates) << GetParam();
  EXPECT_FALSE(with_atomics.may_wait) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Counted, LoopThatEnds,
    testing::Values("for (int j = 0; j < n; ++j) {}",
                    "for (int j = 0; j < n; j++) { if (j) ++b; b = (j) == 3; }",
                    "if (b) for (int j = 0; j < n; j++) b += j; else b = 0;",
                    "for (int j = 0, m = 0; j < n - 64; j += 64, m += 16) { b += m; }",
                    "for (int j = 0; j < n; j++) { switch (b) { case 1: b = 2; break; default: continue; } }",
                    "for (int j = 0; j < 16; j++) b += read(p);", "do { b = p[0]; if (b) break; } while (0);",
                    "for (int j = 15; j >= 0; --j) { for (uint l = 0; l <= 0xf; l += 2u) { p[l] = j; } }",
                    "for (i = n; i > 0; i -= 4) { b = i; }", "for (size_t j = 0; j < n; j++) {}"));

INSTANTIATE_TEST_SUITE_P(NamedTypes, LoopThatEnds,
                         testing::Values("typedef uint word; for (word j = 0; j < n; j++) {}",
                                         "typedef unsigned int a; typedef a b; for (b j = 0; j < n; j++) {}",
                                         "for (unsigned int j = 0; j < n; j++) {}",
                                         "typedef long int far; for (far j = n; j >= 0; j--) {}"));

class LoopThatWaits : public testing::TestWithParam<const char*> {};

TEST_P(LoopThatWaits, MayWait) {
  EXPECT_TRUE(scan_kernel(program(GetParam())).may_wait) << GetParam();
  // What is not told apart is no better.
  const std::string pasting = "#define JOIN(a, b) a##b\nint JOIN(x, 1)(int y) { return y; }\n";
  EXPECT_TRUE(scan_kernel(pasting + program(GetParam())).may_wait) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Spins, LoopThatWaits,
    testing::Values(
        "while (1) {}", "for (;;) { if (p[0]) break; }", "do {} while (true);", "while (!p[0]);",
        "while (*p == 0) {}", "while (atomic_load((global atomic_int*)p) == 0) {}",
        "while (atomic_cmpxchg(p, 0, 1) != 0);", "do { b = atomic_cmpxchg(p, 0, 1); } while (b);",
        "do b = atomic_xchg(p, 1); while (b);", "while (!b) { b = p[0]; }", "while (b == 0) b = read(p);",
        "while (read(p) == 0) {}", "for (; *p == 0;) {}", "for (; *p < 4;) {}", "for (; s->n != n;);",
        "for (i = 0; i < *p;) {}", "for (i = 0; i < *p;) { if (b) i++; }", "for (i = 0; i != *p; i++) {}",
        "for (i = 0; i == *p; i++) {}", "for (i = 0; i < n && !*p; i++) {}",
        "for (i = 0; i < n || *p; i++) {}", "for (i = 0; i < *p && b; i++) {}", "for (i = 0; !p[i]; i++) {}",
        "for (i = 0; i < n; i += p[0]) {}", "for (i = 0; i < n; i += b) { b = p[i]; }",
        "while (p[i]) i = p[i];", "while (p->x < n) { ++n; }", "while (i < n) { if (p[i]) ++i; }",
        "while (i < n) { p[i] && i++; }", "while (i < n) { i += p[i] ? 1 : 0; }",
        "while (i < n) { p[i] ? i++ : 0; }", "while (i < n) switch (p[i]) { case 1: i++; }",
        "while (i < n) { if (p[i]) continue; ++i; }", "for (; i < n; p[0] && i++) {}",
        "for (; i < *p; p[1] ? min(b, i++, b) : 0) {}", "for (; i < n; i = p[i]) {}",
        "while (b = p[0], b == 0) {}", "for (; b = p[0], !b; i++) {}", "again: if (p[0]) goto again;",
        "again: for (; i < n; i++) if (p[i]) goto again;", "for (int j = 0; j < n; j++) while (p[j] == 0) {}",
        "for (int j = 0; j < s->n; j++) { while (!*p); }", "for (; r; r >>= 1) { while (!*p); }",
        "if (n) { while (!*p) {} } else b = 1;", "switch (n) { case 1: while (!*p) {} }",
        "for (int j = 0; j < (*p ? 0 : 1); j++) {}", "for (int j = 0; j < read(p); j++) {}",
        "for (int j = 0; j < get_flag(p); j++) {}", "while (i < get_flag(p)) { i++; }",
        "for (int j = 0; j < atomic_load(p); j++) {}",
        "volatile global int* v = p; for (int j = 0; j < *v; j++) {}",
        "while (*(volatile global int*)p == 0);", "global atomic_int* a = p; for (int j = 0; j < *a; j++) {}",
        "printf(\"%d\", n);", "write_pipe(n, p);"));

INSTANTIATE_TEST_SUITE_P(
    CountersThatMayStay, LoopThatWaits,
    testing::Values(
        "for (int j = 0; j < *p, b; j++) {}", "for (int j = 0; j < s->n; j--) {}",
        "for (int j = 0; j > *p; j++) {}", "for (int j = 0; *p < j; j++) {}",
        "for (int j = 0; j < n; j--) { if (*p) break; }", "for (uint j = 0; j >= 0; j++) { if (*p) break; }",
        "for (int j = 0; j < *p; j++) { j--; }", "for (int j = 0; j < *p; j++) { if (b) j = 0; }",
        "for (int j = 0; j < *p; j++) { (j)--; }", "for (int j = 0; j < *p; j++, j--) {}",
        "for (int j = 0; j < *p; j++) change(&j);",
        "int* q = &i; for (i = 0; i < n; i++) { *q = 0; if (*p) break; }",
        "int* q = (int*)&i; for (i = 0; i < *p; i++) { *q = 0; }",
        "ulong q = (ulong)&(i); for (i = 0; i < *p; i++) { *(int*)q = 0; }",
        "for (int j = 0; j < *p; j++) { p = p + 1; }", "for (int j = 0; j < *p; j++) p++;",
        "for (int j = 0; j < p[b]; j++) { b++; }", "for (int j = 0; j < *p; j += 0) {}",
        "for (int j = 0; j < n; j += 0) if (*p) break;", "for (int j = 0; j < 1; j *= 1) if (*p) break;",
        "for (int j = 0; j < 4; j = j) if (*p) break;",
        "for (int j = 0; j < 4; j = (j + 1) & 3) if (p[j]) break;",
        "for (int j = 0; j < 4; j = j + 1 & 3) if (p[j]) break;",
        "for (int j = 0; j < 4; j = (j + 1) % 4) if (p[j]) break;", "for (int j = 0; j < *p; j = n) {}",
        "for (int j = 0; j < *p; j += -1) {}", "for (int j = 0; j < *p; j -= 1) {}",
        "for (int j = 0; j < *p; j ^= 1) {}", "for (int j = 0; j < j + 1; j++) if (*p) break;",
        "for (int j = 0; j % 4 < 4; j++) if (*p) break;", "for (int j = 1; j; j++) if (*p) break;",
        "for (int j = 0; j != 5; j += 2) if (*p) break;",
        "for (uint j = 0; j < 0xFFFFFFFF; j++) if (*p) break;",
        "for (int j = 0; j < INT_MAX; j++) if (*p) break;",
        "for (int j = 0; j < *p; j++) asm(\"mov.u32 %0, 0;\" : \"=r\"(j));",
        "for (int j = 0; j < n; j++) asm volatile(\"mov.u32 %0, 0;\" : \"=r\"(j));",
        "while (i < n) { int i; i++; if (*p) break; }", "while (i < n) { int m, i; i++; if (*p) break; }",
        "for (int j = 0; j < *p; j++) do {} while (j-- > 5);",
        "for (int j = 0; j < *p; j++) b = (int2){1, 2}.x + j--;"));

INSTANTIATE_TEST_SUITE_P(
    ThatDoNotShrink, LoopThatWaits,
    testing::Values("for (; r; r >>= 0) if (*p) break;", "for (; r; r /= 1) if (*p) break;",
                    "for (; r; r >>= n) if (*p) break;", "for (; r >= 0; r >>= 1) if (*p) break;",
                    "for (; r != 1; r >>= 1) if (*p) break;", "for (; r > *p; r >>= 1) { r++; }",
                    "for (; r; r >>= 1) { r++; }", "for (; r; r >>= 1) { r = n; }",
                    "for (; r; r >>= 1) { r += 1; }", "for (; r; r >>= 1) { r--; r--; }",
                    "for (; r; r >>= 1) { for (int j = 0; j < n; j++) r--; }",
                    "for (; r; r >>= 1) { r -= 2; }", "for (; r; r >>= 1) change((int*)&r);",
                    "for (; r && !*p; r >>= 1) {}", "for (; r || *p; r >>= 1) {}",
                    "for (; r; r >>= 1, r++) {}", "for (; r; r <<= 1) {}", "while (r) { r >>= 1; r++; }",
                    "for (; r; n >>= 1) {}", "for (; r; r >>= 1) asm(\"mov.u32 %0, 1;\" : \"=r\"(r));"));

INSTANTIATE_TEST_SUITE_P(
    OfTypesThatMayBeNarrowOrUnsigned, LoopThatWaits,
    testing::Values(
        "typedef uchar u32; for (u32 j = 0; j < n; j++) if (*p) break;",
        "for (u32 j = 0; j < n; j++) if (*p) break;",
        "typedef uint t; typedef ushort t; for (t j = 0; j < n; j++) if (*p) break;",
        "typedef uint t; { typedef struct { int n; } *t; } for (t j = 0; j < n; j++) if (*p) break;",
        "typedef uint2 t; for (t j = 0; j < n; j++) if (*p) break;",
        "typedef uint t __attribute__((mode(QI))); for (t j = 0; j < n; j++) if (*p) break;",
        "typedef t t; for (t j = 0; j < n; j++) if (*p) break;",
        "for (short int j = 0; j < n; j++) if (*p) break;",
        "for (int short j = 0; j < n; j++) if (*p) break;",
        "for (unsigned char j = 0; j < n; j++) if (*p) break;",
        "for (unsigned int j = n; j >= 0; j--) if (*p) break;",
        "typedef unsigned t; for (t j = n; j >= 0; j--) if (*p) break;"));

// They end, but only few shapes are told from what looks like them.
INSTANTIATE_TEST_SUITE_P(
    WrittenInAnotherWay, LoopThatWaits,
    testing::Values("for (; i > 0; i >>= 1) b += p[i];", "for (uint j = 0; j < s->n; j += 1) {}",
                    "for (; i--;) {}", "while (i-- > 0) {}",
                    "for (uint j = get_local_id(0); j < n; j += get_local_size(0)) {}",
                    "do { i = i + 3; } while (i < n && b == 0);", "for (int j = 0; j != n; j++) {}",
                    "for (int j = 0; j < n; j++) for (int l = 0; l < j; l++) b = 1;",
                    "for (int j = 0; j < *p; j++) {}", "for (int j = 0; j < s[0].n; j++) {}",
                    "for (uint r = n; r; r >>= 1) {}", "for (; r > 0; r /= 2) {}",
                    "for (int j = 0; (j < n); j++) {}"));

// Each ends only when memory changes, or after so many rounds that this is no difference.
INSTANTIATE_TEST_SUITE_P(
    LookAlikes, LoopThatWaits,
    testing::Values(
        "while (i < 1) i += (uint)*p;", "for (uint j = 0; j < 1; j += (uint)*p);",
        "uint d = 0; uint* q = &d; for (uint j = 0; j < 1; j += d) { *q = p[0]; }",
        "int m = 1; int* q = &m; for (int j = 0; j < m; j++) *q = j + 2 - 2 * p[0];",
        "while (!(b && 0 != i && 1)) { b = p[0]; i++; }", "while (i + +1 < 10) { if (p[0]) break; }",
        "for (int j = 0; j < 10; + +j) { if (p[0]) break; }",
        "for (int j = 9; j > 0; - -j) { if (p[0]) break; }",
        "while (i < 10 && sizeof i++) { if (p[0]) break; }",
        "for (int j = 0; j < 10, 1; j++) if (p[0]) break;",
        "for (int j = 10; j < 10 ^ 1; j++) if (p[0]) break;",
        "while (i < 10) { int (i); i++; if (p[0]) break; }",
        "int j; int (*q)[1] = (int (*)[1])&j; for (j = 0; j < 10; j++) { if (!p[0]) (*q)[0] = 0; }",
        "uint v = 1; uint* m = &v; for (uint j = 0; j < *m; j++) if (!p[0]) (*m)++;",
        "uint v = 1; uint* m = &v; uint* q = m; for (uint j = 0; j < m[0]; j++) if (!p[0]) q[0]++;",
        "for (uint j = 1; j; j -= 2) if (p[0]) break;", "for (uint j = 5; j >= 0; --j) if (p[0]) break;",
        "for (uchar j = 0; j < 300; j++) if (p[0]) break;",
        "uchar j; for (j = 0; j < 300; j++) if (p[0]) break;",
        "for (int j = 0; j < 10; j += 1 - 1) if (p[0]) break;",
        "for (float j = 2e7f; j < 3; j++) if (p[0]) break;",
        "for (uint j = 0; j < 10; j *= 2) if (p[0]) break;",
        "for (uint j = 0; j < 10; j <<= 1) if (p[0]) break;", "for (int r = -1; r; r >>= 1) if (p[0]) break;",
        "for (uint j = 0; j <= -1; j++) if (p[0]) break;",
        "for (ulong j = 0; j < (ulong)-1; j++) if (p[0]) break;",
        "for (ulong j = 0; j < (1UL << 62); j++) if (p[0]) break;",
        "for (ulong j = 0; j < 1e18f; j++) if (p[0]) break;",
        "for (uint j = 0; j < 99999999; j++) if (p[0]) break;", "for (int j = 0; j < 010; j++) {}",
        "for (int j = 0; j <= n; j++) {}", "for (int j = 0; j < n; j++) { asm(\"\" : \"=r\"(n)); }"));

TEST(WaitingLoops, MacrosThatSeemToBeSomethingElseMayWait) {
  const std::string head = "kernel void k(volatile global uint* p, uint n) { ";
  EXPECT_TRUE(scan_kernel("#define SPIN(a) while (!*(a)) { }\n" + head +
                          "SPIN(p\n#define X 1, 2\n ) int q = (X); p[1] = 1; }")
                  .may_wait);
  EXPECT_TRUE(scan_kernel("#define OP\n#undef OP\n#define OP || 1\n" + head +
                          "for (int i = 0; i < 10 OP; i++) if (p[0]) break; }")
                  .may_wait);
  EXPECT_TRUE(scan_kernel("#define OFF -1\n" + head + "int i = n; while (i - OFF > 0) { if (p[0]) break; } }")
                  .may_wait);
  EXPECT_TRUE(
      scan_kernel("uint __attribute__((overloadable)) max(volatile global uint* f) { return f[0]; }\n" +
                  head + "uint i = 0; while (i < 1) i += max(p); }")
          .may_wait);
  const std::string step = "kernel void k(global uint* p, uint n) { for (uint i = 0; i < n; i += N) {} }";
  EXPECT_FALSE(scan_kernel(step, "-DN=4").may_wait);
  for (const char* options : {"-DN=0", "-DN=99999999", "-DN=4 -DN=0", "-DN=4\t+p[0]", "-DN=0x4", "-DN=4u"})
    EXPECT_TRUE(scan_kernel(step, options).may_wait) << options;
  EXPECT_TRUE(scan_kernel("#define N 0\n" + step, "-DN=4").may_wait);
}

TEST(WaitingLoops, MacrosThatHideThemMayWait) {
  const std::string kernel = "kernel void k(global int* p, int n) { int i = 0; ";
  for (const std::string hidden :
       {"#define SPIN(x) while (!*x) {}\n", "#define W while\n#define SPIN(x) W (!*x) {}\n",
        "#define W while\n#define SPIN(...) W (!*__VA_ARGS__) {}\n", "#define SPIN(x) while (!*x##0) {}\n",
        "#define SPIN(x)\n#define SPIN(x) while (!*x) {}\n",
        "#define W while\n#define SPIN(x) W (!*x) {}\n#undef SPIN\n#define SPIN(x) W (*x) {}\n",
        "#define LOOP(x) goto x\n#define SPIN(x) a: if (!*x) LOOP(a);\n",
        "void spin(global int* q) { while (!*q) {} }\n#define SPIN(x) spin(x)\n",
        "void spin(global int* q) { while (!*q) {} }\n#define S spin\n#define SPIN(x) S(x)\n",
        "void spin(global int* q) { if (!*q) spin(q); }\n#define SPIN(x) spin(x)\n",
        "#define BACK i--\n#define BACK i++\n#define SPIN(x) for (; i < *x; i++) { BACK; }\n",
        "#define UNSET *x\n#undef UNSET\n#define SPIN(x) for (; i < 4; i++) UNSET;\n",
        "#define NOT !\n#define F *p\n#define SPIN(x) while (NOT F) {}\n"})
    EXPECT_TRUE(scan_kernel(hidden + kernel + "SPIN(p) }").may_wait) << hidden;
  EXPECT_TRUE(scan_kernel(kernel + "SPIN(p) for (; i < n; i++) {} }", "-DSPIN(x)=while(!*x)").may_wait);
  EXPECT_TRUE(scan_kernel(kernel + "for (; i < n; i++) STEP }", "-DSTEP=i--;").may_wait);
  EXPECT_FALSE(scan_kernel(kernel + "for (; i < n; i += STEP) {} }", "-D STEP=4 -DOTHER").may_wait);
  EXPECT_TRUE(scan_kernel(kernel + "for (; i < n; i += STEP) {} }", "-D STEP='4'").may_wait);
}

// Only some compilers compile what is in the condition.
TEST(WaitingLoops, LoopsOfUncertainTextMayWait) {
  const std::string kernel = "kernel void k(global int* p, int n) { int i = 0;\n";
  const std::string uncertain = "#ifdef __FAST_RELAXED_MATH__\ni++;\n#endif\n";
  EXPECT_TRUE(scan_kernel(kernel + "while (i < n) {\n" + uncertain + "} }").may_wait);
  EXPECT_FALSE(scan_kernel(kernel + "for (; i < n; i++) {\n#ifndef KNOWN\np[i]++;\n#endif\n} }").may_wait);
  EXPECT_FALSE(scan_kernel(kernel + uncertain + "}").may_wait);
  const auto before_a_loop = [&](const std::string& text) {
    return scan_kernel(kernel + text + "for (; i < n; i++) {} }").may_wait;
  };
  EXPECT_FALSE(before_a_loop("#pragma unroll\n"));
  EXPECT_TRUE(before_a_loop("#ifdef _a\n#pragma unroll\n#define n *p\n#endif\n"));
  EXPECT_TRUE(before_a_loop("#ifdef _a\n#pragma unroll\n#else\nn = *p;\n#endif\n"));
  BuildInputs with;
  with.headers = {"i--;"};
  with.header_names = {"step.h"};
  const ProgramScan included(kernel + "for (; i < n; i++) {\n#include \"step.h\"\n} }", with);
  EXPECT_TRUE(included.of("k").may_wait);
}

TEST(WaitingLoops, PastedNamesMayBeLoops) {
  const std::string kernel = "kernel void k(global int* p, int n) { int i = 0; ";
  EXPECT_TRUE(scan_kernel("#define J(a, b) a##b\n" + kernel + "J(whi, le) (!*p) {} }").may_wait);
  EXPECT_TRUE(scan_kernel("#define J(a, b) a##b\n" + kernel + "J(go, to) x; x:; }").may_wait);
  EXPECT_TRUE(scan_kernel("#define J(a, b) a##b\n" + kernel + "J(pri, ntf)(\"x\"); }").may_wait);
  EXPECT_TRUE(scan_kernel("#define J(a, b) a##b\n" + kernel + "for (; i < n; i++) J(x, i)--; }").may_wait);
}

TEST(WaitingLoops, OnlyWhatIsReachedCounts) {
  const ProgramScan scan(
      "void spin(global int* q) { while (!*q) {} }\nvoid wait(global int* q) { spin(q); }\n"
      "kernel void a(global int* q) { q[0] = atomic_inc(q); for (int i = 0; i < 9; i++) {} }\n"
      "kernel void b(global int* q) { wait(q); }\nkernel void c(global int* q) { printf(\"\"); }\n");
  EXPECT_TRUE(scan.of("a").communicates);
  EXPECT_FALSE(scan.of("a").may_wait);
  EXPECT_TRUE(scan.of("b").may_wait);
  EXPECT_TRUE(scan.of("c").may_wait);
  EXPECT_TRUE(scan.whole().may_wait);
  EXPECT_TRUE(scan.of("unknown").may_wait);
}

TEST(WaitingLoops, VariablesOfTheProgramAreMemory) {
  const std::string kernel = "kernel void k(global int* p, int n) { for (int i = 0; i < ready; i++) {} }";
  EXPECT_TRUE(scan_kernel("global int ready;\n" + kernel, "-cl-std=CL2.0").may_wait);
  EXPECT_FALSE(scan_kernel("constant int ready = 1;\n" + kernel).may_wait);
}

TEST(WaitingLoops, WhatIsNotKnownMayWait) {
  EXPECT_TRUE(Scan::worst_case().may_wait);
  EXPECT_TRUE(
      scan_kernel("#include \"missing.h\"\nkernel void k(global int* p) { atomic_inc(p); }").may_wait);
  EXPECT_TRUE(scan_kernel("kernel void k(global int* p) { atomic_inc(p); } ?\?/").may_wait);
  EXPECT_TRUE(scan_kernel("kernel void k(global int* p) { asm(\"bar;\"); }").may_wait);
  EXPECT_TRUE(scan_kernel("kernel void k(global int* p) { atomic_inc(p); }", "-cl-std=CLC++").may_wait);
  EXPECT_TRUE(scan_kernel("kernel void k(global int* p) { atomic_inc(p); }", "-unknown").may_wait);
  EXPECT_FALSE(scan_kernel("kernel void k(global int* p) { atomic_inc(p); }").may_wait);
}

}  // namespace
}  // namespace cleave::kernels
