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

// A library that has OpenCL's functions.
LoadedObject opencl(std::string path, std::string soname, std::vector<std::string> needed = {}) {
  LoadedObject made = object(std::move(path), std::move(needed));
  made.soname = std::move(soname);
  made.has_opencl = true;
  return made;
}

LoadedObject loader(std::string path) { return opencl(std::move(path), "libOpenCL.so.1"); }

LoadedObject driver(std::string path, std::vector<std::string> needed = {}) {
  LoadedObject made = opencl(std::move(path), "", std::move(needed));
  made.has_icd_entry = true;
  return made;
}

LoadedObject tracer(std::vector<std::string> needed = {}) {
  return opencl("/t/libtracer.so", "libtracer.so", std::move(needed));
}

TEST(NativeLoader, NameThatTheProgramNeedsIsSearchedForAlongItsRunPath) {
  const auto found =
      native_loader({object("", {"libc.so.6", "libOpenCL.so.1"}), drop_in(), object("/lib/libc.so.6")}, 0);
  EXPECT_FALSE(found.loaded);
  ASSERT_FALSE(found.searches.empty());
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 0}));
}

TEST(NativeLoader, NameIsSearchedForByTheFirstThatNeedsIt) {
  const auto found =
      native_loader({object("", {"liba.so", "libb.so"}), drop_in(), object("/x/liba.so"),
                     object("/y/libb.so", {"libOpenCL.so.1"}), object("/z/libc.so", {"libOpenCL.so.1"})},
                    4);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 3}));
}

TEST(NativeLoader, NameWithoutAVersionIsSearchedForAsSuch) {
  const auto found = native_loader({object("", {"libOpenCL.so"}), companion(), drop_in()}, 0);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so", 0}));
}

TEST(NativeLoader, LoaderThatOnlyTheCallingLibraryNeeds) {
  const std::vector<LoadedObject> objects = {object("", {"libc.so.6"}), drop_in(),
                                             object("/w/_cl.so", {"libOpenCL-1.so"}),
                                             opencl("/w/.libs/libOpenCL-1.so", "libOpenCL-1.so")};
  EXPECT_EQ(native_loader(objects, 2).loaded, 3);
  EXPECT_FALSE(native_loader(objects, std::nullopt).loaded) << "it may be any other library that calls";
}

TEST(NativeLoader, ProgramsDefinitionComesBeforeTheCallers) {
  const auto found =
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), object("/w/_cl.so", {"libOpenCL-1.so"}),
                     opencl("/w/.libs/libOpenCL-1.so", "libOpenCL-1.so")},
                    2);
  EXPECT_FALSE(found.loaded);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 0}));
}

TEST(NativeLoader, LibraryIsServedByWhatWasOpenedWithIt) {
  const std::vector<LoadedObject> objects = {
      object("", {"libc.so.6"}), drop_in(), object("/w/plugin.so", {"libcalls.so", "libOpenCL-1.so"}),
      object("/w/libcalls.so"), opencl("/w/libOpenCL-1.so", "libOpenCL-1.so")};
  EXPECT_EQ(native_loader(objects, 3).loaded, 4);
}

TEST(NativeLoader, CallerIsNotItsOwnLoader) {
  const auto found = native_loader({object(""), drop_in(), driver("/d/libdriver.so")}, 2);
  EXPECT_FALSE(found.loaded);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 2}));
}

TEST(NativeLoader, TracerBeforeTheLoaderIsPassedOver) {
  for (const bool needs : {false, true}) {
    const auto found = native_loader({object("", {"libtracer.so", "libOpenCL.so.1"}), drop_in(),
                                      needs ? tracer({"libOpenCL.so.1"}) : tracer()},
                                     0);
    EXPECT_FALSE(found.loaded);
    EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 0}));
  }
}

TEST(NativeLoader, TracerBeforeABundledLoaderIsPassedOver) {
  const auto found = native_loader({object("", {"libtracer.so", "libOpenCL-0123abcd.so.1"}), drop_in(),
                                    tracer(), opencl("/w/x.so", "libOpenCL-0123abcd.so.1")},
                                   0);
  EXPECT_EQ(found.loaded, 3);
}

TEST(NativeLoader, TracerByALoadersFileNameIsPassedOver) {
  EXPECT_FALSE(
      native_loader({object("", {"libOpenCL-1.so"}), drop_in(), opencl("/t/libOpenCL-1.so", "")}, 0).loaded);
  EXPECT_FALSE(native_loader({object("", {"libOpenCL-tracer.so"}), drop_in(),
                              opencl("/t/libOpenCL-tracer.so", "libOpenCL-tracer.so")},
                             0)
                   .loaded);
}

TEST(NativeLoader, DriverThatTheProgramNeeds) {
  EXPECT_EQ(native_loader({object("", {"libdriver.so"}), drop_in(), driver("/d/libdriver.so")}, 0).loaded, 2);
}

TEST(NativeLoader, DriverThatNeedsALoaderPassesCallsOn) {
  const auto found = native_loader(
      {object("", {"libdriver.so"}), drop_in(), driver("/d/libdriver.so", {"libOpenCL.so.1"})}, 0);
  EXPECT_FALSE(found.loaded);
  EXPECT_EQ(found.searches[0], (Search{"libOpenCL.so.1", 2}));
}

TEST(NativeLoader, LibraryOfThatNameWhichWasOpenedIsNotForTheProgram) {
  EXPECT_FALSE(native_loader({object(""), drop_in(), loader("/x/libOpenCL.so.1")}, 0).loaded);
  EXPECT_FALSE(
      native_loader({object("", {"libOpenCL.so.1"}), drop_in(), loader("/x/libOpenCL.so.1")}, 0).loaded);
}

TEST(NativeLoader, LibraryOfThatNameAnswersThoseThatAreLoadedLater) {
  std::vector<LoadedObject> objects = {object(""), drop_in(), loader("/x/libOpenCL.so.1"),
                                       object("/p/plugin.so", {"libOpenCL.so.1"})};
  EXPECT_EQ(native_loader(objects, 3).loaded, 2);
  std::swap(objects[2], objects[3]);
  EXPECT_FALSE(native_loader(objects, 2).loaded);
}

TEST(NativeLoader, PreloadedLoaderOrDriverComesFirst) {
  const LoadedObject program = object("", {"libOpenCL.so.1", "libc.so.6"});
  const LoadedObject c = object("/lib/libc.so.6");
  for (const LoadedObject& preloaded : {loader("/x/libOpenCL.so.1"), driver("/d/libdriver.so")}) {
    EXPECT_EQ(native_loader({program, drop_in(), preloaded, c}, 0).loaded, 2);
    EXPECT_FALSE(native_loader({program, drop_in(), c, preloaded}, 0).loaded) << "it was opened later";
  }
  EXPECT_FALSE(native_loader({program, driver("/d/libdriver.so"), drop_in(), c}, 0).loaded)
      << "whoever calls Cleave has not asked all that the program sees";
}

TEST(NativeLoader, PreloadedTracerIsNoLoader) {
  EXPECT_FALSE(
      native_loader(
          {object("", {"libOpenCL.so.1", "libc.so.6"}), drop_in(), tracer(), object("/lib/libc.so.6")}, 0)
          .loaded);
}

TEST(NativeLoader, WithoutAnyClueTheProgramsRunPathIsSearched) {
  const auto found = native_loader({object(""), drop_in()}, std::nullopt);
  EXPECT_THAT(found.searches, testing::Contains(Search{"libOpenCL.so.1", 0}));
}

}  // namespace
}  // namespace cleave::icd
