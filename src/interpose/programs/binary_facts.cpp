#include "interpose/programs/binary_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/text/hash.h"

namespace cleave::interpose {
namespace {

using kernels::Scan;
using Scans = BinaryFacts::Scans;

constexpr std::string_view kFormat = "cleave binary 2";
constexpr std::string_view kProgram = "program ";
constexpr std::string_view kKernel = "kernel ";
constexpr std::string_view kCause = "cause ";
constexpr std::string_view kWholeProgram = "*";                 // in place of a kernel's name
constexpr std::size_t kRoomForCauses = std::size_t{32} << 10U;  // half of what an entry may hold
constexpr std::size_t kFlags = 18;
constexpr auto kLastReason = static_cast<unsigned>(NoPrelude::il);

// All members; does not compile where one is missing.
template <typename Given>  // Scan or const Scan
auto flags_of(Given& scan) {
  auto& [reads_ndrange, reads_global_id, breaks_prelude, opaque, assembly, communicates, reads_work_group,
         pastes_tokens, breaks_prelude_if_pasting, has_includes, ambiguous, keeps_state, loops,
         adds_to_global, fences_global, open_loops, shares_stores, may_wait] = scan;
  return std::array{&reads_ndrange,  &reads_global_id,  &breaks_prelude, &opaque,
                    &communicates,   &reads_work_group, &pastes_tokens,  &breaks_prelude_if_pasting,
                    &has_includes,   &ambiguous,        &keeps_state,    &loops,
                    &adds_to_global, &fences_global,    &open_loops,     &shares_stores,
                    &may_wait,       &assembly};
}

std::string digits_of(const Scan& scan) {
  std::string digits;
  for (const bool* flag : flags_of(scan)) digits.push_back(*flag ? '1' : '0');
  return digits;
}

std::optional<Scan> scan_from(std::string_view digits) {
  Scan scan;
  const auto flags = flags_of(scan);
  static_assert(std::tuple_size_v<decltype(flags)> == kFlags);
  if (digits.size() != kFlags || digits.find_first_not_of("01") != std::string_view::npos)
    return std::nullopt;
  for (std::size_t i = 0; i < kFlags; ++i) *flags[i] = digits[i] == '1';
  return scan;
}

// Whether a line can hold it, which is so for every name of the language.
bool is_plain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c != 127; });
}

// Removes the first line from `text`; empty if no line ends there.
std::optional<std::string_view> next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::uint64_t> number_after(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; });
}

// "cause FINDING WAY LINE KERNEL", then the construct and the file, each after a tab. Empty if a line cannot hold it.
std::string line_of(const std::string& kernel, const kernels::Cause& cause) {
  if (has_control_characters(cause.construct) || has_control_characters(cause.file)) return {};
  return std::string(kCause)
      .append(std::to_string(static_cast<unsigned>(cause.finding)))
      .append(" ")
      .append(std::to_string(static_cast<unsigned>(cause.way)))
      .append(" ")
      .append(std::to_string(cause.line))
      .append(" ")
      .append(kernel.empty() ? kWholeProgram : kernel)
      .append("\t")
      .append(cause.construct)
      .append("\t")
      .append(cause.file)
      .append("\n");
}

// Adds what a line after "cause" says. Returns whether it is such a line.
bool add_cause(std::string_view line, Scans& scans) {
  const auto finding = number_after(line, "");
  const auto way = number_after(line, " ");
  const auto number = number_after(line, " ");
  if (!finding || *finding > static_cast<unsigned>(kernels::kLastFinding) || !way ||
      *way > static_cast<unsigned>(kernels::kLastWay) || !number ||
      *number > std::numeric_limits<unsigned>::max() || !line.starts_with(' '))
    return false;
  line.remove_prefix(1);
  const std::size_t construct = line.find('\t');
  const std::size_t file = construct == std::string_view::npos ? construct : line.find('\t', construct + 1);
  if (file == std::string_view::npos || !is_plain(line.substr(0, construct))) return false;
  const kernels::Cause cause{.finding = static_cast<kernels::Cause::Finding>(*finding),
                             .way = static_cast<kernels::Cause::Way>(*way),
                             .construct = std::string(line.substr(construct + 1, file - construct - 1)),
                             .file = std::string(line.substr(file + 1)),
                             .line = static_cast<unsigned>(*number)};
  if (has_control_characters(cause.construct) || has_control_characters(cause.file)) return false;
  const std::string_view kernel = line.substr(0, construct);
  scans.causes[kernel == kWholeProgram ? std::string() : std::string(kernel)].add({cause});
  return true;
}

std::optional<Scans> scans_from(std::string_view text) {
  Scans scans;
  const auto first = next_line(text);
  if (!first || !first->starts_with(kProgram)) return std::nullopt;
  const auto whole = scan_from(first->substr(kProgram.size()));
  if (!whole) return std::nullopt;
  scans.whole = *whole;
  while (!text.empty()) {
    const auto line = next_line(text);
    if (line && line->starts_with(kCause)) {
      if (!add_cause(line->substr(kCause.size()), scans)) return std::nullopt;
      continue;
    }
    if (!line || !line->starts_with(kKernel) || line->size() <= kKernel.size() + kFlags + 1)
      return std::nullopt;
    const auto scan = scan_from(line->substr(kKernel.size(), kFlags));
    const std::string_view name = line->substr(kKernel.size() + kFlags + 1);
    if (!scan || (*line)[kKernel.size() + kFlags] != ' ' || !is_plain(name)) return std::nullopt;
    scans.kernels.emplace(name, *scan);
  }
  return scans;
}

