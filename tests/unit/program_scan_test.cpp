#include "kernels/facts/program_scan.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::kernels {
namespace {

constexpr const char* kClean = "kernel void clean(global int* a) { a[get_global_id(0)] = 1; }\n";
constexpr const char* kSeer = "kernel void reads_group_id(global int* a) { a[get_group_id(0)] = 1; }\n";
constexpr const char* kTalker = "kernel void uses_atomics(global int* a) { atomic_inc(a); }\n";

bool splits(const std::string& text, const char* kernel) {
  const Scan scan = ProgramScan(text).of(kernel);
  return !scan.reads_ndrange && !scan.opaque;
}

TEST(ProgramScan, KernelsAreScannedIndividually) {
  const ProgramScan scan(std::string(kClean) + kSeer + kTalker);
  EXPECT_FALSE(scan.of("clean").reads_ndrange);
  EXPECT_FALSE(scan.of("clean").communicates);
  EXPECT_TRUE(scan.of("reads_group_id").reads_ndrange);
  EXPECT_FALSE(scan.of("uses_atomics").reads_ndrange);
  EXPECT_TRUE(scan.of("uses_atomics").communicates);
  EXPECT_TRUE(scan.whole().reads_ndrange);
  EXPECT_TRUE(scan.of("no such kernel").reads_ndrange) << "then the whole text counts";
}

TEST(ProgramScan, ReachableFunctionsCount) {
  const std::string text = std::string(
      "int far() { return get_group_id(0); }\n"
      "int near() { return far(); }\n"
      "int other() { return 1; }\n"
      "kernel void a(global int* p) { p[0] = near(); }\n"
      "kernel void b(global int* p) { p[0] = other(); }\n"
      "kernel void c(global int* p) { a(p); }\n");
  EXPECT_FALSE(splits(text, "a"));
  EXPECT_TRUE(splits(text, "b"));
  EXPECT_FALSE(splits(text, "c"));
}

TEST(ProgramScan, MacrosCountForTheKernelsThatReachThem) {
  const std::string user = "kernel void user(global int* p) { p[0] = GROUP; }\n";
  for (const char* macro :
       {"#define GROUP get_group_id(0)\n",
        "kernel void holder(global int* p) {\n#define GROUP get_group_id(0)\n}\n",
        "int far() { return get_group_id(0); }\n#define GROUP far()\n",
        "#define GROUP OTHER\n#define OTHER get_group_id(0)\n",
        "#define GROUP 1\n#undef GROUP\n#define GROUP get_work_dim()\n",
        "#define GROUP near()\nint near() { return CALL; }\n#define CALL get_group_id(0)\n"}) {
    EXPECT_FALSE(splits(macro + user + kClean, "user")) << macro;
    EXPECT_TRUE(splits(macro + user + kClean, "clean")) << macro;
  }
}

TEST(ProgramScan, DeclarationsAndTheirMacrosCountForAllKernels) {
  EXPECT_FALSE(splits(std::string("constant int x = get_work_dim();\n") + kClean, "clean"));
  EXPECT_FALSE(
      splits(std::string("#define GROUP get_group_id(0)\nconstant int x = GROUP;\n") + kClean, "clean"));
  EXPECT_FALSE(splits(
      std::string("#define DEFINE(f) int f() { return get_group_id(0); }\nDEFINE(g)\n") + kClean, "clean"));
  EXPECT_FALSE(
      splits(std::string("#define GROUP get_group_id(0)\n#pragma unroll GROUP\n") + kClean, "clean"));
  EXPECT_FALSE(splits(std::string("#define GROUP get_group_id(0)\n#if GROUP\n#endif\n") + kClean, "clean"));
  EXPECT_FALSE(
      splits(std::string("#define GROUP get_group_id(0)\n#if defined(GROUP)\n#endif\n") + kClean, "clean"));
}

TEST(ProgramScan, MacrosInHeadsCountForTheirFunctions) {
  const std::string text = std::string("#define SEER get_group_id\n#define KERNEL kernel\n") +
                           "KERNEL void a(global int* SEER) {}\nKERNEL void b(global int* p) { p[0] = 1; }\n";
  EXPECT_FALSE(splits(text, "a"));
  EXPECT_TRUE(splits(text, "b"));
}

// Functions whose names or bodies stand where none is looked for.
TEST(ProgramScan, FunctionsBehindMacrosAreFollowed) {
  const std::string far = "int far(void) { return get_group_id(0); }\n";
  const std::string caller = "kernel void caller(global int* p) { p[0] = near(1); }\n";
  for (const char* hidden :
       {"struct S near(int x) { struct S s; s.x = far(); return s; }\n",
        "enum E near(int x) { return far(); }\n", "extern int near(int x) { return far(); }\n",
        "int near(x) int x; { return far(); }\n",
        "#define ARGUMENTS (int x)\nint near ARGUMENTS { return far(); }\n",
        "#define ARGUMENTS (int x)\ntypeof(1) near ARGUMENTS { return far(); }\n",
        "#define FUNCTION(f) int f(int x)\nFUNCTION(near) { return far(); }\n",
        "#define ALIAS near\nint ALIAS(int x) { return far(); }\n",
        "#define DEFINE(f, g) int f(int x) { return g(); }\nDEFINE(near, far)\n"
        "kernel void other(global int* p) { p[0] = 1; }\n",
        "#define DEFINE(f, g) int f(int x) { return g(); }\nDEFINE(near, far);\n",
        "#define DEFINE(f, body) int f(int x) body\nDEFINE(near, { return far(); })\nint unused(void);\n",
        "#define DEFINE(T, f, body) T f(T x) body T f(T)\nDEFINE(int, near, { return far(); });\n",
        "#define DEFINE(...) __VA_ARGS__\nDEFINE(int near(int x) { return far(); }) struct s;\n",
        "#define CLOSE )\n#define OPEN (\nint near(int x CLOSE { return far(); } int other OPEN void);\n",
        "#define ARGUMENTS (int x)\nint near ARGUMENTS __attribute((noinline)) { return far(); }\n",
        "#define ARGUMENTS (int x)\nint near ARGUMENTS\n#if 0\nunused(1)\n#endif\n{ return far(); }\n",
        "typedef int (^Block)(int);\nconst Block near = (Block)(^int(int x) { return far(); });\n"}) {
    EXPECT_FALSE(splits(far + hidden + caller, "caller")) << hidden;
  }
}

TEST(ProgramScan, FunctionsWithConditionalHeadsCountForAllKernels) {
  const std::string far = "int far(void) { return get_group_id(0); }\n";
  const std::string caller = "kernel void caller(global int* p) { p[0] = near(); }\n";
  for (const char* parted :
       {"int\n#if 1\nnear\n#else\nother\n#endif\n(void) { return far(); }\n",
        "int near /* the name */\n#ifdef __X\n_suffixed\n#endif\n(void) { return far(); }\n",
        "int near(void)\n#ifdef __X\n{ return 1; }\nint other(void)\n#endif\n{ return far(); }\n"}) {
    EXPECT_FALSE(splits(far + parted + caller, "caller")) << parted;
  }
}

TEST(ProgramScan, NamesRedefinedByOptionsCountForAllKernels) {
  const std::string caller = "kernel void caller(global int* p) { p[0] = near(); }\n";
  for (const auto& [function, options] :
       {std::pair("int far(void) { return get_group_id(0); }\n", "-Dfar=near"),
        std::pair("int near NOTHING (void) { return get_group_id(0); }\n", "-DNOTHING="),
        std::pair("int near(void CLOSE { return get_group_id(0); }\n", "-DCLOSE=)")}) {
    BuildInputs with;
    with.options = options;
    EXPECT_TRUE(ProgramScan(function + caller, with).of("caller").reads_ndrange) << function;
  }
}

TEST(ProgramScan, DeclarationIsNoCall) {
  const std::string text = std::string("int far(int x);\n") + kClean +
                           "kernel void caller(global int* p) { p[0] = far(1); }\n"
                           "int far(int x) { return get_group_id(0); }\n";
  EXPECT_TRUE(splits(text, "clean"));
  EXPECT_FALSE(splits(text, "caller"));
}

TEST(ProgramScan, NamesSwappedByMacrosCountAsBoth) {
  EXPECT_FALSE(splits(
      std::string("#define clean reads_group_id\n#define reads_group_id clean\n") + kClean + kSeer, "clean"));
}

TEST(ProgramScan, BracesInCommentsAndStringsAreIgnored) {
  const std::string text = std::string("/* { */ // {\n constant char x[] = \"}\"; constant char c = '{';\n") +
                           kClean + "/* } */\n" + kSeer;
  EXPECT_TRUE(splits(text, "clean"));
  EXPECT_FALSE(splits(text, "reads_group_id"));
}

TEST(ProgramScan, BalancedConditionalsAreAnalysed) {
  const std::string text = std::string("#ifdef FAST\n") + kClean + "#else\n" + kClean + "#endif\n" + kSeer;
  EXPECT_TRUE(splits(text, "clean"));
  EXPECT_FALSE(splits(text, "reads_group_id"));
  const std::string two = std::string("#ifdef FAST\n") + kClean + "#else\n" +
                          "kernel void clean(global int* a) { a[get_group_id(0)] = 1; }\n#endif\n";
  EXPECT_FALSE(splits(two, "clean")) << "either of the two may be meant";
}

TEST(ProgramScan, AttributesAreNoBodies) {
  const std::string text = std::string(
                               "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void sized(global "
                               "int* a) { a[0] = 1; }\n") +
                           kSeer;
  EXPECT_TRUE(splits(text, "sized"));
}

TEST(ProgramScan, FunctionsAreFoundWithAnyDeclarator) {
  for (const char* function : {"size_t (where)(uint d) { return get_group_id(d); }\n",
                               "size_t (^const where)(uint) = ^(uint d) { return get_group_id(d); };\n",
                               "int (*where(int d))[4] { return get_group_id(d); }\n",
                               "struct S where(int d) { return get_group_id(d); }\n",
                               "__attribute__((pure)) int where(int d) { return get_group_id(d); }\n",
                               "int where(d) int d; { return get_group_id(d); }\n"}) {
    const std::string text =
        std::string(function) + kClean + "kernel void a(global int* p) { p[0] = where(0); }\n";
    EXPECT_FALSE(splits(text, "a")) << function;
  }
  const std::string attributes =
      "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void a(global int* p) { p[0] = get_group_id(0); "
      "}\n"
      "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void b(global int* p) { p[0] = 1; }\n";
  EXPECT_FALSE(splits(attributes, "a"));
  EXPECT_TRUE(splits(attributes, "b"));
}

TEST(ProgramScan, TypesAndInitializersAreNoFunctions) {
  for (const char* type : {"struct __attribute__((packed)) S { volatile int x; };\n",
                           "typedef struct __attribute__((packed)) { volatile int x; } S;\n",
                           "constant T t[] __attribute__((aligned(16))) = {volatile};\n"}) {
    EXPECT_TRUE(ProgramScan(std::string(type) + kClean).of("clean").communicates) << type;
  }
}

TEST(ProgramScan, CppSourceIsScannedAsOneUnit) {
  BuildInputs with;
  with.options = "-cl-std=CLC++";
  EXPECT_TRUE(ProgramScan(std::string(kClean) + kSeer, with).of("clean").reads_ndrange);
}

TEST(ProgramScan, PastedNamesBreakThePrelude) {
  const std::string paste = "#define CAT(a, b) a##b\n";
  const std::string used = "#define X get_group_id\nint x = X CAT(1, 2);\n";
  EXPECT_TRUE(ProgramScan(paste + used).whole().breaks_prelude);
  EXPECT_FALSE(ProgramScan(used).whole().breaks_prelude);
  BuildInputs with;
  with.options = "-DX=get_global_size";
  EXPECT_TRUE(ProgramScan(paste + "int x = CAT(1, 2);\n", with).whole().breaks_prelude);
}

class MacroBesidePasting : public testing::TestWithParam<const char*> {
 protected:
  static bool is_opaque() {
    return ProgramScan(std::string("#define CAT(a, b) a##b\n") + GetParam() + kClean).whole().opaque;
  }
};
using UnusedMacro = MacroBesidePasting;
using UsableMacro = MacroBesidePasting;

TEST_P(UnusedMacro, DoesNotCount) { EXPECT_FALSE(is_opaque()) << GetParam(); }
TEST_P(UsableMacro, Counts) { EXPECT_TRUE(is_opaque()) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(ProgramScan, UnusedMacro,
                         testing::Values("#define ASM(x) asm(x)\nint CAT(f, 1);\n",
                                         "#define _asm_of(x) __asm__(x)\nint CAT(_asm, 1);\n",
                                         "#define OUTER ASM(1)\n#define ASM(x) asm(x)\nint CAT(f, ASM_);\n"));
INSTANTIATE_TEST_SUITE_P(ProgramScan, UsableMacro,
                         testing::Values("#define ASM(x) asm(x)\nint CAT(A, SM)(1);\n",
                                         "#define OUTER ASM(1)\n#define ASM(x) asm(x)\nint CAT(OUT, ER);\n",
                                         "#define _cl_of(x) asm(x)\nint CAT(f, 1);\n",
                                         "#define _Of(x) asm(x)\nint CAT(f, 1);\n",
                                         "#define __of(x) asm(x)\nint CAT(f, 1);\n"));

// Texts whose braces may mean something else than they seem: the whole text counts.
class UnseparableProgram : public testing::TestWithParam<const char*> {};

TEST_P(UnseparableProgram, IsScannedAsOneUnit) {
  EXPECT_FALSE(splits(std::string(GetParam()) + kClean + kSeer, "clean")) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(ProgramScan, UnseparableProgram,
                         testing::Values("#define BEGIN {\n#ifdef BEGIN\n#endif\n",
                                         "#define END }\n#ifdef END\n#endif\n",
                                         "#define FLIP } {\n#ifdef FLIP\n#endif\n", "#ifdef __X\n{\n#endif\n",
                                         "#ifdef __X\nvoid f() {\n#elifdef __Y\nvoid f() {{\n#endif\n}\n",
                                         "#ifdef __X\nvoid f() {\n#else\nvoid f(int i) {\n#endif\n}\n", "}\n",
                                         "void f() {\n", "void f() { DROP({) }\n",
                                         "void f() { DROP(}) {\n }\n", "/* no end\n", "constant char c = '\n",
                                         "<% %>\n", "#if 0\n", "#endif\n", "void f(\n", "%:define X 1\n"));

TEST(ProgramScan, IncludesAndPastingAreScannedAsOneUnit) {
  for (const char* line : {"#include \"x.h\"\n", "#define C(a, b) a##b\nint C(x, y);\n"}) {
    EXPECT_TRUE(splits(std::string(line) + kClean, "clean"));
    EXPECT_FALSE(splits(std::string(line) + kClean + kSeer, "clean")) << line;
  }
  EXPECT_FALSE(splits(std::string("#define C(a) get_##a##_id\n") + "kernel void a() { C(group)(0); }", "a"));
}

TEST(ProgramScan, HeadersCount) {
  BuildInputs with;
  with.headers = {"int far() { return get_group_id(0); }"};
  const std::string text = "#include \"x.h\"\nkernel void clean(global int* a) { a[0] = far(); }\n" +
                           std::string("kernel void other(global int* a) { a[0] = 1; }\n");
  EXPECT_TRUE(ProgramScan(text, with).of("clean").reads_ndrange);
  EXPECT_FALSE(ProgramScan(text, with).of("other").reads_ndrange) << "it cannot reach the function";
  with.headers = {"int far() { return 1; }"};
  EXPECT_FALSE(ProgramScan(text, with).of("clean").reads_ndrange);
  with.complete = false;
  EXPECT_TRUE(ProgramScan(text, with).of("clean").opaque) << "one of them is unknown";
}

TEST(ProgramScan, OptionsCount) {
  const std::string text = std::string("kernel void a(global int* p) { p[0] = G(0); }\n") + kSeer;
  BuildInputs with;
  EXPECT_FALSE(ProgramScan(text, with).of("a").reads_ndrange);
  with.options = "-DG=get_group_id";
  EXPECT_TRUE(ProgramScan(text, with).of("a").reads_ndrange);
  with.options = "-DG=reads_group_id";
  EXPECT_TRUE(ProgramScan(text, with).of("a").reads_ndrange)
      << "a macro may lead to any function that it names";
  with.options = "-DBEGIN={";
  EXPECT_TRUE(ProgramScan(text, with).of("a").reads_ndrange) << "the braces may mean something else";
  with.options = "-Dget_group_id=x";
  EXPECT_TRUE(ProgramScan(text, with).whole().breaks_prelude);
}

TEST(ProgramScan, EquivalentSourcesGiveEqualResults) {
  const std::string text = std::string(kClean) + "kernel void a(global int* p) { p[0] = G; }\n";
  BuildInputs with;
  with.options = "-DG=get_work_dim()";
  ProgramScan scan(text);
  EXPECT_FALSE(scan.of("a").reads_ndrange);
  scan.add(ProgramScan(text, with));
  EXPECT_TRUE(scan.of("a").reads_ndrange);
}

TEST(ProgramScan, OfAProgramWithoutSourceTakesTheResultsOfItsKernels) {
  const Scan whole{.reads_ndrange = true, .communicates = true};
  ProgramScan scan(whole, {{"clean", {}}});
  EXPECT_EQ(scan.of("clean"), Scan{});
  EXPECT_EQ(scan.of("other"), whole) << "not listed";
  EXPECT_EQ(scan.whole(), whole);
  scan.add(ProgramScan(Scan{.opaque = true, .may_wait = true}));
  EXPECT_EQ(scan.of("clean"), (Scan{.opaque = true, .may_wait = true})) << "another build counts, too";
}

}  // namespace
}  // namespace cleave::kernels
