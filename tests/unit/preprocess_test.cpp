#include "kernels/text/preprocess.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

class NoHeaders final : public Headers {
 public:
  std::vector<std::string> find(const std::string& /*name*/, const std::string& /*file*/) override {
    return {};
  }
  std::string read(const std::string& /*file*/) override { return {}; }
};

struct Given {
  const char* text;
  const char* options = "";
};

void PrintTo(const Given& given, std::ostream* out) { *out << given.options << ' ' << given.text; }

// The tokens that may be compiled, without directives.
std::string compiled(const Given& given, const char* uncertain = "") {
  NoHeaders none;
  const Preprocessed program = preprocess(given.text, {given.options, uncertain, {}}, none);
  std::string all;
  for (const Token& token : program.texts[0].compiled.list) {
    if (!token.directive) all.append(token.text).push_back(' ');
  }
  return all;
}

class OneBranch : public testing::TestWithParam<Given> {};

// "yes" stands where the compiler compiles, "no" where it does not.
TEST_P(OneBranch, IsCompiled) { EXPECT_EQ(compiled(GetParam()), "yes ") << GetParam().text; }

INSTANTIATE_TEST_SUITE_P(
    Certain, OneBranch,
    testing::Values(
        Given{"#if 0\nno\n#else\nyes\n#endif"}, Given{"#if 1\nyes\n#elif X\nno\n#else\nno\n#endif"},
        Given{"#ifdef NEVER\nno\n#endif\nyes"}, Given{"#ifndef NEVER\nyes\n#else\nno\n#endif"},
        Given{"#if 0\n#if 1\nno\n#else\nno\n#endif\n#elif 1\nyes\n#endif"},
        Given{"#ifdef X\nyes\n#else\nno\n#endif", "-DX"}, Given{"#ifdef X\nyes\n#else\nno\n#endif", "-D X=3"},
        Given{"#if X == 3\nyes\n#else\nno\n#endif", "-DX=3"},
        Given{"#if defined(A) && A > 3\nno\n#else\nyes\n#endif"},
        Given{"#if defined A || B == (1 << 6)\nyes\n#else\nno\n#endif", "-DB=64"},
        Given{"#define A B\n#define B 1 + 1\n#if A * 2 == 3\nyes\n#else\nno\n#endif"},
        Given{"#define A\n#undef A\n#ifdef A\nno\n#else\nyes\n#endif"},
        Given{"#ifndef A\n#define A 2\n#endif\n#if A == 1\nyes\n#else\nno\n#endif", "-DA=1"},
        Given{"#ifdef cl_khr_fp64\n#define A\n#else\n#define A\n#endif\n#ifdef A\nyes\n#else\nno\n#endif"},
        Given{"#ifdef cl_khr_fp64\n#if 0\nno\n#endif\n#endif\nyes"},
        Given{"#if 0 && cl_khr_fp64 > 3\nno\n#else\nyes\n#endif"},
        Given{"#if 0 && (FOO)\nno\n#else\nyes\n#endif"}, Given{"#if 1 ? 2 : 0\nyes\n#else\nno\n#endif"},
        Given{"#if -1 < 0 && !0 && ~0 == -1 && 7 / 2 == 3 && 0x10 == 020\nyes\n#else\nno\n#endif"},
        Given{"#if 2 - 1 - 1\nno\n#else\nyes\n#endif"}, Given{"#if 1 || 0 && 0\nyes\n#else\nno\n#endif"},
        Given{"#if 6 & 3 == 3\nno\n#else\nyes\n#endif"},
        Given{"#ifdef __OPENCL_VERSION__\nyes\n#else\nno\n#endif"},
        Given{"#ifdef __CUDACC__\nno\n#else\nyes\n#endif"},
        Given{"#ifndef __cplusplus\nyes\n#else\n#include <stddef.h>\nno\n#endif"},
        Given{"#if 0\n#unknown\n#include \"none.h\"\n#endif\nyes"},
        Given{"#if 1 // yes\nyes\n#else /* no */\nno\n#endif"}));

class BothBranches : public testing::TestWithParam<Given> {};

// Compilers may differ, or the value is not certain.
TEST_P(BothBranches, Count) {
  const std::string text = GetParam().text;
  const std::string all = text + "\na\n#else\nb\n#endif";
  EXPECT_EQ(compiled({all.c_str(), GetParam().options}), "a b ") << text;
}