Scan scan_of(const Scans& scans, const std::string& kernel) {
  const auto found = scans.kernels.find(kernel);
  return found != scans.kernels.end() ? found->second : scans.whole;
}

const kernels::Causes& causes_of(const Scans& scans, const std::string& kernel) {
  static const kernels::Causes none;
  const auto found = scans.causes.find(scans.kernels.contains(kernel) ? kernel : "");
  return found != scans.causes.end() ? found->second : none;
}

void merge_causes(const Scans& a, const Scans& b, const std::string& kernel, Scans& both) {
  kernels::Causes causes = causes_of(a, kernel);
  causes.add(causes_of(b, kernel).list());
  if (!causes.list().empty()) both.causes.emplace(kernel, std::move(causes));
}

Scans merge(const Scans& a, const Scans& b) {
  Scans both{kernels::merge(a.whole, b.whole), {}};
  merge_causes(a, b, "", both);
  for (const Scans* each : {&a, &b}) {
    for (const auto& [name, scan] : each->kernels) {
      if (both.kernels.emplace(name, kernels::merge(scan_of(a, name), scan_of(b, name))).second)
        merge_causes(a, b, name, both);
    }
  }
  return both;
}

std::uint64_t origin_of(const ProgramRecord& program) {
  if (!program.source) return program.origin;
  return program.options ? base::hash_of(*program.options, program.source_hash) : program.source_hash;
}

}  // namespace

bool operator==(const BinaryFacts& a, const BinaryFacts& b) {
  const bool same_scans = a.scans && b.scans ? *a.scans == *b.scans : !a.scans && !b.scans;
  return same_scans && a.tagged == b.tagged && a.may_have_prelude == b.may_have_prelude &&
         a.origin == b.origin && a.no_prelude == b.no_prelude;
}

BinaryFacts facts_of(const ProgramRecord& program, cl_device_id device,
                     const std::vector<std::string>& kernel_names) {
  BinaryFacts facts;
  facts.tagged = std::find(program.tagged.begin(), program.tagged.end(), device) != program.tagged.end();
  facts.may_have_prelude = program.may_have_prelude || facts.tagged;
  facts.origin = origin_of(program);
  if (!facts.tagged) facts.no_prelude = program.no_prelude;
  if (!program.scan) return facts;
  Scans scans{program.scan->whole(), {}};
  if (!program.scan->causes().empty()) scans.causes.emplace("", kernels::Causes(program.scan->causes()));
  for (const std::string& name : kernel_names) {
    if (!is_plain(name)) continue;
    kernels::Findings found = program.scan->findings_of(name);
    scans.kernels.emplace(name, found.scan);
    if (!found.causes.list().empty()) scans.causes.emplace(name, std::move(found.causes));
  }
  facts.scans = std::make_shared<const Scans>(std::move(scans));
  return facts;
}

BinaryFacts merge(const BinaryFacts& a, const BinaryFacts& b) {
  BinaryFacts both;
  if (a.scans && b.scans) both.scans = std::make_shared<const Scans>(merge(*a.scans, *b.scans));
  both.tagged = a.tagged && b.tagged;
  both.may_have_prelude = a.may_have_prelude || b.may_have_prelude;
  both.origin = b.origin != 0 ? b.origin : a.origin;
  both.no_prelude = b.tagged ? a.no_prelude : b.no_prelude;
  return both;
}

bool is_correct_in_slices(const BinaryFacts& facts) {
  if (!facts.scans) return false;
  const Scan& scan = facts.scans->whole;
  return !scan.opaque && !scan.assembly && (facts.tagged || (!scan.reads_ndrange && !scan.reads_global_id));
}

std::string to_text(const BinaryFacts& facts) {
  std::string text = std::string(kFormat).append("\ntagged ").append(facts.tagged ? "1" : "0");
  text.append(" prelude ").append(facts.may_have_prelude ? "1" : "0");
  text.append(" origin ").append(std::to_string(facts.origin));
  text.append(" why ").append(std::to_string(static_cast<unsigned>(facts.no_prelude))).append("\n");
  if (!facts.scans) return text;
  text.append(kProgram).append(digits_of(facts.scans->whole)).append("\n");
  for (const auto& [name, scan] : facts.scans->kernels)
    text.append(kKernel).append(digits_of(scan)).append(" ").append(name).append("\n");
  for (const auto& [kernel, causes] : facts.scans->causes) {
    for (const kernels::Cause& cause : causes.list()) {
      const std::string line = line_of(kernel, cause);
      if (text.size() + line.size() <= kRoomForCauses) text.append(line);
    }
  }
  return text;
}

std::optional<BinaryFacts> from_text(std::string_view text) {
  if (next_line(text) != kFormat) return std::nullopt;
  auto line = next_line(text);
  if (!line) return std::nullopt;
  const auto tagged = number_after(*line, "tagged ");
  const auto may_have_prelude = number_after(*line, " prelude ");
  const auto origin = number_after(*line, " origin ");
  const auto why = number_after(*line, " why ");
  if (!tagged || !may_have_prelude || !origin || !why || !line->empty()) return std::nullopt;
  if (*tagged > 1 || *may_have_prelude > 1 || *why > kLastReason) return std::nullopt;
  BinaryFacts facts{nullptr, *tagged != 0, *may_have_prelude != 0, *origin, static_cast<NoPrelude>(*why)};
  if (text.empty()) return facts;
  auto scans = scans_from(text);
  if (!scans) return std::nullopt;
  facts.scans = std::make_shared<const Scans>(std::move(*scans));
  return facts;
}

}  // namespace cleave::interpose
