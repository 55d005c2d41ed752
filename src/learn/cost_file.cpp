#include "learn/cost_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "base/text/hash.h"

namespace cleave::learn {
namespace {

constexpr std::string_view kFormat = "1 ";
constexpr std::size_t kLongestLine = 256;
constexpr double kLossUnit = 1e6;
constexpr std::uint64_t kMaxMillionths = 1'000'000'000;
constexpr std::uint64_t kMaxSlicesInFile = 1'000'000;
constexpr std::uint64_t kLongest = 86'400'000'000'000;  // a day

// Removes one number up to `most`, and the space after it, from `fields`.
std::optional<std::uint64_t> take_number(std::string_view& fields, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = fields.data() + fields.size();
  const auto [stop, error] = std::from_chars(fields.data(), end, value);
  if (error != std::errc{} || value > most || (stop != end && *stop != ' ')) return std::nullopt;
  fields.remove_prefix(std::min(fields.size(), static_cast<std::size_t>(stop - fields.data()) + 1));
  return value;
}

// The numbers between the version and the hash of a line without its newline; empty if it is not a line of this version.
std::optional<std::string_view> fields_of(std::string_view line) {
  if (line.size() > kLongestLine) return std::nullopt;
  const auto space = line.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::string_view check = line.substr(space + 1);
  line = line.substr(0, space);
  if (take_number(check, UINT64_MAX) != base::hash_of(line) || !line.starts_with(kFormat))
    return std::nullopt;
  return line.substr(kFormat.size());
}

bool take_losses(std::string_view& text, CostModel::Losses& losses) {
  KnownLoss before{1, 0};
  for (std::size_t i = 0; !text.empty(); ++i) {
    const auto slices = take_number(text, kMaxSlicesInFile);
    const auto loss = slices ? take_number(text, kMaxMillionths) : std::nullopt;
    if (!loss || i == losses.size()) return false;
    losses[i] = {static_cast<std::size_t>(*slices), static_cast<double>(*loss) / kLossUnit};
    if (losses[i].slices <= before.slices || losses[i].loss < before.loss) return false;
    before = losses[i];
  }
  return true;
}

std::optional<CostLine> read(std::string_view whole) {
  const auto fields = fields_of(whole);
  if (!fields) return std::nullopt;
  std::string_view text = *fields;
  CostLine line;
  const auto key = take_number(text, UINT64_MAX);
  const auto duration = key ? take_number(text, kLongest) : std::nullopt;
  if (!duration || *key == 0 || *duration == 0 || !take_losses(text, line.losses)) return std::nullopt;
  line.key = *key;
  line.duration = base::Nanoseconds(static_cast<std::int64_t>(*duration));
  return line;
}

// Calls visit(line, its text) for the valid lines, the last first, once per key.
template <typename Visit>
void for_each_valid_line(std::string_view text, Visit visit) {
  std::unordered_set<std::uint64_t> seen;
  while (!text.empty()) {
    if (text.back() == '\n') text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n') + 1;  // 0 if there is none
    const std::string_view text_of_line = text.substr(begin);
    const auto line = read(text_of_line);
    if (line && seen.insert(line->key).second) visit(*line, text_of_line);
    text = text.substr(0, begin);
  }
}

}  // namespace

std::string format_line(const CostLine& line) {
  std::string text(kFormat);
  text.append(std::to_string(line.key)).append(" ").append(std::to_string(line.duration.count()));
  for (const KnownLoss& known : line.losses) {
    if (known.slices == 0) break;
    text.append(" ").append(std::to_string(known.slices));
    text.append(" ").append(std::to_string(static_cast<std::uint64_t>(known.loss * kLossUnit)));
  }
  return text + " " + std::to_string(base::hash_of(text)) + "\n";
}

std::vector<CostLine> parse_lines(std::string_view text) {
  std::vector<CostLine> lines;
  for_each_valid_line(text, [&](const CostLine& line, std::string_view) {
    if (lines.size() < kMaxLines) lines.push_back(line);
  });
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::string merge_lines(std::string_view old, const std::vector<CostLine>& news) {
  std::unordered_set<std::uint64_t> replaced;
  for (const CostLine& line : news) replaced.insert(line.key);
  std::vector<std::string_view> kept;
  const std::size_t room = kMaxLines - std::min(kMaxLines, news.size());
  for_each_valid_line(old, [&](const CostLine& line, std::string_view line_text) {
    if (kept.size() < room && replaced.count(line.key) == 0) kept.push_back(line_text);
  });
  std::string text;
  for (auto line = kept.rbegin(); line != kept.rend(); ++line) text.append(*line).append("\n");
  for (const CostLine& line : news) text += format_line(line);
  return text;
}

}  // namespace cleave::learn