INSTANTIATE_TEST_SUITE_P(
    Uncertain, BothBranches,
    testing::Values(Given{"#ifdef __cplusplus", "-cl-std=CLC++"}, Given{"#ifdef __GPU__"},
                    Given{"#ifdef cl_khr_fp64"}, Given{"#ifdef CL_VERSION_2_0"}, Given{"#ifdef linux"},
                    Given{"#ifdef _X"}, Given{"#ifdef POCL_VERSION"}, Given{"#ifdef LLVM_14_0"},
                    Given{"#ifdef ALIGN4"}, Given{"#ifdef MAX_WORK_DIM"}, Given{"#ifdef INTELFPGA_CL"},
                    Given{"#ifdef M_PI"}, Given{"#ifdef NULL"}, Given{"#ifdef DEBUG"}, Given{"#ifdef abs"},
                    Given{"#if __OPENCL_VERSION__ >= 200"}, Given{"#if true"}, Given{"#if 4294967295 > 0"},
                    Given{"#if 1u"}, Given{"#if 'a' == 97"}, Given{"#if 1 << 31"},
                    Given{"#if 2147483647 + 1 > 0"}, Given{"#if 1 / 0"}, Given{"#if 1 % 0"},
                    Given{"#if 1 << 40"}, Given{"#if -1 >> 1"}, Given{"#if"}, Given{"#if 1 1"},
                    Given{"#if (1"}, Given{"#if 1 +"}, Given{"#if F(1)"}, Given{"#define F(x) x\n#if F(1)"},
                    Given{"#define A A\n#if A"}, Given{"#define A defined(B)\n#if A"},
                    Given{"#define A\n#if A"}, Given{"#if = = 1"}, Given{"#if 1 = = 1"},
                    // A macro that is not known may stand for more than one operand.
                    Given{"#ifdef __x\n#define A 0 || 1\n#endif\n#if 0 && A"},
                    Given{"#ifdef __x\n#define A 0 ? 0 : 0\n#endif\n#if 1 || A"},
                    Given{"#ifdef __x\n#define A\n#endif\n#ifdef A"},
                    Given{"#ifdef __x\n#define A 1\n#else\n#define A 2\n#endif\n#if A == 1"},
                    Given{"#define A\n#ifdef __x\n#undef A\n#endif\n#ifdef A"},
                    Given{"#ifdef __x\n#elif defined(__y)\n#define A\n#endif\n#ifdef A"},
                    Given{"#include \"none.h\"\n#ifdef A"}, Given{"#define A 1\n#include \"none.h\"\n#if A"},
                    // Compilers do not agree on these options.
                    Given{"#ifdef A", "-DA -UA"}, Given{"#if A == 1", "-DA=1 -DA=2"},
                    Given{"#ifdef A", "-U A"}, Given{"#ifdef A", "-DB=\"x -DA y\""},
                    Given{"#if B", "-DB=\"1\""}));

TEST(Preprocess, OptionsOfSomeCompilersAreUncertain) {
  const char* const text = "#ifdef A\na\n#else\nb\n#endif";
  EXPECT_EQ(compiled({text}, "-DA"), "a b ");
  EXPECT_EQ(compiled({text, "-DA"}, "-UA"), "a b ");
  EXPECT_EQ(compiled({text}, "-DB"), "b ");
}

TEST(Preprocess, TextThatIsNotCertainCountsEntirely) {
  for (const char* const text : {"#if 0\na\n", "#endif\n#if 0\na\n#endif", "#else\n#if 0\na\n#endif",
                                 "#if 0\na\n#elifdef X\n#endif", "#if 0\na\n#endif\nchar c = '\n"}) {
    EXPECT_NE(compiled({text}).find("a "), std::string::npos) << text;
  }
  EXPECT_EQ(compiled({"#if 0\na\n#endif", "-cl-std=CLC++"}), "a ");
}

TEST(Preprocess, DeepConditionsTerminate) {
  const std::string deep = "#if " + std::string(100000, '(') + "1\na\n#endif";
  EXPECT_EQ(compiled({deep.c_str()}), "a ");
  std::string chain = "#define A0 1\n";
  for (int i = 1; i < 10000; ++i)
    chain += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + "\n";
  chain += "#if A9999\na\n#else\nb\n#endif";
  EXPECT_EQ(compiled({chain.c_str()}), "a b ");
}

class Header final : public Headers {
 public:
  explicit Header(std::string text) : text_(std::move(text)) {}
  std::vector<std::string> find(const std::string& name, const std::string& /*file*/) override {
    return {name};
  }
  std::string read(const std::string& /*file*/) override { return text_; }

 private:
  std::string text_;
};

TEST(Preprocess, HeadersDefineMacrosAndAreFollowedEachTime) {
  Header header(
      "#ifdef SECOND\nx\n#endif\n#define SECOND\n#ifndef GUARD\n#define GUARD\ny\n#else\nz\n#endif\n");
  const char* const once = "#include \"a.h\"\n#ifdef GUARD\nyes\n#else\nno\n#endif";
  const Preprocessed first = preprocess(once, {}, header);
  EXPECT_EQ(first.texts[0].compiled.list.size(), 5U);  // the include, its end, and the word
  const auto words = [](const Preprocessed& program) {
    std::string all;
    for (const Token& token : program.texts[1].compiled.list)
      if (!token.directive) all.append(token.text);
    return all;
  };
  EXPECT_EQ(words(first), "y");
  EXPECT_EQ(words(preprocess("#include \"a.h\"\n#include \"a.h\"", {}, header)), "xyz");
}

