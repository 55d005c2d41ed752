// The properties of an ELF file that decide whether a library can be loaded into the program. The file is not trusted: every
// offset and size is checked before use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cleave::cli {

struct ElfFacts {
  unsigned bits = 0;  // 32 or 64
  bool little_endian = false;
  std::uint16_t machine = 0;  // EM_X86_64, ...

  // Set only if is_ours().
  bool has_interpreter = false;        // uses the dynamic loader, so it is not statically linked
  std::vector<std::string> needed;     // DT_NEEDED
  std::optional<std::string> rpath;    // DT_RPATH, searched before LD_LIBRARY_PATH
  std::optional<std::string> runpath;  // DT_RUNPATH, searched after it

  // Whether the word size, byte order and processor are those of this command.
  bool is_ours() const;
};

struct ElfReading {
  std::optional<ElfFacts> facts;  // empty if it is not an ELF file, or a damaged one
  std::string damage;             // what is wrong with a damaged ELF file
};

ElfReading read_elf(const std::filesystem::path& file);

// The library that the program needs and that ends it where another one is preloaded in front of it: AddressSanitizer's, unless it
// is linked statically. Empty: there is none.
std::string needed_first(const ElfFacts& facts);

// "x86-64", "AArch64", ... or "machine 42".
std::string machine_name(std::uint16_t machine);

}  // namespace cleave::cli
