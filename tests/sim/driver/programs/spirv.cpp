#include "tests/sim/driver/programs/spirv.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace cleave::sim {
namespace {

// Source: SPIR-V specification 1.2, 2.3 "Physical Layout of a SPIR-V Module and Instruction" and 3.32.
constexpr std::uint32_t magic = 0x07230203;
constexpr std::size_t header_words = 5;
constexpr std::uint32_t op_entry_point = 15;
constexpr std::uint32_t op_function = 54;
constexpr std::uint32_t op_function_parameter = 55;

std::uint32_t word_at(std::string_view module, std::size_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, module.data() + index * sizeof word, sizeof word);
  return word;
}

// A string is padded with zeros to whole words.
std::string literal(std::string_view module, std::size_t first, std::size_t end) {
  const std::string_view bytes = module.substr(first * 4, (end - first) * 4);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace

bool is_spirv(std::string_view module) {
  return module.size() >= header_words * 4 && word_at(module, 0) == magic;
}

std::vector<KernelSignature> entry_points(std::string_view module) {
  std::vector<KernelSignature> kernels;
  std::map<std::uint32_t, std::size_t> kernel_of;  // function id to index
  KernelSignature* current = nullptr;
  const std::size_t words = module.size() / 4;
  for (std::size_t at = header_words; at < words;) {
    const std::uint32_t first = word_at(module, at);
    const std::size_t length = first >> 16;
    const std::uint32_t operation = first & 0xffff;
    if (length == 0 || at + length > words) break;
    if (operation == op_entry_point && length > 3) {
      kernel_of[word_at(module, at + 2)] = kernels.size();
      kernels.push_back({literal(module, at + 3, at + length), {}, std::nullopt, {}});
    } else if (operation == op_function && length > 2) {
      const auto found = kernel_of.find(word_at(module, at + 2));
      current = found == kernel_of.end() ? nullptr : &kernels[found->second];
    } else if (operation == op_function_parameter && current != nullptr) {
      Parameter parameter;
      parameter.kind = Parameter::Kind::unknown;
      current->parameters.push_back(std::move(parameter));
    }
    at += length;
  }
  return kernels;
}

}  // namespace cleave::sim