TEST(Preprocess, TerminatorsAtTheEndAreNoText) {
  using namespace std::string_view_literals;
  const auto is_opaque = [](std::string_view text) {
    NoHeaders none;
    return !preprocess(text, {}, none).texts[0].tokens.unambiguous;
  };
  EXPECT_FALSE(is_opaque("kernel void k() {}\n\0"sv));
  EXPECT_FALSE(is_opaque("kernel void k() {}\0\0"sv));
  EXPECT_TRUE(is_opaque("kernel void k() {}\0\n"sv));
}

TEST(Preprocess, RepeatedIncludeOfAHeaderWithPragmaOnceMayBeSkipped) {
  const std::string modes = "#ifdef FIRST\n#define MODE 2\n#else\n#define FIRST\n#define MODE 1\n#endif\n";
  const auto branches = [](const std::string& text) {
    Header header(text);
    const char* const twice = "#include \"a.h\"\n#include \"a.h\"\n#if MODE == 1\na\n#else\nb\n#endif";
    std::string all;
    const Preprocessed program = preprocess(twice, {}, header);
    for (const Token& token : program.texts[0].compiled.list) {
      if (!token.directive && token.kind == Token::Kind::name) all.append(token.text);
    }
    return all;
  };
  EXPECT_EQ(branches(modes), "b");
  EXPECT_EQ(branches("#pragma once\n" + modes), "ab");
}

TEST(ProgramScan, WhatIsNotCompiledDoesNotCount) {
  const std::string kernel = "kernel void k(global int* p) { p[0] = 1; }\n";
  for (const char* const dead :
       {"#ifdef NEVER\n#include <metal_stdlib>\n#endif\n", "#if 0\n#define get_group_id(d) 0\n#endif\n",
        "#if 0\nint f(void) { asm(\"\"); }\n#endif\n", "#define UNUSED(a, b) a##b\n",
        "#define UNUSED(x) #x\n", "#define UNUSED atomic_inc(p); asm(\"\"); get_group_id(0)\n",
        "#if 0\n#pragma unknown\n#endif\n",
        "#ifdef NEVER\nkernel void k(int a) {\n#else\n"
        "#endif\n",
        "#define A(x) B(x)\n#define B(x) x##1\n"}) {
    const ProgramScan scan(dead + kernel);
    EXPECT_EQ(scan.of("k").opaque, false) << dead;
    const Scan& whole = scan.whole();
    EXPECT_FALSE(whole.opaque || whole.breaks_prelude || whole.reads_ndrange || whole.communicates ||
                 whole.pastes_tokens || whole.has_includes)
        << dead;
  }
}

TEST(ProgramScan, WhatMayBeCompiledCounts) {
  const std::string kernel = "kernel void k(global int* p) { p[0] = USED; }\n";
  for (const char* const live :
       {"#ifdef __never\n#define get_group_id(d) 0\n#endif\n", "#ifdef get_group_id\n#endif\n",
        "#if defined(get_group_id) && 0\n#endif\n", "#if 0\n#elif defined(get_group_id)\n#endif\n",
        "#define get_group_id(d) 0\n", "#define USED STRING(x)\n#define STRING(x) #x\n",
        "#define __cleave_tag() 0\n",
        "#ifdef NEVER\n#define X\n#endif\n#ifndef X\n#undef get_work_dim\n#endif\n",
        "#ifdef __never\n#define X 1\n#endif\n#if X\n#undef get_work_dim\n#endif\n"}) {
    EXPECT_TRUE(ProgramScan(live + kernel).whole().breaks_prelude) << live;
  }
  for (const char* const live :
       {"#define USED CAT(get_, group_id)(0)\n#define CAT(a, b) a##b\n",
        "#define CAT(a, b) a##b\n#define UN(x) get_group_id(0)\nint y = CAT(U, N)(1);\n",
        "#define USED OTHER\n#define OTHER get_group_id(0)\n",
        "#pragma unroll UNROLL\n#define UNROLL get_group_id(0)\n",
        "#ifdef UNUSED\n#endif\n#define UNUSED get_group_id(0)\n"}) {
    EXPECT_TRUE(ProgramScan(live + kernel).of("k").reads_ndrange) << live;
  }
  BuildInputs with;
  with.options = "-DUSED=OTHER";
  EXPECT_TRUE(ProgramScan("#define OTHER get_group_id(0)\n" + kernel, with).of("k").reads_ndrange);
}

}  // namespace
}  // namespace cleave::kernels
