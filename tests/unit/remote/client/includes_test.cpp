// Which files a client sends along with a program.
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "remote/client/includes/build_options.h"
#include "remote/client/includes/directives.h"
#include "remote/client/includes/include_search.h"
#include "remote/protocol/limits.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::client {
namespace {

using Form = Include::Form;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Directives, FindsIncludesInEveryForm) {
  const Directives found = parse_directives(
      "#include \"a.h\"\n# include <b/c.h> // and why\n#include MACRO\n#include_next <d.h>\n#import \"e.h\"\n"
      "#import <f.h>\n#inc\\\nlude \"g.h\"\n/* #include \"no.h\" */\nint x; #include \"no.h\"\n"
      "const char* s = \"#include\\n#include <no.h>\";");
  EXPECT_THAT(found.includes, ElementsAre(Include{Form::quoted, "a.h"}, Include{Form::angled, "b/c.h"},
                                          Include{Form::macro, "MACRO"}, Include{Form::angled, "d.h", true},
                                          Include{Form::quoted, "e.h"}, Include{Form::angled, "f.h"},
                                          Include{Form::quoted, "g.h"}));
  EXPECT_TRUE(found.fully_parsed);
}

TEST(Directives, FindsConditionsAndMacros) {
  const Directives found = parse_directives(
      "#if __has_include(\"a.h\") && X < 3 && __has_include(<b.h>)\n#define A \"c.h\"\n#elif "
      "__has_include_next(<d.h>)\n#define B <e.h>\n#define F(x) <x>\n#define EMPTY\n#endif\n");
  EXPECT_THAT(found.includes, ElementsAre(Include{Form::quoted, "a.h"}, Include{Form::angled, "b.h"},
                                          Include{Form::angled, "d.h", true}));
  EXPECT_THAT(found.definitions, ElementsAre(Definition{"A", "\"c.h\""}, Definition{"B", "<e.h>"}));
}

TEST(Directives, RejectsWhatNeedsACompiler) {
  EXPECT_FALSE(parse_directives("#include NAME(x)\n").fully_parsed);
  EXPECT_FALSE(parse_directives("#include\n").fully_parsed);
  EXPECT_TRUE(parse_directives("#define NAME(x) <x>\n").fully_parsed);
}

TEST(BuildOptions, FindsIncludeFolders) {
  const std::string options = "-DX=1 -I one -Itwo -I \"with blanks\" -D Y -I\"four\" '-Ifive' -cl-opt -I";
  const BuildOptions read = read_build_options(options);
  std::vector<std::string> paths;
  for (const auto& folder : read.folders) {
    paths.push_back(folder.path);
    EXPECT_EQ(options.substr(folder.at, folder.path.size()), folder.path);
  }
  EXPECT_THAT(paths, ElementsAre("one", "two", "with blanks", "four", "five"));
  EXPECT_THAT(read.definitions, ElementsAre("X=1", "Y"));
}

class IncludedSources : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::filesystem::create_directories(folder_ / "work");
    std::filesystem::current_path(folder_ / "work");
    here_ = (folder_ / "work").string() + "/././";
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  static void write(const std::filesystem::path& path, const std::string& text) {
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  // What is sent: paths, without those of the current folder, and texts.
  std::map<std::string, std::string> files(std::string_view text, std::string_view options = "",
                                           const std::vector<std::string_view>& given = {}) {
    sources_ = find_included_files({text}, given, options);
    std::map<std::string, std::string> sent;
    std::size_t at = 0;
    for (std::size_t i = 0; i < sources_.names.size(); ++i) {
      std::string name = sources_.names[i];
      if (name.starts_with(here_)) name.erase(0, here_.size());
      sent[name] = sources_.texts.substr(at, sources_.sizes[i]);
      at += sources_.sizes[i];
    }
    EXPECT_EQ(at, sources_.texts.size());
    return sent;
  }

  std::string all_options() const {
    std::string all;
    for (std::size_t i = 0; i < sources_.options.size(); ++i)
      all += (i == 0 ? "" : "ROOT") + sources_.options[i];
    return all;
  }

  using Files = std::map<std::string, std::string>;
  const kit::TemporaryFolder files_;
  const std::filesystem::path folder_ = std::filesystem::canonical(files_.path());
  std::filesystem::path before_;
  std::string here_;
  IncludedFiles sources_;
};

TEST_F(IncludedSources, EmptyWithoutIncludes) {
  write("a.h", "");
  EXPECT_THAT(files("kernel void k() {}", "-I ."), IsEmpty());
  EXPECT_THAT(files("#include \"nowhere.h\"\n// #include \"a.h\"", "-I ."), IsEmpty());
  EXPECT_THAT(sources_.options, IsEmpty());
  EXPECT_EQ(sources_.problem, "");
}

TEST_F(IncludedSources, FirstMatchingFolderWins) {
  for (const char* path : {"a.h", "one/a.h", "one/b.h", "two/a.h", "two/b.h", "two/c.h"}) write(path, path);
  EXPECT_EQ(files("#include \"a.h\"\n#include <b.h>\n#include <c.h>", "-I one -I two"),
            (Files{{"./a.h", "a.h"}, {"one/b.h", "one/b.h"}, {"two/c.h", "two/c.h"}}));
  EXPECT_EQ(all_options(), "-I ROOT" + here_ + ". -I ROOT" + here_ + "one -I ROOT" + here_ + "two");
}

