#include "icd/preload/loaded_objects.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <utility>

#include "icd/elf_note.h"

namespace cleave::icd {
namespace {

// A loaded object's dynamic section.
class DynamicSection {
 public:
  explicit DynamicSection(const dl_phdr_info& object) : base_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
        entries_ = at<ElfW(Dyn)>(base_ + object.dlpi_phdr[i].p_vaddr);
    }
    names_ = table<char>(DT_STRTAB);
  }

  template <typename Visit>
  void each(Visit visit) const {
    for (const ElfW(Dyn)* entry = entries_; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
      visit(*entry);
  }

  // The text at an offset of the string table; empty if there is none.
  const char* name(std::size_t offset) const { return names_ != nullptr ? names_ + offset : ""; }

  bool defines(const char* symbol) const {
    const auto* const symbols = table<ElfW(Sym)>(DT_SYMTAB);
    if (symbols == nullptr || names_ == nullptr) return false;
    const auto matches = [&](std::uint32_t index) { return is_definition(symbols[index], symbol); };
    if (const auto* const hashes = table<std::uint32_t>(DT_GNU_HASH))
      return in_gnu_hash(hashes, symbol, matches);
    if (const auto* const hashes = table<std::uint32_t>(DT_HASH)) {
      for (std::uint32_t i = 0; i < hashes[1]; ++i) {  // the number of symbols
        if (matches(i)) return true;
      }
    }
    return false;
  }

 private:
  bool is_definition(const ElfW(Sym) & candidate, const char* symbol) const {
    return candidate.st_shndx != SHN_UNDEF && std::strcmp(name(candidate.st_name), symbol) == 0;
  }

  template <typename Entry>
  static const Entry* at(ElfW(Addr) address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the dynamic linker
    return reinterpret_cast<const Entry*>(address);
  }

  // glibc has relocated these entries to addresses, except in objects whose dynamic section cannot be written (the vDSO).
  template <typename Entry>
  const Entry* table(ElfW(Sxword) tag) const {
    const Entry* found = nullptr;
    each([&](const ElfW(Dyn) & entry) {
      if (entry.d_tag == tag && entry.d_un.d_ptr > base_) found = at<Entry>(entry.d_un.d_ptr);
    });
    return found;
  }

  // The layout: number of buckets, index of the first symbol, words of the Bloom filter, its shift; then the filter, the
  // buckets, and a hash for each symbol, whose lowest bit ends a chain.
  template <typename Matches>
  static bool in_gnu_hash(const std::uint32_t* table, const char* symbol, Matches matches) {
    std::uint32_t hash = 5381;
    for (const char* at = symbol; *at != '\0'; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
    const std::uint32_t buckets = table[0];
    const std::uint32_t first = table[1];
    if (buckets == 0) return false;
    const std::uint32_t* const bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const chain = bucket + buckets;
    std::uint32_t index = bucket[hash % buckets];
    if (index < first) return false;
    for (;; ++index) {
      const std::uint32_t other = chain[index - first];
      if ((other | 1) == (hash | 1) && matches(index)) return true;
      if ((other & 1) != 0) return false;
    }
  }

  ElfW(Addr) base_;
  const ElfW(Dyn) * entries_ = nullptr;
  const char* names_ = nullptr;
};

ObjectFacts facts_of(const dl_phdr_info& info, const DynamicSection& section) {
  ObjectFacts facts;
  facts.base = info.dlpi_addr;
  facts.is_cleave = has_face_note(info);
  section.each([&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_FLAGS_1) facts.skips_defaults = (entry.d_un.d_val & DF_1_NODEFLIB) != 0;
  });
  facts.has_opencl = section.defines(kEntryPoint);
  facts.has_icd_entry = section.defines("clIcdGetPlatformIDsKHR");
  return facts;
}

// What is noted while the linker's lock is held, in memory that has been reserved: an allocator may have locks of its own,
// which another thread holds while it waits for the linker's.
struct Note {
  ObjectFacts facts;
  std::size_t needed;  // how many names
};

struct Listing {
  std::vector<Note> notes;
  std::string text;  // of each object: its path, its DT_SONAME, and what it needs, each with its NUL
  std::size_t wanted_notes = 0;
  std::size_t wanted_text = 0;

  void add(const char* name) {
    const std::size_t size = std::strlen(name) + 1;
    wanted_text += size;
    if (wanted_text <= text.capacity()) text.append(name, size);
  }
};

int add_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& listing = *static_cast<Listing*>(data);
  const DynamicSection section(*info);
  const char* soname = "";
  std::size_t needed = 0;
  section.each([&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_SONAME) soname = section.name(entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) ++needed;
  });
  listing.add(info->dlpi_name);
  listing.add(soname);
  section.each([&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_NEEDED) listing.add(section.name(entry.d_un.d_val));
  });
  if (++listing.wanted_notes <= listing.notes.capacity())
    listing.notes.push_back({facts_of(*info, section), needed});
  return 0;
}

Listing list_objects() {
  Listing listing;
  do {  // once more if the memory was too small
    listing.notes.clear();
    listing.text.clear();
    listing.notes.reserve(64 + 2 * listing.wanted_notes);
    listing.text.reserve((8 << 10) + 2 * listing.wanted_text);
    listing.wanted_notes = listing.wanted_text = 0;
    dl_iterate_phdr(add_object, &listing);
  } while (listing.wanted_notes > listing.notes.capacity() || listing.wanted_text > listing.text.capacity());
  return listing;
}

}  // namespace

bool LoadedObject::answers_to(std::string_view name) const {
  return soname == name || path == name || std::string_view(path).substr(path.rfind('/') + 1) == name;
}

std::vector<LoadedObject> loaded_objects() {
  const Listing listing = list_objects();
  std::vector<LoadedObject> objects;
  const char* at = listing.text.c_str();
  const auto next = [&] {
    std::string name = at;
    at += name.size() + 1;
    return name;
  };
  for (const Note& note : listing.notes) {
    LoadedObject& object = objects.emplace_back();
    static_cast<ObjectFacts&>(object) = note.facts;
    object.path = next();
    object.soname = next();
    for (std::size_t i = 0; i < note.needed; ++i) object.needed.push_back(next());
  }
  return objects;
}

std::optional<std::size_t> index_of(const std::vector<LoadedObject>& objects, const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return std::nullopt;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].base == map->l_addr && objects[i].path == map->l_name) return i;
  }
  return std::nullopt;
}

}  // namespace cleave::icd
