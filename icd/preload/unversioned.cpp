// libOpenCL.so without a version number has no code: it only depends on the drop-in. It is marked as Cleave's.
#include "icd/elf_note.h"

namespace {

CLEAVE_FACE_NOTE kNote = cleave::icd::kFaceNote;

}  // namespace
