#include "cli/top/live/columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <tuple>

#include "base/text/format.h"

namespace cleave::cli {
namespace {

constexpr std::array kTraits = {
    ColumnTraits{Column::pid, "pid", "PID", 7, false, 99, "process id, as the process sees itself"},
    ColumnTraits{Column::user, "user", "USER", 8, false, 50, "whose it is"},
    ColumnTraits{Column::tenant, "tenant", "TENANT", 10, false, 90, "its tenant (CLEAVE_TENANT)"},
    ColumnTraits{Column::device, "device", "DV", 2, false, 80, "number of the device, as above"},
    ColumnTraits{Column::processes, "processes", "PROCS", 5, true, 60, "the tenant's processes that live"},
    ColumnTraits{Column::priority, "class", "CLASS", 5, false, 40, "high, normal, background, idle"},
    ColumnTraits{Column::weight, "weight", "WGT", 4, true, 42, "weight (CLEAVE_WEIGHT)"},
    ColumnTraits{Column::cap, "cap", "CAP", 6, true, 41, "cap (CLEAVE_CAP); +: it may borrow"},
    ColumnTraits{Column::state, "state", "S", 1, false, 55, "H: holds the device, W: waits, R: rests"},
    ColumnTraits{Column::share, "share", "DEV%", 5, true, 95,
                 "share of the device's time since the last look"},
    ColumnTraits{Column::waiting, "waiting", "WAIT%", 5, true, 70, "share of the time that it waited for it"},
    ColumnTraits{Column::used, "time", "TIME+", 9, true, 65, "device time, in total"},
    ColumnTraits{Column::waited, "waited", "WAITED", 9, true, 35, "time waited for the device, in total"},
    ColumnTraits{Column::launches, "launches", "LAUNCHES", 8, true, 30, "kernel launches, on all devices"},
    ColumnTraits{Column::memory, "memory", "MEM", 6, true, 75, "device memory that is booked for it"},
    ColumnTraits{Column::history, "", "HISTORY", 8, false, 20, "DEV% at the last looks"},
    ColumnTraits{Column::command, "command", "COMMAND", 12, false, 98, "its command line, or its name"},
};

constexpr std::array kOfProcesses = {Column::pid,      Column::user,    Column::tenant,  Column::device,
                                     Column::priority, Column::weight,  Column::cap,     Column::state,
                                     Column::share,    Column::waiting, Column::used,    Column::waited,
                                     Column::launches, Column::memory,  Column::history, Column::command};
constexpr std::array kOfTenants = {Column::tenant, Column::device, Column::processes, Column::weight,
                                   Column::cap,    Column::share,  Column::waiting,   Column::used,
                                   Column::waited, Column::memory, Column::history};

using base::formatted;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string percent(const std::optional<double>& share) {
  return share ? formatted("%.1f", *share * 100) : "-";
}

// 0:01.50, 12:34.56, 123:45:59: hours only where there are some.
std::string total_time(const std::optional<std::uint64_t>& ns) {
  if (!ns) return "-";
  const std::uint64_t hundredths = *ns / 10'000'000;
  const auto seconds = static_cast<unsigned>(hundredths / 100 % 60);
  const std::uint64_t minutes = hundredths / 6000;
  if (minutes < 60) {
    return formatted("%u:%02u.%02u", static_cast<unsigned>(minutes), seconds,
                     static_cast<unsigned>(hundredths % 100));
  }
  return formatted("%llu:%02u:%02u", static_cast<unsigned long long>(minutes / 60),
                   static_cast<unsigned>(minutes % 60), seconds);
}

std::string count(const std::optional<std::uint64_t>& number) {
  if (!number) return "-";
  if (*number < 100'000'000) return std::to_string(*number);
  return formatted("%.1fG", static_cast<double>(*number) / 1e9);
}

std::string cap_text(const TopRow& row) {
  if (row.cap.value_or(0) == 0) return "-";
  return formatted(*row.cap % 10 == 0 ? "%.0f%%%s" : "%.1f%%%s", *row.cap / 10.0, row.borrows ? "+" : "");
}

template <typename Value>
std::partial_ordering order(const Value& a, const Value& b) {
  return a <=> b;
}

// Of two values that are both known; else equivalent. `known`: which are.
struct Compared {
  std::partial_ordering order = std::partial_ordering::equivalent;
  bool first_known = true;
  bool second_known = true;
};

template <typename Value>
Compared of_optional(const std::optional<Value>& a, const std::optional<Value>& b) {
  const auto between = a && b ? order(*a, *b) : std::partial_ordering::equivalent;
  return {between, a.has_value(), b.has_value()};
}

Compared of_text(const std::string& a, const std::string& b) {
  return {a.empty() || b.empty() ? std::partial_ordering::equivalent : order(a, b), !a.empty(), !b.empty()};
}

int rank(const std::string& priority) { return priority == "high" ? 0 : priority == "normal" ? 1 : 2; }

Compared compare(const TopRow& a, const TopRow& b, Column by) {
  switch (by) {
    case Column::pid:
      return of_optional(a.pid, b.pid);
    case Column::user:
      return of_text(a.user, b.user);
    case Column::tenant:
      return of_text(a.tenant, b.tenant);
    case Column::device:
      return of_optional(a.device, b.device);
    case Column::processes:
      return {order(a.processes, b.processes)};
    case Column::priority:
      return {order(rank(a.priority), rank(b.priority)), !a.priority.empty(), !b.priority.empty()};
    case Column::weight:
      return of_optional(a.weight, b.weight);
    case Column::cap:
      return {order(a.cap.value_or(0), b.cap.value_or(0)), a.cap.value_or(0) != 0, b.cap.value_or(0) != 0};
    case Column::state:
      return {order(a.state, b.state), a.state != '-', b.state != '-'};
    case Column::share:
    case Column::history:
      return of_optional(a.share, b.share);
    case Column::waiting:
      return of_optional(a.waiting, b.waiting);
    case Column::used:
      return of_optional(a.used, b.used);
    case Column::waited:
      return of_optional(a.waited, b.waited);
    case Column::launches:
      return of_optional(a.launches, b.launches);
    case Column::memory:
      return of_optional(a.memory, b.memory);
    case Column::command:
      break;
  }
  return of_text(a.command, b.command);
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace

const ColumnTraits& traits(Column column) { return kTraits[static_cast<std::size_t>(column)]; }

std::span<const Column> columns_of(bool by_tenant) {
  return by_tenant ? std::span<const Column>(kOfTenants) : std::span<const Column>(kOfProcesses);
}

std::optional<Column> column_named(std::string_view name) {
  for (const ColumnTraits& each : kTraits) {
    if (!name.empty() && name == each.name) return each.column;
  }
  return std::nullopt;
}

std::string column_names() {
  std::string names;
  for (const ColumnTraits& each : kTraits) {
    if (*each.name == '\0') continue;
    const bool is_last = each.column == Column::command;
    names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(each.name);
  }
  return names;
}

std::vector<Column> fitting_columns(bool by_tenant, std::size_t width, Column sorted_by) {
  const auto all = columns_of(by_tenant);
  std::vector<Column> columns(all.begin(), all.end());
  const auto needed = [&columns] {
    std::size_t sum = columns.size() - 1;
    for (const Column each : columns) sum += traits(each).width;
    return sum;
  };
  while (needed() > width && columns.size() > 2) {
    const auto weight = [&](Column each) { return each == sorted_by ? 97U : traits(each).weight; };
    // Neither the first nor the last.
    const auto lightest = std::min_element(columns.begin() + 1, columns.end() - 1,
                                           [&](Column a, Column b) { return weight(a) < weight(b); });
    if (*lightest == sorted_by) break;
    columns.erase(lightest);
  }
  return columns;
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "K", "M", "G", "T", "P"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return formatted(unit == 0 || value >= 100 ? "%.0f%s" : "%.1f%s", value, kUnits[unit]);
}

std::string cell(const TopRow& row, Column column) {
  switch (column) {
    case Column::pid:
      return row.pid ? std::to_string(*row.pid) : "-";
    case Column::user:
      return or_dash(row.user);
    case Column::tenant:
      return or_dash(row.tenant);
    case Column::device:
      return row.device ? std::to_string(*row.device) : "-";
    case Column::processes:
      return std::to_string(row.processes);
    case Column::priority:
      return row.priority.empty() ? "-" : row.priority.substr(0, 4);
    case Column::weight:
      return row.weight ? std::to_string(*row.weight) : "-";
    case Column::cap:
      return cap_text(row);
    case Column::state:
      return {row.state};
    case Column::share:
      return percent(row.share);
    case Column::waiting:
      return percent(row.waiting);
    case Column::used:
      return total_time(row.used);
    case Column::waited:
      return total_time(row.waited);
    case Column::launches:
      return count(row.launches);
    case Column::memory:
      return row.memory ? memory_text(*row.memory) : "-";
    case Column::history:
      return {};
    case Column::command:
      break;
  }
  return or_dash(row.command);
}

bool ascends(Column column) { return !traits(column).is_number && column != Column::history; }

void sort_rows(std::vector<TopRow>& rows, Column by, bool ascending) {
  std::stable_sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) {
    const Compared is = compare(a, b, by);
    if (is.first_known != is.second_known) return is.first_known;
    if (is.order != std::partial_ordering::equivalent)
      return ascending ? is.order == std::partial_ordering::less : is.order == std::partial_ordering::greater;
    return std::tie(a.pid, a.tenant, a.device, a.key) < std::tie(b.pid, b.tenant, b.device, b.key);
  });
}

bool matches(const TopRow& row, std::string_view filter) {
  if (row.pid && contains(std::to_string(*row.pid), filter)) return true;
  return contains(row.user, filter) || contains(row.tenant, filter) || contains(row.command, filter);
}

}  // namespace cleave::cli
