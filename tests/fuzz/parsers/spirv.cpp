// The scan of SPIR-V modules.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "harness.h"
#include "kernels/facts/spirv_scan.h"

#include <spirv/unified1/spirv.hpp11>

namespace {

using cleave::fuzz::require;
using cleave::kernels::Scan;
using cleave::kernels::scan_spirv;
using spv::BuiltIn;
using spv::Op;
using Bytes = std::vector<std::byte>;
using Word = std::uint32_t;

constexpr std::size_t kHeaderWords = 5;

std::vector<Word> words_of(const Bytes& module) {
  std::vector<Word> words(module.size() / sizeof(Word));
  if (!words.empty()) std::memcpy(words.data(), module.data(), words.size() * sizeof(Word));
  return words;
}

Bytes bytes_of(const std::vector<Word>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

bool covers(const Scan& more, const Scan& less) {
  return more.reads_ndrange >= less.reads_ndrange && more.opaque >= less.opaque &&
         more.communicates >= less.communicates && more.may_wait >= less.may_wait &&
         more.reads_work_group >= less.reads_work_group;
}

// The simplest implementation of the rules, as a reference for the scan.
bool names_a_total_or_enqueues(const std::vector<Word>& words) {
  constexpr std::array kTotals = {BuiltIn::NumWorkgroups, BuiltIn::WorkgroupId,    BuiltIn::GlobalSize,
                                  BuiltIn::GlobalOffset,  BuiltIn::GlobalLinearId, BuiltIn::WorkDim};
  for (std::size_t at = kHeaderWords; at < words.size(); at += words[at] >> 16U) {
    const auto op = static_cast<Op>(words[at] & 0xFFFFU);
    const std::size_t decoration = at + (op == Op::OpMemberDecorate ? 3 : 2);
    const bool decorates = op == Op::OpDecorate || op == Op::OpMemberDecorate;
    if (decorates && words[decoration] == static_cast<Word>(spv::Decoration::BuiltIn) &&
        std::find(kTotals.begin(), kTotals.end(), static_cast<BuiltIn>(words[decoration + 1])) !=
            kTotals.end()) {
      return true;
    }
    if (op >= Op::OpEnqueueMarker && op <= Op::OpBuildNDRange) return true;
  }
  return false;
}

void check_what_is_readable(const Bytes& module, const Scan& found) {
  std::vector<Word> words = words_of(module);
  if (!found.reads_ndrange && !found.opaque) {
    require(!names_a_total_or_enqueues(words), "a harmless module neither names a total nor enqueues");
  }

  Bytes longer = module;
  longer.push_back(std::byte{0});
  require(!scan_spirv(longer), "a module does not end within a word");

  const std::size_t half = words.size() / 2 * sizeof(Word);
  const auto begun = scan_spirv(std::span(module).first(half));
  require(!begun || covers(found, *begun), "a whole module may do what its beginning may");

  std::vector<Word> swapped = words;
  for (Word& word : swapped) word = __builtin_bswap32(word);
  if (words.front() == spv::MagicNumber) {
    const auto in_the_other_order = scan_spirv(bytes_of(swapped));
    require(in_the_other_order && in_the_other_order->opaque, "a module in the other byte order is opaque");
  }

  words.insert(words.end(),
               {4U << 16U | static_cast<Word>(Op::OpDecorate), 1, static_cast<Word>(spv::Decoration::BuiltIn),
                static_cast<Word>(BuiltIn::WorkgroupId)});
  const auto seeing = scan_spirv(bytes_of(words));
  require(seeing && seeing->reads_ndrange && covers(*seeing, found), "a module that gets a group id sees");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const Bytes module(input.begin(), input.end());
  const std::optional<Scan> found = scan_spirv(input);

  Bytes shifted(1, std::byte{0});
  shifted.insert(shifted.end(), module.begin(), module.end());
  require(scan_spirv(std::span(shifted).subspan(1)) == found, "alignment does not matter");

  if (found) check_what_is_readable(module, *found);
  return 0;
}
