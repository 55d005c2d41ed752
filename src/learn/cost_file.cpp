#include "learn/cost_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "learn/checked_lines.h"

namespace cleave::learn {
namespace {

constexpr std::string_view kFormat = "1";
constexpr double kLossUnit = 1e6;
constexpr std::uint64_t kMaxMillionths = 1'000'000'000;
constexpr std::uint64_t kMaxSlicesInFile = 1'000'000;
constexpr std::uint64_t kLongest = 86'400'000'000'000;  // a day

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
  const auto fields = fields_of(kFormat, whole);
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
  for_each_line_backwards(text, [&](std::string_view text_of_line) {
    const auto line = read(text_of_line);
    if (line && seen.insert(line->key).second) visit(*line, text_of_line);
  });
}

}  // namespace

std::string format_line(const CostLine& line) {
  std::string text = std::to_string(line.key);
  text.append(" ").append(std::to_string(line.duration.count()));
  for (const KnownLoss& known : line.losses) {
    if (known.slices == 0) break;
    text.append(" ").append(std::to_string(known.slices));
    text.append(" ").append(std::to_string(static_cast<std::uint64_t>(known.loss * kLossUnit)));
  }
  return checked_line(kFormat, text);
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
