#include "kernels/facts/cause.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"
#include "kernels/text/includes.h"

namespace cleave::kernels {
namespace {

using Finding = Cause::Finding;

const std::vector<std::string> kNoFolders;

std::string words(const std::vector<Cause>& causes, Finding finding) {
  const Causes all(causes);
  const Cause* cause = all.of(finding);
  return cause != nullptr ? sentence(*cause) : "";
}

Cause missing_in(const std::string& text, const Embedded& embedded = {}) {
  HeaderFiles headers(kNoFolders, embedded);
  std::vector<std::string> given;
  for (const auto& [name, header] : embedded) given.push_back(name);
  return cause_of(preprocess(text, {"", "", given}, headers).missing.value());
}

std::string why(const std::string& text, const char* kernel, Finding finding,
                const BuildInputs& inputs = {}) {
  return words(ProgramScan(text, inputs).causes_of(kernel), finding);
}

constexpr const char* kPlainKernel = "kernel void clean(global int* a) { a[0] = 1; }\n";

TEST(Causes, NameTheConstructAndItsLine) {
  const std::string text = std::string(kPlainKernel) +
                           "kernel void talks(global int* a) {\n  a[1] = 2;\n  int x = atomic_add(a, 1);\n"
                           "  atomic_sub(a, 1);\n}\n"
                           "kernel void sees(global int* a) { a[0] = get_group_id(0); }\n";
  EXPECT_EQ(why(text, "talks", Finding::communicates), "`atomic_add` is used in line 4");
  EXPECT_EQ(why(text, "talks", Finding::reads_ndrange), "");
  EXPECT_EQ(why(text, "sees", Finding::reads_ndrange), "`get_group_id` is used in line 7");
  EXPECT_TRUE(ProgramScan(text).causes_of("clean").empty());
  EXPECT_EQ(words(ProgramScan(text).causes(), Finding::communicates), "`atomic_add` is used in line 4");
}

TEST(Causes, LinesAreThoseOfTheTextWithItsSplicesAndLineEnds) {
  EXPECT_EQ(why("#define A \\\n  1\\\n\nkernel void k() {\r\n asm(\"\"); }", "k", Finding::assembly),
            "`asm` is used in line 5");
  EXPECT_EQ(why("\r\n\r\n\\\r\nasm", "k", Finding::opaque), "`asm` is used in line 4");
  EXPECT_EQ(why("as\\\nm", "k", Finding::opaque), "`asm` is used in line 1");
}

TEST(Causes, OfCallersAreThoseOfTheFunctionsThatTheyReach) {
  EXPECT_EQ(why("int far() {\n return get_work_dim(); }\nkernel void a() { far(); }\n", "a",
                Finding::reads_ndrange),
            "`get_work_dim` is used in line 2");
}

TEST(Causes, OfABrokenPreludeAreTheWholeProgramsForEachKernel) {
  const std::string text = std::string("kernel void k() {\n#undef get_group_id\n}\n") + kPlainKernel;
  EXPECT_EQ(why(text, "clean", Finding::breaks_prelude),
            "`get_group_id` is declared, redefined, tested or passed on in line 2");
  EXPECT_EQ(why("\nkernel void k(int get_group_id) {}\n" + std::string(kPlainKernel), "clean",
                Finding::breaks_prelude),
            "`get_group_id` is declared, redefined, tested or passed on in line 2");
  EXPECT_EQ(why("#define T(x) #x\nconstant char x[] = T(y);\n", "k", Finding::breaks_prelude),
            "`#` in a macro in line 1 may concern a built-in function's name");
}

TEST(Causes, NameUnreadableText) {
  EXPECT_EQ(why("int a;\n x = 1'000;\n", "k", Finding::opaque),
            "`1'000;` in line 2 can be read in more than one way");
  EXPECT_EQ(why("\n#pragma what is this\n", "k", Finding::opaque),
            "`#pragma what` in line 2 is not a directive that Cleave knows");
}

TEST(Causes, NamePastingOperators) {
  const std::string text = "\n#define C(a, b) a##b\nkernel void k() { C(get_, group_id)(0); }\n";
  EXPECT_EQ(why(text, "k", Finding::reads_ndrange),
            "`get_group_id` could be put together by the `##` in line 2");
  EXPECT_EQ(why(text, "k", Finding::pastes_tokens), "`##` is used in line 2");
}

TEST(Causes, NameVariablesOfPrograms) {
  BuildInputs with;
  with.options = "-cl-std=CL2.0";
  EXPECT_EQ(why("\nglobal int x;\n", "k", Finding::keeps_state, with),
            "`global` in line 2 may declare a variable that keeps its value");
}

TEST(Causes, NameBuildOptions) {
  BuildInputs with;
  with.options = "-include x.h -DG=get_group_id";
  EXPECT_EQ(why(kPlainKernel, "clean", Finding::opaque, with),
            "`-include` among the build's options is not known, or changes names that Cleave needs");
  EXPECT_EQ(why(kPlainKernel, "clean", Finding::reads_ndrange, with),
            "`get_group_id` is used in the build's options");
}

TEST(Causes, NameIncludedTexts) {
  BuildInputs with;
  with.headers = {"\nint far() { return atomic_inc(p); }"};
  with.header_names = {"sub/a.h"};
  EXPECT_EQ(why("#include \"a.h\"\n", "k", Finding::communicates, with),
            "`atomic_inc` is used in line 2 of sub/a.h");
}

TEST(Causes, NameIncludesThatAreUnknown) {
  BuildInputs with;
  with.complete = false;
  with.missing = missing_in("\n#include <no such file>\n");
  EXPECT_EQ(why(kPlainKernel, "clean", Finding::opaque, with),
            "`no such file` is included in line 2 and was not found");
  EXPECT_EQ(sentence(missing_in("#include NAME(x)\n")), "`NAME` in line 1 names an included file by a macro");
  EXPECT_EQ(sentence(missing_in("", {{"a.h", "\n\n#include \"b.h\""}})),
            "`b.h` is included in line 3 of a.h and was not found");
}

TEST(Causes, OfSeveralBuildsAreTheFirstOfEachFinding) {
  ProgramScan scan("kernel void k() { atomic_inc(p); }");
  scan.add(ProgramScan("\nkernel void k() { asm(\"\"); atom_inc(p); }"));
  EXPECT_EQ(words(scan.causes_of("k"), Finding::communicates), "`atomic_inc` is used in line 1");
  EXPECT_EQ(words(scan.causes_of("k"), Finding::assembly), "`asm` is used in line 2");
  EXPECT_EQ(words(scan.causes(), Finding::assembly), "`asm` is used in line 2");
}

TEST(Causes, OfAProgramWithoutSourceAreThoseGiven) {
  Causes causes;
  causes.note(Scan::worst_case(), Cause::Way::uses, "x");
  EXPECT_EQ(ProgramScan(Scan::worst_case(), causes.list()).causes_of("any").size(), 10U);
  EXPECT_TRUE(ProgramScan(Scan::worst_case()).causes_of("any").empty());
}

}  // namespace
}  // namespace cleave::kernels
