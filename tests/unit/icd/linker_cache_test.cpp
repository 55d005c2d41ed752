#include "icd/preload/linker_cache.h"

#include <bit>
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
using testing::IsSubsetOf;

std::string system_cache() { return kit::file_contents("/etc/ld.so.cache"); }

TEST(LinkerCache, FindsSystemLibraries) {
  EXPECT_THAT(paths_in_linker_cache(system_cache(), "libc.so.6"), Contains(EndsWith("/libc.so.6")));
  EXPECT_THAT(paths_in_linker_cache(system_cache(), "libno-such-thing.so.1"), IsEmpty());
}

const std::vector<std::string> kSubfolders = {"glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2"};

TEST(LinkerCache, RejectsTruncatedFiles) {
  const std::string cache = system_cache();
  const auto all = paths_in_linker_cache(cache, "libc.so.6", kSubfolders);
  for (std::size_t size = 0; size < cache.size(); size += 1 + cache.size() / 2000) {
    EXPECT_THAT(paths_in_linker_cache(std::string_view(cache).substr(0, size), "libc.so.6", kSubfolders),
                IsSubsetOf(all));
  }
}

TEST(LinkerCache, RejectsDamagedFiles) {
  std::mt19937 random(1);
  const std::string cache = system_cache();
  for (int i = 0; i < 300; ++i) {
    std::string damaged = cache;
    for (int k = 0; k < 50; ++k) damaged[20 + random() % 2000] = static_cast<char>(random());
    for (const std::string& path : paths_in_linker_cache(damaged, "libc.so.6", kSubfolders))
      EXPECT_NE(damaged.find(path.c_str(), 0, path.size() + 1), std::string::npos)
          << "a text of the file: " << path;
  }
}

// A path for the library "lib.so", and its hardware bits.
struct Cached {
  std::string path;
  std::uint64_t hardware;
};

std::int32_t flags_of_this_architecture() {
  const std::string cache = system_cache();
  std::int32_t flags = 0;
  const std::size_t start = cache.find("glibc-ld.so.cache1.1");
  std::memcpy(&flags, cache.data() + start + 48, sizeof flags);
  return flags;
}

// `names`: of the sub-folders that hardware bits refer to.
std::string cache_of(const std::vector<Cached>& entries, const std::vector<std::string>& names) {
  std::string texts("lib.so\0", 7);
  const auto number = [](std::string& to, std::uint64_t value, std::size_t size) {
    to.append(reinterpret_cast<const char*>(&value), size);  // little-endian, as the tests below say
  };
  const std::size_t texts_at = 48 + 24 * entries.size();
  const auto add_text = [&](const std::string& text) {
    const std::size_t at = texts_at + texts.size();
    texts.append(text).push_back('\0');
    return at;
  };
  std::string records;
  for (const Cached& entry : entries) {
    number(records, static_cast<std::uint32_t>(flags_of_this_architecture()), 4);
    number(records, texts_at, 4);
    number(records, add_text(entry.path), 4);
    number(records, 0, 4);
    number(records, entry.hardware, 8);
  }
  std::string name_offsets;
  for (const std::string& name : names) number(name_offsets, add_text(name), 4);
  const std::size_t extension_at = texts_at + texts.size();
  std::string cache = "glibc-ld.so.cache1.1";
  number(cache, entries.size(), 4);
  number(cache, texts.size(), 4);
  number(cache, 0, 4);
  number(cache, extension_at, 4);
  cache.append(12, '\0');
  cache += records + texts;
  for (const std::uint64_t value : {std::uint64_t{0xeaa42174}, std::uint64_t{1}, std::uint64_t{1},
                                    std::uint64_t{0}, extension_at + 24, std::uint64_t{name_offsets.size()}})
    number(cache, value, 4);
  return cache + name_offsets;
}

constexpr std::uint64_t kNamed = std::uint64_t{1} << 62;

TEST(LinkerCache, PrefersTheBestProcessorsFolder) {
  if (std::endian::native != std::endian::little)
    GTEST_SKIP() << "the cache is written for little-endian processors";
  const std::uint64_t level = std::uint64_t{2} << 32;
  const std::string cache =
      cache_of({{"/v9", kNamed | 2}, {"/v2", kNamed | 1}, {"/any", 0}, {"/v3", kNamed | level | 0}},
               {"x86-64-v3", "x86-64-v2", "x86-64-v9"});
  EXPECT_THAT(paths_in_linker_cache(cache, "lib.so", kSubfolders),
              testing::ElementsAre("/v3", "/v2", "/any"));
}

TEST(LinkerCache, PassesOverHardwareThatItCannotName) {
  if (std::endian::native != std::endian::little)
    GTEST_SKIP() << "the cache is written for little-endian processors";
  // "tls", a feature, both, an unknown extension, and a name that is not there.
  const std::string cache = cache_of({{"/tls", std::uint64_t{1} << 63},
                                      {"/feature", 1 << 2},
                                      {"/both", kNamed | std::uint64_t{1} << 63},
                                      {"/extension", kNamed | std::uint64_t{1} << 42},
                                      {"/unnamed", kNamed | 7},
                                      {"/any", 0}},
                                     {"x86-64-v3"});
  EXPECT_THAT(paths_in_linker_cache(cache, "lib.so", kSubfolders), testing::ElementsAre("/any"));
}

}  // namespace
}  // namespace cleave::icd
