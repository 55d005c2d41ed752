#include "icd/elf_note.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/regular_file.h"

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

// At most `size` bytes; fewer where the file ends.
std::string bytes_at(const base::FileDescriptor& file, ElfW(Off) offset, std::size_t size) {
  std::string bytes(size, '\0');
  const bool is_offset = offset <= static_cast<ElfW(Off)>(INT64_MAX);
  const ssize_t got = is_offset ? pread(file.get(), bytes.data(), size, static_cast<off_t>(offset)) : 0;
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

template <typename Record>
std::optional<Record> record_at(const base::FileDescriptor& file, ElfW(Off) offset) {
  const std::string bytes = bytes_at(file, offset, sizeof(Record));
  if (bytes.size() != sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

constexpr unsigned char kOurClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

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

bool file_has_face_note(const std::string& path) {
  if (!base::irregularity_of(path, SIZE_MAX / 2).empty()) return false;
  const base::FileDescriptor file(base::open_own(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return false;
  const auto header = record_at<ElfW(Ehdr)>(file, 0);
  const bool is_ours = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                       header->e_ident[EI_CLASS] == kOurClass && header->e_phentsize == sizeof(ElfW(Phdr));
  if (!is_ours) return false;
  for (ElfW(Off) i = 0; i < header->e_phnum; ++i) {
    const auto segment = record_at<ElfW(Phdr)>(file, header->e_phoff + i * sizeof(ElfW(Phdr)));
    if (!segment) return false;
    constexpr ElfW(Xword) kMost = 64 << 10;
    if (segment->p_type != PT_NOTE) continue;
    const std::string notes =
        bytes_at(file, segment->p_offset, static_cast<std::size_t>(std::min(segment->p_filesz, kMost)));
    if (has_our_note(notes.data(), notes.size())) return true;
  }
  return false;
}

bool is_cleave_library(const void* address) {
  NoteSearch search{reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(visit_library, &search);
  return search.cleave;
}

}  // namespace cleave::icd
