#include "icd/preload/linker_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

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

// An entry with this bit is for the processors that its sub-folder names; the lower half of `hardware` is then the number of
// that name, and the bits between, below kLevelEnd, are the level of the processor, which follows from the name.
constexpr std::uint64_t kNamedHardware = std::uint64_t{1} << 62;
constexpr unsigned kLevelEnd = 42;

struct Extension {
  std::uint32_t magic;
  std::uint32_t sections;
};
constexpr std::uint32_t kExtensionMagic = 0xeaa42174;

struct Section {
  std::uint32_t tag;
  std::uint32_t flags;
  std::uint32_t offset;
  std::uint32_t size;
};
constexpr std::uint32_t kHardwareNames = 1;  // a tag: offsets of names

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

template <typename Value>
std::optional<Value> value_at(std::string_view cache, std::size_t offset) {
  if (offset > cache.size() || cache.size() - offset < sizeof(Value)) return std::nullopt;
  Value value{};
  std::memcpy(&value, cache.data() + offset, sizeof value);
  return value;
}

std::optional<std::string_view> text_at(std::string_view cache, std::size_t offset) {
  if (offset >= cache.size()) return std::nullopt;
  const std::size_t end = cache.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return cache.substr(offset, end - offset);
}

// The name of the processors that an entry is for; empty if there is none.
std::string_view hardware_name(std::string_view cache, const Header& header, std::uint64_t hardware) {
  const auto extension = value_at<Extension>(cache, header.extension_offset);
  if (!extension || extension->magic != kExtensionMagic) return {};
  for (std::uint32_t i = 0; i < extension->sections; ++i) {
    const std::size_t at = std::size_t{header.extension_offset} + sizeof(Extension) + i * sizeof(Section);
    const auto section = value_at<Section>(cache, at);
    if (!section) return {};
    const std::size_t number = hardware & UINT32_MAX;
    if (section->tag != kHardwareNames || number >= section->size / sizeof(std::uint32_t)) continue;
    const auto name = value_at<std::uint32_t>(cache, section->offset + number * sizeof(std::uint32_t));
    return name ? text_at(cache, *name).value_or("") : "";
  }
  return {};
}

// The place of an entry in the order of preference: the lowest is the best; none if this processor cannot run it.
std::optional<std::size_t> rank_of(std::string_view cache, const Header& header, const Entry& entry,
                                   const std::vector<std::string>& subfolders) {
  if (entry.hardware == 0) return subfolders.size();
  // The linker of glibc 2.36 and earlier also knew bits for features, and "tls".
  if (entry.hardware >> kLevelEnd != kNamedHardware >> kLevelEnd) return std::nullopt;
  const std::string_view name = hardware_name(cache, header, entry.hardware);
  for (std::size_t i = 0; i < subfolders.size(); ++i) {
    if (!name.empty() && std::string_view(subfolders[i]).ends_with(name)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> paths_in_linker_cache(std::string_view cache, std::string_view library,
                                               const std::vector<std::string>& subfolders) {
  std::vector<std::string> paths;
  const std::size_t start = cache.find(kMagic);
  if (start == std::string_view::npos) return paths;
  cache.remove_prefix(start);
  const auto header = value_at<Header>(cache, 0);
  if (!header || header->libraries > (cache.size() - sizeof(Header)) / sizeof(Entry)) return paths;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::uint32_t i = 0; i < header->libraries; ++i) {
    const auto entry = value_at<Entry>(cache, sizeof(Header) + i * sizeof(Entry));
    if (!entry || entry->flags != kLoadable) continue;
    const auto name = text_at(cache, entry->key);
    if (!name || *name != library) continue;
    const auto rank = rank_of(cache, *header, *entry, subfolders);
    const auto path = text_at(cache, entry->value);
    if (rank && path) ranked.emplace_back(*rank, *path);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  for (auto& [rank, path] : ranked) paths.push_back(std::move(path));
  return paths;
}

}  // namespace cleave::icd
