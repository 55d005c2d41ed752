#include "icd/preload/loaded_objects.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::icd {
namespace {

TEST(LoadedObjects, AreTheProgramAndItsLibraries) {
  const auto objects = loaded_objects();
  ASSERT_FALSE(objects.empty());
  EXPECT_EQ(objects[0].path, "");
  EXPECT_THAT(objects[0].needed, testing::Contains("libc.so.6"));
  const auto c = std::find_if(objects.begin(), objects.end(),
                              [](const LoadedObject& object) { return object.soname == "libc.so.6"; });
  ASSERT_NE(c, objects.end());
  EXPECT_TRUE(c->answers_to("libc.so.6"));
  EXPECT_FALSE(c->has_opencl);
}

// More than there is memory for at first.
TEST(LoadedObjects, AreAllListedWhereThereAreMany) {
  const kit::TemporaryFolder folder;
  std::vector<std::string> paths;
  std::vector<void*> handles;
  for (int i = 0; i < 150; ++i) {
    paths.push_back(
        folder.file("a-rather-long-name-of-a-library-that-takes-room-" + std::to_string(i) + ".so"));
    std::filesystem::copy_file(SOME_LIBRARY, paths.back());
    handles.push_back(dlopen(paths.back().c_str(), RTLD_LAZY | RTLD_LOCAL));
    ASSERT_NE(handles.back(), nullptr) << dlerror();
  }
  const auto objects = loaded_objects();
  auto at = objects.begin();
  for (const std::string& path : paths) {
    at = std::find_if(at, objects.end(), [&](const LoadedObject& object) { return object.path == path; });
    ASSERT_NE(at, objects.end()) << path;
    EXPECT_THAT(at->needed, testing::Not(testing::Contains(testing::IsEmpty())));
  }
  for (void* const handle : handles) dlclose(handle);
}

}  // namespace
}  // namespace cleave::icd
