#include "cli/system/elf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

#include "base/files/file_descriptor.h"

namespace cleave::cli {
namespace {

constexpr unsigned our_bits = sizeof(void*) * 8;
constexpr bool we_are_little_endian = std::endian::native == std::endian::little;

#if defined(__x86_64__)
constexpr std::uint16_t our_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t our_machine = EM_AARCH64;
#elif defined(__i386__)
constexpr std::uint16_t our_machine = EM_386;
#elif defined(__arm__)
constexpr std::uint16_t our_machine = EM_ARM;
#elif defined(__riscv)
constexpr std::uint16_t our_machine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr std::uint16_t our_machine = EM_PPC64;
#else
#error "add the ELF machine number of this processor"
#endif

class Damaged : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Image {
 public:
  explicit Image(const std::filesystem::path& file) : file_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}

  // Reads up to `size` bytes at `offset`, and returns how many there are.
  std::size_t read_some(std::uint64_t offset, void* bytes, std::size_t size) const {
    if (!file_.is_open() || offset > static_cast<std::uint64_t>(INT64_MAX)) return 0;
    const ssize_t got = ::pread(file_.get(), bytes, size, static_cast<off_t>(offset));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  template <typename Record>
  Record read(std::uint64_t offset, const char* what) const {
    Record record;
    if (read_some(offset, &record, sizeof record) != sizeof record) {
      throw Damaged(std::string("it ends before its ") + what);
    }
    return record;
  }

  // The text at `offset` up to its NUL.
  std::string text(std::uint64_t offset) const {
    char bytes[4096];
    const std::size_t size = read_some(offset, bytes, sizeof bytes);
    const std::size_t length = ::strnlen(bytes, size);
    if (length == size) throw Damaged("a name in it is not terminated");
    return {bytes, length};
  }

 private:
  base::FileDescriptor file_;
};

std::vector<ElfW(Phdr)> segments_of(const Image& image) {
  const auto header = image.read<ElfW(Ehdr)>(0, "header");
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(ElfW(Phdr)))
    throw Damaged("its program headers are malformed");
  std::vector<ElfW(Phdr)> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (header.e_phoff > UINT64_MAX - i * sizeof(ElfW(Phdr)))
      throw Damaged("its program headers lie outside of the file");
    segments.push_back(image.read<ElfW(Phdr)>(header.e_phoff + i * sizeof(ElfW(Phdr)), "program headers"));
  }
  return segments;
}

// The offset in the file of the byte at `address` in memory.
std::uint64_t file_offset(const std::vector<ElfW(Phdr)>& segments, std::uint64_t address) {
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t inside = address - segment.p_vaddr;
    if (inside < segment.p_filesz && inside <= UINT64_MAX - segment.p_offset)
      return segment.p_offset + inside;
  }
  throw Damaged("an address in it is outside of its segments");
}

std::vector<ElfW(Dyn)> dynamic_entries(const Image& image, const std::vector<ElfW(Phdr)>& segments) {
  std::vector<ElfW(Dyn)> entries;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(ElfW(Dyn))) {
      if (segment.p_offset > UINT64_MAX - at) throw Damaged("its dynamic section lies outside of the file");
      entries.push_back(image.read<ElfW(Dyn)>(segment.p_offset + at, "dynamic section"));
      if (entries.back().d_tag == DT_NULL) return entries;
    }
  }
  return entries;
}

void read_dynamic(const Image& image, const std::vector<ElfW(Phdr)>& segments, ElfFacts& facts) {
  const auto entries = dynamic_entries(image, segments);
  std::optional<std::uint64_t> names;
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_STRTAB) names = file_offset(segments, entry.d_un.d_ptr);
  }
  for (const auto& entry : entries) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    if (!names || entry.d_un.d_val > UINT64_MAX - *names)
      throw Damaged("it has library names but no string table");
    const std::string name = image.text(*names + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(name);
    if (entry.d_tag == DT_RPATH) facts.rpath = name;
    if (entry.d_tag == DT_RUNPATH) facts.runpath = name;
  }
}

// The properties common to all machines, and the others for our own.
ElfFacts facts_of(const Image& image, const unsigned char* identity) {
  ElfFacts facts;
  facts.bits = identity[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  facts.little_endian = identity[EI_DATA] == ELFDATA2LSB;
  const auto machine = image.read<std::uint16_t>(EI_NIDENT + sizeof(std::uint16_t), "header");
  const bool swapped = facts.little_endian != we_are_little_endian;
  facts.machine = swapped ? static_cast<std::uint16_t>(machine << 8 | machine >> 8) : machine;
  if (!facts.is_ours()) return facts;

  const auto segments = segments_of(image);
  for (const auto& segment : segments) facts.has_interpreter |= segment.p_type == PT_INTERP;
  read_dynamic(image, segments, facts);
  return facts;
}

}  // namespace

bool ElfFacts::is_ours() const {
  return bits == our_bits && little_endian == we_are_little_endian && machine == our_machine;
}

ElfReading read_elf(const std::filesystem::path& file) {
  const Image image(file);
  unsigned char identity[EI_NIDENT] = {};
  const std::size_t size = image.read_some(0, identity, sizeof identity);
  if (size < SELFMAG || std::memcmp(identity, ELFMAG, SELFMAG) != 0) return {};
  ElfReading reading;
  try {
    reading.facts = facts_of(image, identity);
  } catch (const Damaged& damage) {
    reading.damage = damage.what();
  }
  return reading;
}

std::string needed_first(const ElfFacts& facts) {
  const auto is_one = [](const std::string& name) {
    const std::string file = std::filesystem::path(name).filename();
    return file.starts_with("libasan.so") || file.starts_with("libclang_rt.asan") ||
           file.starts_with("libhwasan.so") || file.starts_with("libclang_rt.hwasan");
  };
  const auto found = std::find_if(facts.needed.begin(), facts.needed.end(), is_one);
  return found != facts.needed.end() ? *found : "";
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "x86";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "ARM";
    case EM_AARCH64:
      return "AArch64";
    case EM_PPC64:
      return "PowerPC";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace cleave::cli