TEST_F(IncludedSources, FolderOfTheIncludingFileIsSearchedFirst) {
  write("one/a.h", "#include \"b.h\"\n#include <c.h>\n");
  for (const char* path : {"one/b.h", "b.h", "one/c.h", "two/c.h"}) write(path, path);
  EXPECT_EQ(files("#include \"one/a.h\"", "-I two"),
            (Files{{"./one/a.h", "#include \"b.h\"\n#include <c.h>\n"},
                   {"./one/b.h", "one/b.h"},
                   {"two/c.h", "two/c.h"}}));
}

TEST_F(IncludedSources, UnaffectedOptionsAreKept) {
  const std::string elsewhere = (folder_ / "else").string();
  write(elsewhere + "/a.h", "");
  EXPECT_THAT(files("#include \"a.h\"", "-DX=1 -I nowhere -I \"" + elsewhere + "\" -w"),
              ElementsAre(std::pair(elsewhere + "/a.h", "")));
  EXPECT_EQ(all_options(), "-DX=1 -I nowhere -I \"ROOT" + elsewhere + "\" -w");
}

TEST_F(IncludedSources, CyclicIncludesTerminate) {
  write("a/x.h", "#include \"../a/x.h\"\n#include \"../b/c/../../a/x.h\"\n#include \"x.h\"\n");
  write("b/c/y.h", "");
  const Files sent = files("#include \"a/x.h\"");
  EXPECT_EQ(sent.count("./a/x.h"), 1U);
  EXPECT_LE(sent.size(), 4U);
  EXPECT_EQ(sent.count("./a/../b/c/../../a/"), 1U) << "a folder that the compiler goes through";
}

TEST_F(IncludedSources, ResolvesIncludesNamedByMacros) {
  for (const char* path : {"a.h", "b.h", "c.h", "d.h"}) write(path, "");
  write("e.h", "#define LATER <d.h>\n#define CIRCLE CIRCLE\n");
  EXPECT_EQ(
      files("#include ONE\n#if 0\n#define ONE \"a.h\"\n#else\n#define ONE TWO\n#define TWO <b.h>\n#endif\n"
            "#include OPTION\n#include QUOTED\n#include LATER\n#include \"e.h\"\n#include CIRCLE",
            "-DOPTION=\\\"c.h\\\" -D QUOTED=\"e.h\"")
          .size(),
      5U);
  EXPECT_THAT(sources_.problem, testing::HasSubstr("macro"));
  files("#include UNKNOWN");
  EXPECT_THAT(sources_.problem, testing::HasSubstr("macro"));
}

TEST_F(IncludedSources, HeaderProgramsTakePrecedenceOverFiles) {
  write("given.h", "");
  write("one/given.h", "");
  write("one/a.h", "#include \"given.h\"\n");
  EXPECT_THAT(files("#include \"given.h\"", "-I one", {"given.h"}), IsEmpty());
  // But next to a file that is one the compiler looks first.
  EXPECT_EQ(files("#include \"a.h\"", "-I one", {"given.h"}).count("one/given.h"), 1U);
}

TEST_F(IncludedSources, ReadsRegularFilesOnly) {
  ASSERT_EQ(::mkfifo("pipe.h", 0600), 0);
  std::filesystem::create_directories("folder.h");
  std::filesystem::create_symlink("/dev/zero", "endless.h");
  EXPECT_THAT(files("#include \"pipe.h\"\n#include \"folder.h\"\n#include \"endless.h\"\n#include "
                    "\"\"\n#include \".\""),
              IsEmpty());
}

TEST_F(IncludedSources, ExcessIsReportedAndNotSent) {
  write("huge.h", "");
  std::filesystem::resize_file("huge.h", kMaxIncludeBytes + 1);
  write("small.h", "x");
  EXPECT_EQ(files("#include \"huge.h\"\n#include \"small.h\""), (Files{{"./small.h", "x"}}));
  EXPECT_THAT(sources_.problem, testing::HasSubstr("too large"));
}

TEST_F(IncludedSources, SendsNothingFromAboveTheRoot) {
  write("a.h", "");
  std::string up;
  for (int i = 0; i < 40; ++i) up += "../";
  const std::string way = up + (folder_ / "work").string().substr(1);
  EXPECT_THAT(files("#include \"" + way + "/a.h\""), IsEmpty());
  EXPECT_NE(sources_.problem, "");
  files("#include \"" + (folder_ / "work").string() + "/a.h\"");
  EXPECT_THAT(sources_.problem, testing::HasSubstr("absolute path"));
}

TEST(BuildLog, TellsAMissingFileFromOtherErrors) {
  EXPECT_TRUE(reports_missing_file("a.cl:1:10: fatal error: 'none.h' file not found"));
  EXPECT_TRUE(reports_missing_file("cannot open source file \"none.h\""));
  EXPECT_TRUE(reports_missing_file("fatal error: none.h: No such file or directory"));
  EXPECT_FALSE(reports_missing_file("a.cl:7:1: error: use of undeclared identifier 'x'"));
  EXPECT_FALSE(reports_missing_file(""));
}

}  // namespace
}  // namespace cleave::remote::client
