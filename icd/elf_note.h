// Recognises other copies of Cleave by an ELF note that each of its libraries carries, so that no face takes another for the
// real loader. A note needs no exported symbol, and is there before any code of the library runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>
#include <string>

namespace cleave::icd {

constexpr char kFaceNoteOwner[] = "Cleave";
constexpr std::uint32_t kFaceNoteType = 1;

struct FaceNote {
  ElfW(Nhdr) header;
  char owner[8];  // padded to a multiple of four
};
static_assert(sizeof(kFaceNoteOwner) <= sizeof(FaceNote::owner));

// One constant with this value in a library puts the note into it.
#define CLEAVE_FACE_NOTE \
  __attribute__((used, section(".note.cleave"), aligned(4))) const cleave::icd::FaceNote
constexpr FaceNote kFaceNote = {{sizeof kFaceNoteOwner, 0, kFaceNoteType}, "Cleave"};

// Whether the note is among the notes of a loaded library, which dl_iterate_phdr() describes.
bool has_face_note(const dl_phdr_info& library);

// Whether the note is in this file, which is not loaded for it; false if it is no library for this process. The file is not
// trusted. Opens nothing but regular files. Thread-safe. May throw std::bad_alloc.
bool file_has_face_note(const std::string& path);

// Whether the loaded library that contains `address` is Cleave's. Thread-safe.
bool is_cleave_library(const void* address);

}  // namespace cleave::icd
