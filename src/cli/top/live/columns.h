// The columns of the live screen's table: their names, which fit, their cells, and how they sort.
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/live/rows.h"

namespace cleave::cli {

enum class Column : std::uint8_t {
  pid,
  user,
  tenant,
  device,
  processes,
  priority,
  weight,
  cap,
  state,
  share,
  waiting,
  used,
  waited,
  launches,
  memory,
  history,
  command,
};

struct ColumnTraits {
  Column column;
  const char* name;   // of --sort; empty: it is not sorted by
  const char* title;  // on the screen
  std::size_t width;  // characters; of the last column at least
  bool is_number;     // aligned to the right, and the largest first
  unsigned weight;    // the lightest column is left out first where not all fit
  const char* meaning;
};

const ColumnTraits& traits(Column column);

// Of the view by processes, or by tenants, from left to right. The last one takes the width that is left.
std::span<const Column> columns_of(bool by_tenant);

// The column of that name. Empty if there is none.
std::optional<Column> column_named(std::string_view name);
// "pid, user, ... or command"
std::string column_names();

// Those of the view that fit into `width` characters. The first, the last and the one sorted by stay.
std::vector<Column> fitting_columns(bool by_tenant, std::size_t width, Column sorted_by);

// The content, neither aligned nor cut; of the history an empty text. "-": not known, or none.
std::string cell(const TopRow& row, Column column);

// Rows of which the value is not known come last in both orders, equal ones in the order of pids, tenants and devices.
void sort_rows(std::vector<TopRow>& rows, Column by, bool ascending);
// "512B", "1.5G": of 1024 each.
std::string memory_text(std::uint64_t bytes);

// Whether the smallest value is first unless the order is inverted.
bool ascends(Column column);

// Whether a text that people see of the row contains `filter`, in letters of either case.
bool matches(const TopRow& row, std::string_view filter);

}  // namespace cleave::cli
