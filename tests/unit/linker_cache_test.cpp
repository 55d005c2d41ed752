#include "icd/preload/linker_cache.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::icd {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::IsEmpty;

std::string system_cache() { return kit::file_contents("/etc/ld.so.cache"); }

TEST(LinkerCache, FindsSystemLibraries) {
  EXPECT_THAT(paths_in_linker_cache(system_cache(), "libc.so.6"), Contains(EndsWith("/libc.so.6")));
  EXPECT_THAT(paths_in_linker_cache(system_cache(), "libno-such-thing.so.1"), IsEmpty());
}

const std::vector<std::string> kSubfolders = {"glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2"};

TEST(LinkerCache, RejectsTruncatedFiles) {
  const std::string cache = system_cache();
  for (std::size_t size = 0; size < cache.size(); size += 1 + cache.size() / 2000) {
    paths_in_linker_cache(std::string_view(cache).substr(0, size), "libc.so.6", kSubfolders);
  }
}

TEST(LinkerCache, RejectsDamagedFiles) {
  std::mt19937 random(1);
  const std::string cache = system_cache();
  for (int i = 0; i < 300; ++i) {
    std::string damaged = cache;
    for (int k = 0; k < 50; ++k) damaged[20 + random() % 2000] = static_cast<char>(random());
    paths_in_linker_cache(damaged, "libc.so.6", kSubfolders);
  }
}

}  // namespace
}  // namespace cleave::icd
