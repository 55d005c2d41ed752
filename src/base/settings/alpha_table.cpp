#include "base/settings/alpha_table.h"

#include <algorithm>

#include "base/text/number.h"

namespace cleave::base {
namespace {

std::optional<AlphaTable::Row> parse_row(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto vms = parse_unsigned(text.substr(0, colon), 1, AlphaTable::kMaxVms);
  const auto alpha = parse_unsigned(text.substr(colon + 1), 1, AlphaTable::kMaxAlpha);
  if (!vms || !alpha) return std::nullopt;
  return AlphaTable::Row{static_cast<unsigned>(*vms), static_cast<unsigned>(*alpha)};
}

}  // namespace

std::optional<AlphaTable> AlphaTable::parse(std::string_view text) {
  if (const auto alpha = parse_unsigned(text, 1, kMaxAlpha)) return AlphaTable(static_cast<unsigned>(*alpha));
  AlphaTable table;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    const auto row = parse_row(text.substr(0, comma));
    const bool in_order = row && (table.count_ == 0 || row->vms > table.rows_[table.count_ - 1].vms);
    if (!in_order || table.count_ == kMaxRows) return std::nullopt;
    table.rows_[table.count_++] = *row;
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return table;
}

unsigned AlphaTable::of(unsigned vms) const {
  unsigned alpha = rows_.front().alpha;
  for (const Row& row : rows()) {
    if (row.vms <= vms) alpha = row.alpha;
  }
  return alpha;
}

}  // namespace cleave::base
