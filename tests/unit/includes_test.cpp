#include "kernels/text/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::kernels {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Included {
  std::vector<std::string> texts;
  bool complete;
};

Included find_includes(const std::string& source, const std::vector<std::string>& folders,
                       const Embedded& embedded, const std::string& options = "") {
  HeaderFiles headers(folders, embedded);
  std::vector<std::string> given;
  for (const auto& [name, text] : embedded) given.push_back(name);
  const Preprocessed program = preprocess(source, {options, "", given}, headers);
  Included found{{}, !program.missing};
  // Without line splices, of which the tests have none.
  for (std::size_t i = 1; i < program.texts.size(); ++i) found.texts.push_back(program.texts[i].text.text());
  return found;
}

class IncludesTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { files_.write(name, text); }

  const kit::TemporaryFolder files_;
  const std::string folder_ = files_.path();
};

TEST_F(IncludesTest, FollowsNestedIncludesAndFolders) {
  write("a.h", "A\n#include \"sub/b.h\"\n");
  write("sub/b.h", "B\n#include \"c.h\"\n#include \"a.h\"\n");
  write("sub/c.h", "C\n");
  const Included found = find_includes("#include <a.h>\n", {"/nowhere", folder_}, {});
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.texts, UnorderedElementsAre("A\n#include \"sub/b.h\"\n",
                                                "B\n#include \"c.h\"\n#include \"a.h\"\n", "C\n"));
}

TEST_F(IncludesTest, ReadsEveryCandidateFile) {
  write("one/a.h", "1");
  write("two/a.h", "2");
  const Included found =
      find_includes("#include \"a.h\"\n", {folder_ + "/one", folder_ + "/two"}, {{"a.h", "3"}});
  EXPECT_THAT(found.texts, UnorderedElementsAre("1", "2", "3"));
}

TEST_F(IncludesTest, FindsHeaderPrograms) {
  const Included found =
      find_includes("#include \"x/a.h\"\n", {}, {{"x/a.h", "#include \"b.h\"\n"}, {"b.h", "B"}});
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.texts, UnorderedElementsAre("#include \"b.h\"\n", "B"));
  EXPECT_THAT(find_includes("", {}, {{"a.h", "A"}}).texts, ElementsAre("A"))
      << "also files that seem to be unused";
}

TEST_F(IncludesTest, ReportsMissingAndComputedIncludes) {
  EXPECT_FALSE(find_includes("#include \"no such file\"\n", {folder_}, {}).complete);
  EXPECT_FALSE(find_includes("#define A <a.h>\n#include A\n", {folder_}, {}).complete);
  EXPECT_FALSE(find_includes("#include <.>\n", {folder_}, {}).complete) << "a folder is no header";
  EXPECT_TRUE(find_includes("// #include \"no such file\"\n", {folder_}, {}).complete);
}

TEST_F(IncludesTest, NamesMayComeFromMacros) {
  write("a b.h", "A");
  const std::string by_option = "#include M2S(FOLDER/a b.h)\n";
  EXPECT_THAT(
      find_includes(by_option, {}, {}, "-DFOLDER=" + folder_ + " -D XM2S(x)=#x -D M2S(x)=XM2S(x)").texts,
      ElementsAre("A"));
  EXPECT_THAT(find_includes("#define A \"a b.h\"\n#define B A\n#include B\n", {folder_}, {}).texts,
              ElementsAre("A"));
  EXPECT_FALSE(
      find_includes(by_option, {}, {}, "-DFOLDER=\"" + folder_ + "\" -D XM2S(x)=#x -D M2S(x)=XM2S(x)")
          .complete)
      << "drivers treat quotes in different ways";
  EXPECT_FALSE(
      find_includes("#ifdef __unknown\n#define A \"a b.h\"\n#else\n#define A \"b.h\"\n#endif\n#include A\n",
                    {folder_}, {})
          .complete);
  EXPECT_FALSE(find_includes("#define A B\n#define B A\n#include A\n", {folder_}, {}).complete);
  // A name that may stand for another is not certain as a text either.
  const std::string texts = "#define T(x) #x\n#define X(x) T(x)\n";
  EXPECT_TRUE(find_includes(texts + "#define A a b\n#include X(A.h)\n", {folder_}, {}).complete);
  EXPECT_FALSE(
      find_includes(texts + "#ifdef __unknown\n#define A a b\n#endif\n#include X(A.h)\n", {folder_}, {})
          .complete);
}

TEST_F(IncludesTest, BranchesThatAreNotCompiledIncludeNothing) {
  write("a.h", "A");
  const Included found = find_includes(
      "#ifdef NEVER\n#include <metal_stdlib>\n#endif\n#if VERSION > 2\n#include NAME\n#else\n#include "
      "\"a.h\"\n#endif\n",
      {folder_}, {}, "-DVERSION=2");
  EXPECT_TRUE(found.complete);
  EXPECT_THAT(found.texts, ElementsAre("A"));
  EXPECT_FALSE(find_includes("#ifdef __unknown\n#include \"none.h\"\n#endif\n", {folder_}, {}).complete);
}

TEST_F(IncludesTest, FilesOfOneNameInMemoryAndOnDiskAreDifferent) {
  write("a.h", "A");
  const Included found = find_includes("#include \"" + folder_ + "/a.h\"\n", {}, {{folder_ + "/a.h", "B"}});
  EXPECT_THAT(found.texts, UnorderedElementsAre("A", "B"));
}

TEST_F(IncludesTest, CyclicIncludesTerminate) {
  write("a.h", "#include \"b.h\"\n");
  write("b.h", "#include \"a.h\"\n");
  EXPECT_EQ(find_includes("#include \"a.h\"\n", {folder_}, {}).texts.size(), 2U);
}

}  // namespace
}  // namespace cleave::kernels
