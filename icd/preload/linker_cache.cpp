#include "icd/preload/linker_cache.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace cleave::icd {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";

struct Header {
  char magic[20];
  std::uint32_t libraries;
  std::uint32_t strings_size;
  std::uint8_t flags;
  std::uint8_t padding[3];
  std::uint32_t extension_offset;
  std::uint32_t unused[3];
};
static_assert(sizeof(Header) == 48);

struct Entry {
  std::int32_t flags;
  std::uint32_t key;    // offset of the library's name
  std::uint32_t value;  // offset of its path
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(Entry) == 24);

// The flags of libraries that this process can load: FLAG_ELF_LIBC6 and the architecture's.
constexpr std::int32_t kLoadable =
#if defined(__x86_64__) && defined(__LP64__)
    0x0303;
#elif defined(__aarch64__)
    0x0a03;
#elif defined(__powerpc64__)
    0x0503;
#elif defined(__s390x__)
    0x0403;
#elif defined(__riscv) && __riscv_xlen == 64
    0x1003;
#else
    0x0003;
#endif

std::optional<std::string_view> text_at(std::string_view cache, std::size_t offset) {
  if (offset >= cache.size()) return std::nullopt;
  const std::size_t end = cache.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return cache.substr(offset, end - offset);
}

}  // namespace

std::vector<std::string> paths_in_linker_cache(std::string_view cache, std::string_view library) {
  std::vector<std::string> paths;
  const std::size_t start = cache.find(kMagic);
  if (start == std::string_view::npos) return paths;
  cache.remove_prefix(start);
  Header header{};
  if (cache.size() < sizeof header) return paths;
  std::memcpy(&header, cache.data(), sizeof header);
  if (header.libraries > (cache.size() - sizeof header) / sizeof(Entry)) return paths;
  for (std::uint32_t i = 0; i < header.libraries; ++i) {
    Entry entry{};
    std::memcpy(&entry, cache.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.flags != kLoadable) continue;
    const auto name = text_at(cache, entry.key);
    if (!name || *name != library) continue;
    if (const auto path = text_at(cache, entry.value)) paths.emplace_back(*path);
  }
  return paths;
}

}  // namespace cleave::icd
