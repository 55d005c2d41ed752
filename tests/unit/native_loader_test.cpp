#include "icd/preload/native_loader.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave::icd {
namespace {

using Search = NativeLoader::Search;

LoadedObject object(std::string path, std::vector<std::string> needed = {}) {
  LoadedObject made;
  made.path = std::move(path);
  made.needed = std::move(needed);
  return made;
}

LoadedObject drop_in() {
  LoadedObject made = object("/opt/cleave/libOpenCL.so.1", {"libOpenCL.so"});
  made.soname = "libOpenCL.so.1";
  made.is_cleave = made.has_opencl = true;
  return made;
}

LoadedObject companion() {
  LoadedObject made = object("/opt/cleave/libOpenCL.so", {"libOpenCL.so.1"});
  made.is_cleave = true;
  return made;
}

LoadedObject opencl(std::string path) {
  LoadedObject made = object(std::move(path));
  made.has_opencl = true;
  return made;
}

TEST(NativeLoader, NameThatTheProgramNeedsIsSearchedForAlongItsRunPath) {
  const auto found = native_loader(
      {object("", {"libc.so.6", "libOpenCL.so.1"}), drop_in(), object("/lib/libc.so.6")}, 0, {});
  EXPECT_FALSE(found.loaded);
  ASSERT_FALSE(found.searches.empty());
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 0}));
}

TEST(NativeLoader, NameIsSearchedForByTheFirstThatNeedsIt) {
  const auto found =
      native_loader({object("", {"liba.so", "libb.so"}), drop_in(), object("/x/liba.so"),
                     object("/y/libb.so", {"libOpenCL.so.1"}), object("/z/libc.so", {"libOpenCL.so.1"})},
                    4, {});
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 3}));
}

TEST(NativeLoader, NameWithoutAVersionIsSearchedForAsSuch) {
  const auto found = native_loader({object("", {"libOpenCL.so"}), companion(), drop_in()}, 0, {});
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so", 0}));
}

TEST(NativeLoader, LoaderThatOnlyTheCallingLibraryNeeds) {
  const std::vector<LoadedObject> objects = {object("", {"libc.so.6"}), drop_in(),
                                             object("/w/_cl.so", {"libOpenCL-1.so"}),
                                             opencl("/w/.libs/libOpenCL-1.so")};
  EXPECT_EQ(native_loader(objects, 2, {}).loaded, 3);
  EXPECT_FALSE(native_loader(objects, std::nullopt, {}).loaded) << "it may be any other library that calls";
}

TEST(NativeLoader, ProgramsDefinitionComesBeforeTheCallers) {
  const auto found =
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), object("/w/_cl.so", {"libOpenCL-1.so"}),
                     opencl("/w/.libs/libOpenCL-1.so")},
                    2, {});
  EXPECT_FALSE(found.loaded);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 0}));
}

TEST(NativeLoader, CallerIsNotItsOwnLoader) {
  const auto found = native_loader({object(""), drop_in(), opencl("/t/libtracer.so")}, 2, {});
  EXPECT_FALSE(found.loaded);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 2}));
}

TEST(NativeLoader, LibraryOfThatNameWhichIsLoadedAnswersWhoeverOpensIt) {
  EXPECT_EQ(native_loader({object(""), drop_in(), opencl("/x/libOpenCL.so.1")}, 0, {}).loaded, 2);
}

TEST(NativeLoader, LibraryOfThatNameWhichIsLoadedLaterDoesNotAnswerTheProgram) {
  const auto found =
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), opencl("/x/libOpenCL.so.1")}, 0, {});
  EXPECT_FALSE(found.loaded);
}

TEST(NativeLoader, PreloadedLoaderOfThatNameComesFirst) {
  EXPECT_EQ(
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), opencl("/x/libOpenCL.so.1")}, 0, 2).loaded,
      2);
}

TEST(NativeLoader, PreloadedTracerIsNoLoader) {
  EXPECT_FALSE(
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), opencl("/x/libtracer.so")}, 0, 2).loaded);
}

TEST(NativeLoader, WithoutAnyClueTheProgramsRunPathIsSearched) {
  const auto found = native_loader({object(""), drop_in()}, std::nullopt, {});
  EXPECT_THAT(found.searches, testing::Contains(Search{"libOpenCL.so.1", 0}));
}

}  // namespace
}  // namespace cleave::icd
