#include "kernels/facts/source_scan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/text/build_options.h"

namespace cleave::kernels {
namespace {

constexpr const char* kPlain = R"(
  #define TILE 16
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  /* a product */
  __kernel void mm(__global const float* a, __local float* t, int n) {
    size_t i = get_global_id(0) + get_local_id(1) * get_local_size(0); // "text" 'c' 3.0f
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) a[i] = t[i % TILE];
  })";

Scan scan_source(const std::string& source) { return scan_text(without_splices(source)); }

// Comments, literals and splices elsewhere decide what is a directive.
TEST(Lexer, DirectivesAloneAreThoseOfTheWholeText) {
  for (const std::string source :
       {"#include \"a.h\"\nint x; // #include\n  # define A 1 /* \n# */ + 2\nint y = 1 # 2;\n#",
        "/* \n#include <no> */ #include <b.h>\nconst char* s = \"\\\n#not\";\n#de\\\nfine B ##\n", "int x;\n",
        "'\n#if X\n#error it's\n?\?=include\n%:include <c>\n#include <d//e>\n#endif"}) {
    const std::string text = without_splices(source);
    const Tokens all = tokens_of(text);
    const Tokens directives = directive_tokens_of(text);
    EXPECT_EQ(directives.unambiguous, all.unambiguous) << source;
    EXPECT_EQ(directives.unreadable, all.unreadable) << source;
    std::vector<std::string_view> expected;
    std::vector<std::string_view> found;
    for (const Token& token : all.list) {
      if (token.directive) expected.push_back(token.text);
    }
    for (const Token& token : directives.list) found.push_back(token.text);
    EXPECT_EQ(found, expected) << source;
  }
}

TEST(Scan, PlainKernelQueriesNothing) {
  const Scan scan = scan_source(kPlain);
  EXPECT_FALSE(scan.reads_ndrange || scan.breaks_prelude || scan.opaque || scan.communicates ||
               scan.pastes_tokens || scan.has_includes);
  EXPECT_TRUE(scan.reads_work_group);
  EXPECT_TRUE(scan.reads_global_id);
  EXPECT_FALSE(scan_source("kernel void a(global int* p) { p[get_global_id(0)] = 1; }").reads_work_group);
  EXPECT_FALSE(scan_source("kernel void a(global int* p) { p[get_local_id(0)] = 1; }").reads_global_id);
}

class NdRangeQuery : public testing::TestWithParam<const char*> {};

