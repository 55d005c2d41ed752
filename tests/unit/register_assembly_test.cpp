#include "kernels/facts/register_assembly.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

Scan scan_of_body(const std::string& body, const std::string& before = {}) {
  return ProgramScan(before + "kernel void k(global uint* p, uint n) { uint x = n, y = n; ulong z = n; " +
                     body + " p[get_global_id(0)] = x + y + (uint)z; }")
      .of("k");
}

bool is_unsplit(const Scan& scan) { return scan.opaque || scan.assembly; }

class Computation : public testing::TestWithParam<const char*> {};

// What it does with pointers is not known.
TEST_P(Computation, CountsAsCommunicationOnly) {
  const Scan scan = scan_of_body(GetParam());
  EXPECT_FALSE(is_unsplit(scan));
  EXPECT_TRUE(scan.communicates);
  EXPECT_FALSE(scan.reads_ndrange);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, Computation,
    testing::Values(
        R"(asm("bfe.u32 %0, %1, 8, 8;" : "=r"(x) : "r"(y));)",
        R"(asm volatile ("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(x) : "r"(y));)",
        R"(__asm__ __volatile__ ("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x) : "r"(x), "r"(y), "r"(n));)",
        R"(if (n) { __asm("add.cc.u32 %0, %1, %2;\n\t" "addc.u32 %0, %0, -1;" : "=r"(x) : "r"(y), "n"(3)); })",
        R"(asm("{ .reg .pred q; .reg .u32 t, s; setp.ne.u32 q, %1, 0; mov.u32 t, %1; selp.u32 %0, t, %1, q; }"
               : "=r"(x) : "r"(y));)",
        R"(asm("new.u16x2 %0, %1;" : "=r"(x) : "r"(y));)",
        R"(asm("mov.b64 {%0, %1}, %2;" : "=r"(x), "=r"(y) : "l"(z));)",
        R"(for (uint i = 0; i < 4; ++i) { asm("vabsdiff.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(x) : "r"(y), "r"(i)); })",
        R"(asm("mad.lo.u32 %0,%1,%2,%3;" : "=r"(p[get_global_id(0)]) : "r"(y), "r"(n), "r"(x));)"));

class OtherAssembly : public testing::TestWithParam<const char*> {};

TEST_P(OtherAssembly, MayDoAnything) { EXPECT_TRUE(is_unsplit(scan_of_body(GetParam()))); }

// What it reads or writes besides its operands.
INSTANTIATE_TEST_SUITE_P(
    Instructions, OtherAssembly,
    testing::Values(
        R"(asm("mov.u32 %0, %%ctaid.x;" : "=r"(x));)", R"(asm("mov.u32 %0, %ctaid.x;" : "=r"(x));)",
        R"(asm("mov.u32 %0, %%nctaid.x;" : "=r"(x));)", R"(asm("mov.u32 %0, %clock;" : "=r"(x));)",
        R"(asm("mov.u64 %0, table;" : "=l"(z));)", R"(asm("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(z));)",
        R"(asm("mov.u32 %0, [%1];" : "=r"(x) : "l"(z));)",
        R"(asm("st.global.u32 [%1], %1; mov.u32 %0, 0;" : "=r"(x) : "l"(z));)",
        R"(asm("atom.global.add.u32 %0, [%1], 1;" : "=r"(x) : "l"(z));)",
        R"(asm("bar.sync 0; mov.u32 %0, 1;" : "=r"(x));)", R"(asm("bar.red.popc.u32 %0, 0, 1;" : "=r"(x));)",
        R"(asm(".u32 %0, 1;" : "=r"(x));)", R"(asm("pick.some.lane %0, 1;" : "=r"(x));)",
        R"(asm("membar.gl; mov.u32 %0, 1;" : "=r"(x));)", R"(asm("L: mov.u32 %0, 1; bra L;" : "=r"(x));)",
        R"(asm("L:mov.u32 %0, 1;" : "=r"(x));)", R"(asm("@p mov.u32 %0, 1;" : "=r"(x));)",
        R"(asm("mov.u32 %0, 1; exit;" : "=r"(x));)", R"(asm("call f; mov.u32 %0, 1;" : "=r"(x));)",
        R"(asm(".global .u32 g; mov.u32 %0, 1;" : "=r"(x));)",
        R"(asm("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(x) : "r"(y));)",
        R"(asm("mov.u32 %0, 1 // ;\n; ld.global.u32 %0, [%1];" : "=r"(x) : "l"(z));)",
        R"(asm("mov.u32 %0, 1; /* ; */" : "=r"(x));)", R"(asm("mov.u32 %0, 1; \x6c" : "=r"(x));)",
        R"(asm("mov.u32 %0, %2;" : "=r"(x) : "r"(y));)", R"(asm("mov.u32 %0, %1" : "=r"(x) : "r"(y));)",
        R"(asm("V_BFE_U32 %0, %1, 0, 8;" : "=v"(x) : "v"(y));)", R"(asm("mov 4096, %0;" : "=r"(x));)",
        R"(asm("{ .reg .u32 t; mov.u32 t, 0; } mov.u32 %0, t; { mov.u32 %0, %0; }" : "=r"(x));)",
        R"(asm("} mov.u32 %0, 1; {" : "=r"(x));)", R"(asm("mov.u32 %0, 1; { mov.u32 %0, 2;" : "=r"(x));)",
        R"(asm("mov.b64 {{%0, %1}}, %2;" : "=r"(x), "=r"(y) : "l"(z));)",
        R"(asm(".reg .u32 t<4>; mov.u32 %0, 1;" : "=r"(x));)"));
