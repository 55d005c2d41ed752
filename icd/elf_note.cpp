#include "icd/elf_note.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

namespace cleave::icd {
namespace {

constexpr char kOwner[] = "Cleave";
constexpr std::uint32_t kFaceNote = 1;

struct Note {
  ElfW(Nhdr) header;
  char owner[8];  // padded to a multiple of four
};
static_assert(sizeof(kOwner) <= sizeof(Note::owner));

__attribute__((used, section(".note.cleave"), aligned(4)))
const Note kNote = {{sizeof kOwner, 0, kFaceNote}, "Cleave"};

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

bool has_our_note(const char* note, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const std::size_t whole = sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
    if (whole > size) return false;
    if (header.n_type == kFaceNote && header.n_namesz == sizeof kOwner &&
        std::memcmp(note + sizeof header, kOwner, sizeof kOwner) == 0) {
      return true;
    }
    note += whole;
    size -= whole;
  }
  return false;
}

struct Search {
  std::uintptr_t address;
  bool cleave = false;
};

int visit_library(dl_phdr_info* info, std::size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  bool contains = false;
  bool marked = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      contains |= search->address >= begin && search->address < begin + segment.p_memsz;
    } else if (segment.p_type == PT_NOTE) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the dynamic linker
      marked |= has_our_note(reinterpret_cast<const char*>(begin), segment.p_memsz);
    }
  }
  search->cleave |= contains && marked;
  return contains ? 1 : 0;
}

}  // namespace

bool is_cleave_library(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(visit_library, &search);
  return search.cleave;
}

}  // namespace cleave::icd