TEST_P(NdRangeQuery, IsDetectedAndPreludeApplies) {
  for (const std::string& text : {std::string(GetParam()), std::string(kPlain) + ";\n" + GetParam()}) {
    const Scan scan = scan_source(text);
    EXPECT_TRUE(scan.reads_ndrange) << text;
    EXPECT_FALSE(scan.opaque || scan.breaks_prelude) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scan, NdRangeQuery,
    testing::Values("x = get_group_id(0);", "get_num_groups(0)", "get_global_size (1)",
                    "get_global_offset/**/(0)", "get_work_dim()", "get_global_linear_id()",
                    "get_group_linear_id()", "#define G get_group_id\n", "get_gro\\\nup_id(0)",
                    "get_gro\\  \nup_id(0)", "get_gro\\\r\nup_id(0)", "get_gro\\\n\rup_id(0)",
                    "get_gro\\\rup_id(0)", "\"text\" get_group_id(0)", "'c' get_group_id(0)",
                    "/* '*/ get_group_id(0) /* ' */", "// \"\nget_group_id(0)",
                    "SECOND(\n## else , get_group_id(0)\n)", "\"/*\" get_group_id(0) \"*/\"",
                    "#define X /* \n */ get_group_id(0)\n"));

class HarmlessSource : public testing::TestWithParam<const char*> {};

TEST_P(HarmlessSource, IsNotFlagged) {
  const Scan scan = scan_source(GetParam());
  EXPECT_FALSE(scan.reads_ndrange || scan.opaque || scan.breaks_prelude) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Scan, HarmlessSource,
                         testing::Values("// get_group_id(0) in a comment", "/* get_group_id(0) */",
                                         "\"get_group_id(0)\"", "my_get_group_id(0)", "get_group_id_of(0)",
                                         "// a \\\n get_group_id(0)", "x = '\"'; // get_group_id(0) \"",
                                         "\"\\\"get_group_id\"", "#pragma unroll 4\n",
                                         "#pragma promote_to_registers\n", "#pragma clang fp contract(on)\n",
                                         "#pragma clang loop unroll(full)\n", "#\n", "#line 3\n",
                                         "#error don't\n", "#warning get_group_id\n"));

class OpaqueSource : public testing::TestWithParam<const char*> {};

// A condition decides which text there is, and both branches are read.
TEST(Scan, NamesInConditionsDoNothing) {
  for (const char* text :
       {"#ifdef cl_khr_int64_base_atomics\n#endif\n", "#if defined(atomic_inc) && USES_atom_add\n#endif\n",
        "#ifndef cl_khr_pipe_of\n#elif printf\n#endif\n"}) {
    const Scan scan = scan_source(text);
    EXPECT_FALSE(scan.communicates || scan.may_wait) << text;
  }
  EXPECT_TRUE(scan_source("#ifdef cl_khr_int64_base_atomics\natom_inc(p);\n#endif\n").communicates);
  EXPECT_TRUE(scan_source("#if X\n#else\natomic_inc(p);\n#endif\n").communicates);
}

// Where compilers differ, or where a token ends is not certain.
TEST(Scan, AmbiguousTextIsReported) {
  for (const char* text : {"#warning see /* below\n#define ID get_group_id(0)\n// */\n",
                           "#if 0\n#include <x/*y>\n\" */ \" /* \"\n#endif\n", "x = 1_p+get_group_id(0);"}) {
    EXPECT_TRUE(scan_source(text).ambiguous) << text;
  }
}

TEST(Scan, UnreadableTextBreaksThePrelude) {
  for (const char* text :
       {"?\?=define X\n", "%:x", "\\u0067", "#import <x>\n", "#pragma what\n", "#pragma clang\n",
        "#pragma clang attribute push\n", "#pragma fp\n", "don't\n", "a$b", "_Pragma(\"x\")"}) {
    EXPECT_TRUE(scan_source(text).breaks_prelude) << text;
  }
  EXPECT_TRUE(scan_source(std::string("a\0b", 3)).ambiguous);
  EXPECT_TRUE(scan_source(std::string("// \\\0\n get_group_id(0)", 21)).reads_ndrange);
}

TEST_P(OpaqueSource, PreludeDoesNotApply) {
  EXPECT_TRUE(scan_source(GetParam()).opaque) << GetParam();
  EXPECT_TRUE(scan_source(std::string(kPlain) + "\n" + GetParam()).opaque) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Scan, OpaqueSource,
    testing::Values("_Z12get_group_idj(0)", "_Z13get_global_idj(2)", "_Z19get_group_linear_idv()",
                    "__attribute__((weakref(\"_Z12get_gr\" \"oup_idj\")))", "__attribute__((alias(\"x\")))",
                    "#pragma redefine_extname a b\n", "#pragma weak a = b\n", "_Pragma(\"weak\")",
                    "_Z26__spirv_BuiltInWorkgroupIdi(0)", "#import <x>\n", "%:include <x>\n",
                    "%:define C(a,b) a %:%: b\n", "?\?=include <x>\n", "get_gro?\?/\nup_id",
                    "// a comment?\?/\nget_group_id(0)", "\\u0067et_group_id(0)", "asm(\"mov\")",
                    "__asm__ volatile(\"\")", "__builtin_ptx_read_ctaid_x()", "__spirv_BuiltInWorkgroupId",
                    "__ockl_get_group_id(0)", "enqueue_kernel(q, f, n, b)", "ndrange_1D(4)",
                    "get_default_queue()", "R\"(text)\"", "don't\n get_group_id(0)", "f$2g(0)",
                    "\xc3\xa9t\xc3\xa9(0)", "#if __has_include(<it's>) || defined(X)\n#endif\n", "/* no end",
                    "1'000", "<% %>", "#pragma push_macro(\"get_group_id\")\n"));

class PreludeBreakingSource : public testing::TestWithParam<const char*> {};

TEST_P(PreludeBreakingSource, IsDetected) {
  EXPECT_TRUE(scan_source(GetParam()).breaks_prelude) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Scan, PreludeBreakingSource,
    testing::Values("#define get_group_id(d) 0\n", "#define get_global_id(d) get_global_id(d)\n",
                    "#undef get_group_id\n", "#ifdef get_group_id\n#endif\n",
                    "#if defined(get_work_dim)\n#endif\n", "#if 0\n#elif get_work_dim\n#endif\n",
                    "#define HAS defined\n", "#define TEXT(x) #x\n", "kernel void a(int get_group_id) {}",
                    "kernel void a(global int *get_group_id) {}", "__cleave_group_id(0)",
                    "size_t get_group_id(uint d);", "size_t __attribute__((pure)) get_group_linear_id(void);",
                    "struct S { int a; } get_group_linear_id(void);",
                    "#if A\nvoid f(void) {\n#else\nvoid g(void) {\n#endif\n}\nsize_t get_group_id(uint d);",
                    "#if A\n}\n#endif\nvoid f(void) { size_t get_group_id(uint d); }",
                    "kernel void a(global int* o, int (get_work_dim)) {}",
                    "kernel void get_group_linear_id(global int* p) {}"));

TEST(Scan, PastedNamesThatCouldBreakThePreludeAreDetected) {
  for (const char* text :
       {"#define X get_group_id\n", "#if CAT(X, _mine)\n#endif\n", "void f() { CALL(get_group_id, 0) }"}) {
    EXPECT_TRUE(scan_source(text).breaks_prelude_if_pasting) << text;
    EXPECT_FALSE(scan_source(text).breaks_prelude) << text;
  }
  EXPECT_FALSE(
      scan_source("#define X get_group_id(0)\n#if defined(X) && N\n#endif\n").breaks_prelude_if_pasting);
  EXPECT_FALSE(
      scan_source("#if A\nint f() {\n#else\nint g() {\n#endif\nreturn get_group_id(0); }").breaks_prelude);
}

class CommunicatingSource : public testing::TestWithParam<const char*> {};

TEST_P(CommunicatingSource, IsDetectedAndSplittable) {
  EXPECT_TRUE(scan_source(GetParam()).communicates) << GetParam();
  EXPECT_FALSE(scan_source(GetParam()).opaque) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Scan, CommunicatingSource,
                         testing::Values("atomic_add(p, 1)", "atom_inc(p)", "atomic_load_explicit(p, o, s)",
                                         "volatile __global int* p", "mem_fence(CLK_GLOBAL_MEM_FENCE)",
                                         "memory_scope_device", "memory_scope_all_svm_devices",
                                         "read_pipe(p, &x)", "__opencl_atomic_load(p, o, s)",
                                         "__sync_fetch_and_add(p, 1)", "__c11_atomic_load(p, o)",
                                         "printf(\"%d\", 1)"));

Scan pasted(const std::string& text, const char* options = "") {
  const Tokens tokens = tokens_of(text);
  const std::string directives = options_as_directive(options);
  return scan_pasted_names({&tokens}, tokens_of(directives));
}

constexpr const char* kJoin = "#define C(a, b) a##b\n";

TEST(Scan, PastedNamesAreFormedFromExistingTokens) {
  EXPECT_TRUE(pasted("get_ ## group_id").reads_ndrange);
  EXPECT_TRUE(pasted(std::string(kJoin) + "C(get_, C(gro, C(up_, id)))").reads_ndrange);
  EXPECT_FALSE(pasted(std::string(kJoin) + "get_group id").reads_ndrange)
      << "the second underscore is not there";
  EXPECT_TRUE(pasted("__builtin ## _ptx").opaque);
  EXPECT_TRUE(pasted("as ## m").opaque);
  EXPECT_TRUE(pasted("ato ## mic_inc").communicates);
  EXPECT_FALSE(pasted("get_group_id(12)").opaque) << "no symbol without its beginning";
  EXPECT_TRUE(pasted("_Z ## 12get_group_id ## j").opaque);
  EXPECT_TRUE(pasted("#define D def ## ined(get_ ## group_id)").breaks_prelude);
  EXPECT_FALSE(pasted("global i a size_t JOIN(x, y)").opaque) << "only whole words: alias";
  const Scan scan = pasted("convert_ ## int4 vload ## 4 helper_ ## add");
  EXPECT_FALSE(scan.reads_ndrange || scan.opaque || scan.communicates);
}

class PastedNames : public testing::TestWithParam<const char*> {};

TEST_P(PastedNames, AreFormedByPastingOperators) {
  EXPECT_TRUE(pasted(GetParam()).reads_ndrange) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PastedNames,
    testing::Values("#define C(x) get_##x\nC(group_id)", "#define C(x) x##_id\nC(get_group)",
                    "#define C(x) get_##x##_id\nC(group)", "#define C(x) get_group##x##_id\nC()",
                    "#define C(x, y) get_group##x##y##_id\nC(,)",
                    "#define C(x) x##_id\n#define D(y) C(y##_group)\nD(get)",
                    "#define C(x...) get_##x\nC(group_id)", "#define C(...) get_##__VA_ARGS__\nC(group_id)",
                    "#define C get_ ## group_id\nC", "# define C(x)get_##x\nC(group_id)",
                    "#define C(x) get_ /* */ ## /* */ x\nC(group_id)"));

TEST(Scan, NamesWithoutPastingOperatorAreNotFormed) {
  EXPECT_FALSE(pasted("#define ADD(x) x##_add\nget_group _id ADD(cfloat)").reads_ndrange);
  EXPECT_FALSE(pasted("#define C(x) get_##x##_id\ngroup_size").reads_ndrange);
  EXPECT_FALSE(pasted("#define C(x) c_##x\nas m ato mic_ C(y)").opaque);
  EXPECT_FALSE(pasted("#define C(x) c_##x\nas m ato mic_ C(y)").communicates);
  EXPECT_FALSE(pasted("#define C (x) c_##y\nget_ group_id").reads_ndrange) << "takes no parameters";
}

TEST(Scan, UnusualMacroOptionsAreNotGuessed) {
  EXPECT_TRUE(pasted("get_gr C(oup_id)", "-DC(x)=y##z").reads_ndrange);
  EXPECT_FALSE(pasted("get_gr C(oup_id)", "-DC(x)=y").reads_ndrange);
}

constexpr const char* kConcat = "#define CONCAT(a, b) a##b\n#define VTYPE(type, width) CONCAT(type, width)\n";

TEST(Scan, OperandsOfPastingOperatorsAreWhatCallsPass) {
  for (const char* text :
       {"VTYPE(uint, 4) get_group _id as m ato mic_inc", "VTYPE(uint, WIDTH)\n#define WIDTH 4\nas m",
        "#define U uint\nVTYPE(U, 4) as m", "#define OTHER(x) VTYPE(x, 2)\nOTHER(float) as m",
        "CONCAT(, 4) as m", "VTYPE((x), 4) as m"}) {
    const Scan scan = pasted(std::string(kConcat) + text);
    EXPECT_FALSE(scan.opaque || scan.reads_ndrange || scan.communicates) << text;
  }
}

class PassedFragments : public testing::TestWithParam<const char*> {};

TEST_P(PassedFragments, AreFollowed) {
  EXPECT_TRUE(pasted(std::string(kConcat) + GetParam()).opaque) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PassedFragments,
    testing::Values(
        "CONCAT(as, m)", "VTYPE(as, m)", "VTYPE(A, m)\n#define A as",
        "VTYPE(A, B)\n#define A as\n#define B C\n#define C m", "#define OTHER(x) VTYPE(as, x)\nOTHER(m)",
        "#define OTHER(x) VTYPE(x, M)\n#define M m\nOTHER(as)", "#define APPLY(f) f(as, m)\nAPPLY(CONCAT)",
        "#define ALIAS CONCAT\nALIAS(as, m)", "#define OPEN CONCAT (\nOPEN as, m)", "VTYPE(CONCAT(a, s), m)",
        "CONCAT(CON, CAT)(as, m)", "CONCAT(VTY, PE)(as, m)", "#define V(...) CONCAT(__VA_ARGS__)\nV(as, m)",
        "#define V(x...) a##x\nV(sm)", "CONCAT(as,\n#if 1\nm\n#endif\n)", "VTYPE(ID(as), m)\n#define ID(x) x",
        "VTYPE(F(1), m)\n#define F(x) as", "CONCAT(CONCAT, (as, m))",
        "#define CONCAT(x, y) y##x\nCONCAT(m, as)", "#if VTYPE(as, m)\n#endif"));

TEST(Scan, OptionsMayBecomeOperandsOfPastingOperators) {
  const std::string text = std::string(kConcat) + "VTYPE(A, m)";
  EXPECT_FALSE(pasted(text + " as").opaque);
  EXPECT_TRUE(pasted(text, "-DA=as").opaque);
  EXPECT_TRUE(pasted(text, "-D A=as").opaque);
  EXPECT_TRUE(pasted(std::string(kConcat) + "as m", "-DX=CONCAT(a,sm)").opaque);
  EXPECT_TRUE(pasted(std::string(kConcat) + "X(as, m)", "-DX=CONCAT").opaque);
}

TEST(ScanOptions, HarmlessOptionsAreNotFlagged) {
  for (const char* options : {"", "-DN=16 -D M=4", "-cl-fast-relaxed-math -cl-mad-enable -cl-std=CL2.0",
                              "-I include -Werror -w", "-DNAME=\"x y\""}) {
    EXPECT_FALSE(scan_options(options).opaque || scan_options(options).breaks_prelude) << options;
    const Scan scan = scan_text(options_as_directive(options));
    EXPECT_FALSE(scan.opaque || scan.breaks_prelude || scan.reads_ndrange) << options;
  }
}

TEST(ScanOptions, OptionsThatIncludeTextAreOpaque) {
  for (const char* options : {"-include x.h", "-imacros x.h", "-Xclang -load", "@file", "--config x",
                              "-fplugin=x", "-Wp,-include,x"}) {
    EXPECT_TRUE(scan_options(options).opaque) << options;
  }
}

TEST(ScanOptions, MacrosCountAsText) {
  for (const char* options : {"-DG=get_group_id", "-DP=get_global_size(0)", "-D G=get_gro\"\"up_id",
                              "-DG=get_gr\"oup_id\"", "-I//a -DG=get_group_id", "-DX=/* -DG=get_group_id"}) {
    const Scan scan = scan_text(options_as_directive(options));
    EXPECT_TRUE(scan.reads_ndrange) << options;
    EXPECT_FALSE(scan.breaks_prelude) << options;
  }
  EXPECT_TRUE(scan_text(options_as_directive("-D F(a,b)=a##b")).pastes_tokens);
}

TEST(ScanOptions, RedefiningAFunctionBreaksThePrelude) {
  for (const char* options : {"-Dget_group_id=f", "-D get_global_id(x)=x", "-U get_work_dim", "-D__cleave_on",
                              "-D\"get_group_id=f\"", "-Dsize_t=uint", "-Dinline=", "-include x.h"}) {
    EXPECT_TRUE(scan_options(options).breaks_prelude) << options;
  }
}

TEST(ScanOptions, FoldersAreFound) {
  const Options parsed = parse_options("-I a -Ib -I \"c\" -DX=1");
  EXPECT_EQ(parsed.folders, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed.macros, (std::vector<std::string>{"X"}));
}

TEST(ScanOptions, NumbersAreThoseThatEveryDriverReads) {
  EXPECT_EQ(parse_options("-DX=16 -D Y=0x2u -D Z=f(1) -D W").numbers,
            (std::vector<std::string>{"X", "Y", "W"}));
  EXPECT_EQ(parse_options("-I \"a/b\" -D PATH=\"a/b\" -D X=16").numbers, (std::vector<std::string>{"X"}));
  for (const char* options :
       {"-D PATH=\"a -D X=1\"", "-D X=1 \"-D X=f\"", "-D X=\"1\"", "\"-DX=1\"", "-D X=1 -D Y=\"",
        "-D X=1\\ 2", "-D X='1'", "-D X=1 -D Y='a b'", "-D X=1 -D \"X\"=f", "-D X=1 -U X", "-D X=1 -D X=y"}) {
    EXPECT_TRUE(parse_options(options).numbers.empty()) << options;
  }
}

}  // namespace
}  // namespace cleave::kernels