// How it is written.
INSTANTIATE_TEST_SUITE_P(
    Statements, OtherAssembly,
    testing::Values(R"(asm("neg.s32 %0, %1;" : "=m"(x) : "r"(y));)",
                    R"(asm("neg.s32 %0, %1;" : "=r"(x) : "m"(y));)",
                    R"(asm("neg.s32 %0, %1;" : "=r"(x) : "r"(y) : "memory");)",
                    R"(asm volatile goto("neg.s32 %0, %1;" : "=r"(x) : "r"(y));)",
                    R"(asm("neg.s32 %0, %[v];" : "=r"(x) : [v] "r"(y));)",
                    R"(asm("neg.s32 %0, %1;" : ""(x) : "r"(y));)",

                    R"(asm("neg.s32 %0, %1;" : "=r"(({ g(); x; })) : "r"(y));)", R"(asm("mov.u32 t, 1;");)",
                    R"(asm("mov.u32 %0, 1;" : : "r"(x));)", R"(asm volatile("" ::: "memory");)",
                    R"(asm("" : "+r"(x));)", R"(asm("neg.s32 %0, %1;" : "=r"(x) : "r"(y)), g();)",

                    R"(asm("neg.s32 %0, " TEXT : "=r"(x) : "r"(y));)",
                    "asm(\"neg.s32 %0, %1;\" : \"=r\"(x)\n#if N\n: \"r\"(y)\n#endif\n);"));

// A function between the macro and the kernel, so that the macro is not at the kernel's head.
TEST(RegisterAssembly, WordsThatMayBeMacrosAreNot) {
  constexpr const char* kAssembly = R"(asm volatile("neg.s32 %0, %1;" : "=r"(x) : "r"(y));)";
  const std::string function = "uint f(uint a) { return a + 1; }\n";
  EXPECT_FALSE(is_unsplit(scan_of_body(kAssembly, function)));
  for (const char* word : {"asm", "volatile"}) {
    const std::string macro = std::string(word) + "(...) (\"mov.u32 %0, %%ctaid.x;\" : \"=r\"(x))\n";
    EXPECT_TRUE(is_unsplit(scan_of_body(kAssembly, "#define " + macro + function))) << word;
    BuildInputs inputs;
    inputs.options = std::string("-D") + word + "=g";
    const ProgramScan scan(
        function + "kernel void k(global uint* p) { uint x, y; " + kAssembly + " p[0] = x; }", inputs);
    EXPECT_TRUE(is_unsplit(scan.of("k"))) << word;
  }
  EXPECT_TRUE(scan_of_body("NEG(x, y);",
                           "#define NEG(a, b) asm(\"neg.s32 %0, %1;\" : \"=r\"(a) : \"r\"(b))\n" + function)
                  .opaque);
}

// What a user vouches for is a statement; one that names a symbol could be a function that the prelude replaces.
TEST(RegisterAssembly, OfDeclarationsIsNoStatement) {
  for (const char* body : {"asm(\"\");", "{\n#ifdef __x\nasm(\"\");\n#endif\n}"}) {
    const Scan scan = scan_of_body(body);
    EXPECT_TRUE(scan.assembly && scan.communicates && scan.may_wait && !scan.opaque) << body;
  }
  EXPECT_FALSE(
      scan_of_body("asm(\"\");", "#define J(a, b) a##b\nuint J(f, 1)(uint a) { return a; }\n").opaque);
  EXPECT_TRUE(scan_of_body("J(as, m)(\"\");", "#define J(a, b) a##b\n").opaque);
  for (const char* text : {"asm(\"\");", "uint f(uint) asm(\"_Z12get_group_idj\");"})
    EXPECT_TRUE(scan_of_body("", text).opaque) << text;
  EXPECT_TRUE(scan_of_body("register uint r asm(\"s6\"); x = r;").opaque);
}

TEST(RegisterAssembly, OperandsAreSeen) {
  EXPECT_TRUE(
      scan_of_body(R"(asm("neg.s32 %0, %1;" : "=r"(x) : "r"((uint)get_group_id(0)));)").reads_ndrange);
  EXPECT_TRUE(scan_of_body(R"(asm("neg.s32 %0, %1;" : "=r"(x) : "r"(__builtin_f(x)));)").opaque);
}

TEST(RegisterAssembly, ThatOfOtherFunctionsDoesNotMatter) {
  const ProgramScan scan(R"(uint f(uint a) { asm("neg.s32 %0, %0;" : "+r"(a)); return a; }
      uint g(uint a) { asm("mov.u32 %0, %%ctaid.x;" : "=r"(a)); return a; }
      kernel void k(global uint* p) { p[get_global_id(0)] = f(1); }
      kernel void l(global uint* p) { p[get_global_id(0)] = g(1); }
      kernel void m(global uint* p) { p[get_global_id(0)] = 1; })");
  EXPECT_FALSE(is_unsplit(scan.of("k")));
  EXPECT_TRUE(scan.of("k").communicates);
  EXPECT_TRUE(is_unsplit(scan.of("l")));
  EXPECT_FALSE(scan.of("m").communicates);
}

}  // namespace
}  // namespace cleave::kernels
