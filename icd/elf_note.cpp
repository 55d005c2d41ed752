#include "icd/elf_note.h"

#include <cstring>
#include <elf.h>

namespace cleave::icd {
namespace {

CLEAVE_FACE_NOTE kNote = kFaceNote;

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

bool has_our_note(const char* note, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const std::size_t whole = sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
    if (whole > size) return false;
    if (header.n_type == kFaceNoteType && header.n_namesz == sizeof kFaceNoteOwner &&
        std::memcmp(note + sizeof header, kFaceNoteOwner, sizeof kFaceNoteOwner) == 0) {
      return true;
    }
    note += whole;
    size -= whole;
  }
  return false;
}

struct NoteSearch {
  std::uintptr_t address;
  bool cleave = false;
};

bool contains(const dl_phdr_info& library, std::uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const std::uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) return true;
  }
  return false;
}

int visit_library(dl_phdr_info* info, std::size_t, void* data) {
  auto* const search = static_cast<NoteSearch*>(data);
  if (!contains(*info, search->address)) return 0;
  search->cleave = has_face_note(*info);
  return 1;
}

}  // namespace

bool has_face_note(const dl_phdr_info& library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the dynamic linker
    const auto* const notes = reinterpret_cast<const char*>(library.dlpi_addr + segment.p_vaddr);
    if (has_our_note(notes, segment.p_memsz)) return true;
  }
  return false;
}

bool is_cleave_library(const void* address) {
  NoteSearch search{reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(visit_library, &search);
  return search.cleave;
}

}  // namespace cleave::icd
