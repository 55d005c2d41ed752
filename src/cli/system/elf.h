// The few facts of an ELF file that decide whether a library can be slipped under a program. Every offset and
// size in the file is checked before use: the file is whatever the user named.
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

  // Read only for files of our own machine, see `is_ours`.
  bool has_interpreter = false;        // asks for the dynamic loader; programs without are statically linked
  std::vector<std::string> needed;     // DT_NEEDED
  std::optional<std::string> rpath;    // DT_RPATH, searched before LD_LIBRARY_PATH
  std::optional<std::string> runpath;  // DT_RUNPATH, searched after it

  // The same word size, byte order and processor as this command.
  bool is_ours() const;
};

struct ElfReading {
  std::optional<ElfFacts> facts;  // absent where the file is no ELF file or a damaged one
  std::string damage;             // what is wrong with a file that starts as an ELF file
};

ElfReading read_elf(const std::filesystem::path& file);

// "x86-64", "AArch64", ... or "machine 42".
std::string machine_name(std::uint16_t machine);

}  // namespace cleave::cli
