// This test program contains the note itself.
#include "icd/elf_note.h"

#include <cstdlib>
#include <dlfcn.h>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::icd {
namespace {

TEST(ElfNote, IsFoundInTheFile) {
  EXPECT_TRUE(file_has_face_note("/proc/self/exe"));
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::abort), &info), 0);
  EXPECT_FALSE(file_has_face_note(info.dli_fname)) << "the C library";
}

TEST(ElfNote, OtherFilesHaveNone) {
  const kit::TemporaryFolder folder;
  EXPECT_FALSE(file_has_face_note(folder.path()));
  EXPECT_FALSE(file_has_face_note(folder.file("missing")));
  EXPECT_FALSE(file_has_face_note(folder.write("empty", "")));
  EXPECT_FALSE(file_has_face_note(folder.write("text", "INPUT(libOpenCL.so.1)\n")));
}

TEST(ElfNote, DamagedFilesAreHarmless) {
  const kit::TemporaryFolder folder;
  std::mt19937 random(1);
  constexpr std::size_t kHeaders = 2048;
  const std::string_view note(reinterpret_cast<const char*>(&kFaceNote), sizeof kFaceNote);
  // Each has a file of its own: some file systems wait for the disk where one is written over.
  const std::string start = kit::file_contents("/proc/self/exe").substr(0, kHeaders);
  const std::size_t end = start.find(note) + note.size();
  ASSERT_LT(end, kHeaders) << "the linker puts notes at the beginning";
  for (std::size_t size = 1; size < start.size(); size += 13)
    EXPECT_EQ(file_has_face_note(folder.write("short" + std::to_string(size), start.substr(0, size))),
              size >= end)
        << size;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = start;
    for (int k = 0; k < 20; ++k) damaged[16 + random() % (kHeaders - 16)] = static_cast<char>(random());
    const bool is_found = file_has_face_note(folder.write("damaged" + std::to_string(i), damaged));
    EXPECT_TRUE(!is_found || damaged.find(kFaceNoteOwner) != std::string::npos) << i;
  }
}

}  // namespace
}  // namespace cleave::icd
