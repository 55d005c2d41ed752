// What the scan says of the idioms in tests/kit/idioms, and of ways to write loops and accesses.
#include "kernels/facts/group_order.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/facts/program_scan.h"

namespace cleave::kernels {
namespace {

Scan scan_of(const std::string& text, const char* options = "") {
  BuildInputs with;
  with.options = options;
  return ProgramScan(text, with).of("k");
}

std::string verdict(const Scan& scan) {
  if (scan.communicates) return "waits";
  return scan.shares_stores ? "in order" : "any order";
}

int severity(const std::string& verdict) {
  return verdict == "waits" ? 2 : static_cast<int>(verdict == "in order");
}

std::vector<std::filesystem::path> idioms() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CLEAVE_IDIOMS)) {
    if (entry.path().extension() == ".cl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Idiom : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Idiom, HasTheVerdictOfItsFirstLine) {
  std::ifstream file(GetParam());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_TRUE(text.starts_with("// ")) << GetParam();
  const std::string expected = text.substr(3, text.find_first_of(":\n") - 3);
  EXPECT_EQ(verdict(scan_of(text)), expected) << text;
  // This one only counts, and waits for nobody.
  const std::string name = GetParam().stem().string();
  const bool counts = name == "compaction";
  if (expected == "waits") {
    EXPECT_EQ(scan_of(text).may_wait, !counts) << text;
  }
  // Where names may be pasted, the functions of a program are not told apart.
  const Scan whole = scan_of("#define JOIN(a, b) a##b\nint JOIN(x, 1)(int y) { return y; }\n" + text);
  EXPECT_GE(severity(verdict(whole)), severity(expected)) << text;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Idiom, testing::ValuesIn(idioms()),
                         [](const auto& each) { return each.param.stem().string(); });

class CountedLoop : public testing::TestWithParam<const char*> {};

TEST_P(CountedLoop, DoesNotWait) {
  const Scan scan = scan_of("kernel void k(global const int* p, int n) { int i = 9; int b = 0; " +
                            std::string(GetParam()) + " }");
  EXPECT_FALSE(scan.open_loops) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CountedLoop,
    testing::Values(
        "for (int j = 0; j < n; ++j) {}", "for (; i > 0; i >>= 1) b += p[i];",
        "for (uint j = get_local_id(0); j < n; j += get_local_size(0)) { if (p[j]) break; }",
        "for (; i--;) {}", "while (i-- > 0) {}", "while (i) { b += i; i /= 2; }",
        "do { i = i + 3; } while (i < n && b == 0);", "for (int j = 0; j != n; j++) { continue; }",
        "for (int j = 0, m = n; j < m; m--) {}",
        "for (int j = 0; j < n; j++) { f((j), (b)); if (j) ++b; b = (j) == 3; }",
        "if (b) for (int j = 0; j < n; j++) b += j; else b = 0;",
        "for (int j = 0; j < n; j++) for (int l = 0; l < j; l++) { if (b) { b = 2; } else b = 1; }",
        "while (i < max(n, 4)) { if (p[i]) { b = 1; } i += 2; }", "for (int j = 0; (j < n); j *= 2) {}"));

class OpenLoop : public testing::TestWithParam<const char*> {};

TEST_P(OpenLoop, MayWait) {
  for (const std::string head : {"", "#define N(x) x##1\n#define N(x) p[x]\n#define READ(x) f(x)\n"}) {
    const Scan scan =
        scan_of(head + "kernel void k(global int* p, int n) { int i = 9; int b = 0; " + GetParam() + " }");
    EXPECT_TRUE(scan.open_loops) << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, OpenLoop,
    testing::Values("while (1) {}", "for (;;) {}", "do {} while (true);", "while (!b) { b = p[0]; }",
                    "while (i < n) { if (p[i]) ++i; }", "while (i < n) { if (p[i]) { ++i; } }",
                    "while (i < n) { if (p[i]) continue; ++i; }", "for (; i < n; i += p[0]) {}",
                    "for (; i < n; i += b) { b = p[i]; }", "for (; i < p[0]; ++i) {}",
                    "for (; i < n; ++i) { if (!p[i]) --i; }", "for (; i < n || p[0]; ++i) {}",
                    "while (i < n) { i = p[i]; }", "for (; f(i) < n; ++i) {}", "for (; *p < i; ) {}",
                    "again: if (p[0]) goto again;", "for (; i < n; ++i) { n = p[0]; }",
                    "while (i < n) { i += p[0] ? 1 : 0; }", "while (i < n) { f(&i); }",
                    "do ++i; while (i < n);", "while (p->x < n) { ++n; }", "for (; i < n; READ(i)) {}",
                    "while (i < n) { for (int j = 0; j < p[0]; ++j) ++i; }",
                    "for (; i < n; ++i) { (i) = 0; }", "for (; i < n; ++i) { ((i))--; }",
                    "for (; i < n; ++i) { --(i); }", "for (; i < n; ++i) if (b) b = 1; else { i = 0; }",
                    "for (; i < n; ++i) if (b) b = 1; else i = 0;",
                    "for (; i < n; ++i) asm volatile(\"mov.u32 %0, 0;\" : \"=r\"(i));",
                    "for (; i < n; ++i) { __asm__(\"mov.u32 %0, %1;\" : \"=r\"(b), \"+r\"(n)); }"));

struct Access {
  const char* body;
  const char* expected;
};

void PrintTo(const Access& access, std::ostream* out) { *out << access.body; }

class Accesses : public testing::TestWithParam<Access> {};

TEST_P(Accesses, AreReadInAllWays) {
  const std::string text =
      "void f(global int* x, int y) { x[y] += 1; }\nint g(global int* x, int y) { return x[y]; }\n"
      "kernel void k(global int* p, global int* q, int n, local int* l) { int i = "
      "get_global_id(0); " +
      std::string(GetParam().body) + " }";
  EXPECT_EQ(verdict(scan_of(text)), GetParam().expected) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Accesses,
    testing::Values(
        Access{"p[i] = q[i + 1];", "any order"}, Access{"p[i]++;", "any order"},
        Access{"++p[n];", "in order"}, Access{"*p += i;", "in order"},
        Access{"*(p + i) = *(q + n);", "any order"}, Access{"*(p + n) = i;", "in order"},
        Access{"((global int*)p)[n] = i;", "in order"}, Access{"(*p)++;", "in order"},
        Access{"++*p;", "in order"}, Access{"(*p) = i;", "in order"}, Access{"(p[n]) = i;", "in order"},
        Access{"(p)[n] = i;", "in order"}, Access{"(*(p)) = i;", "in order"},
        Access{"if (n) (p + n)[0] = i;", "in order"}, Access{"*(global float*)p = i;", "in order"},
        Access{"(*(global float*)p) = i;", "in order"}, Access{"*((global float4*)p + n) = i;", "in order"},
        Access{"*((global float4*)p + i) = n;", "any order"}, Access{"(p[i]) = p[i] + 1;", "any order"},
        Access{"(*(p + i)) = 1; (p + i)[0] += 2;", "any order"}, Access{"(*p).x = i;", "in order"},
        Access{"((global char4*)p)[i].x = ((global char4*)q)[n].y;", "any order"},
        Access{"global int* r = q + i; *r = p[n];", "any order"},
        Access{"global int* r; r = &q[n]; r[0] = i;", "in order"}, Access{"p += i; p[0] = 3;", "any order"},
        Access{"p += n; p[0] = i;", "in order"}, Access{"l[0] = i; p[i] = l[n];", "any order"},
        Access{"p[get_local_id(0)] = i;", "in order"}, Access{"p[get_group_id(0)] = i;", "any order"},
        Access{"int j = i / 4 + n; p[j] = 2;", "any order"},
        Access{"int j = get_global_id(1); p[j] = i;", "in order"},
        Access{"int j = get_global_id(1); p[j * n + i] = i;", "any order"},
        Access{"int2 j = (int2)(get_global_id(0), get_global_id(1)); p[j.y * n + j.x] = i;", "any order"},
        Access{"f(p, i); f(q, n);", "any order"}, Access{"f(p, i); f(p, n); p[i] = 1;", "any order"},
        Access{"q[i] = g(p, i); f(p, n);", "in order"}, Access{"p[0] = 1; p[1] = 2;", "in order"},
        Access{"p[0] = 1; q[i] = p[0];", "in order"}, Access{"p[0] = 0; p[n] = 0;", "any order"},
        Access{"vstore4((int4)(i), n, p);", "in order"}, Access{"vstore4(vload4(i, p), i, p);", "any order"},
        Access{"for (int j = 0; j < n; ++j) p[j] = i;", "in order"},
        Access{"for (int j = i; j < n; j += 64) p[j] += q[j - 1];", "any order"}));

TEST(GroupOrder, AnotherKernelsStoresDoNotCount) {
  const ProgramScan scan(
      "kernel void k(global int* p) { p[get_global_id(0)] = 1; } "
      "kernel void other(global int* p) { p[0] = get_global_id(0); }");
  EXPECT_FALSE(scan.of("k").shares_stores);
  EXPECT_TRUE(scan.of("other").shares_stores);
}

TEST(GroupOrder, CausesAreNamed) {
  const ProgramScan scan(
      "kernel void k(global int* p) {\n barrier(CLK_GLOBAL_MEM_FENCE);\n while (p[1]) {}\n}");
  const Causes fence(scan.causes_of("k"));
  ASSERT_NE(fence.of(Cause::Finding::communicates), nullptr);
  EXPECT_EQ(sentence(*fence.of(Cause::Finding::communicates)), "`barrier` is used in line 2");
  const Causes store(
      ProgramScan("\nkernel void k(global int* p) { p[0] = get_global_id(0); }").causes_of("k"));
  ASSERT_NE(store.of(Cause::Finding::shares_stores), nullptr);
  EXPECT_EQ(sentence(*store.of(Cause::Finding::shares_stores)),
            "`p` is stored to in line 2, where another work-group may store or read");
}

TEST(GroupOrder, LocalFenceThatIsRedefinedIsAGlobalOne) {
  const char* const text = "kernel void k(global int* p) { while (p[1]) barrier(CLK_LOCAL_MEM_FENCE); }";
  EXPECT_FALSE(scan_of(text).communicates);
  EXPECT_TRUE(scan_of(std::string("#define CLK_LOCAL_MEM_FENCE 3\n") + text).communicates);
  EXPECT_TRUE(scan_of(text, "-DCLK_LOCAL_MEM_FENCE=3").communicates);
  EXPECT_TRUE(scan_of("kernel void k(global int* p, int f) { while (p[1]) barrier(f); }").communicates);
}

TEST(GroupOrder, MacroBombsEnd) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "#define M" + std::to_string(i + 1) + " M" + std::to_string(i) + " M" + std::to_string(i) + "\n";
  text += "#define M0 ;\nkernel void k(global int* p) { M40 p[get_global_id(0)] = 1; }";
  EXPECT_TRUE(scan_of(text).open_loops) << "what is not followed is assumed";
}

TEST(GroupOrder, MacrosThatLeadToThemselvesEnd) {
  const Scan scan = scan_of(
      "#define A B\n#define B A\n#define barrier(x) barrier(x)\n"
      "kernel void k(global int* p) { A; barrier(CLK_LOCAL_MEM_FENCE); p[get_global_id(0)] = 1; }");
  EXPECT_EQ(verdict(scan), "any order");
}

}  // namespace
}  // namespace cleave::kernels
