#include "cli/top/live/layout.h"

#include <algorithm>
#include <array>

#include "base/text/format.h"
#include "cli/top/live/help.h"
#include "cli/top/live/history.h"

namespace cleave::cli {
namespace {

using base::formatted;

constexpr ScreenSize kLeastSize{20, 4};
constexpr std::size_t kMostNameWidth = 28;

bool is_too_small(ScreenSize size) {
  return size.width < kLeastSize.width || size.height < kLeastSize.height;
}

// How many lines each part has.
struct Parts {
  std::size_t devices = 0;
  bool has_status = false;
  bool has_bar = false;
  std::size_t body = 0;
};

bool has_table_header(Controls::Mode mode) {
  return mode != Controls::Mode::help && mode != Controls::Mode::sort;
}

std::vector<const TopDevice*> shown_devices(const TopScene& scene, const Controls& controls) {
  std::vector<const TopDevice*> shown;
  for (const TopDevice& each : scene.devices) {
    if (!controls.device() || *controls.device() == each.number) shown.push_back(&each);
  }
  return shown;
}

Parts parts_of(const TopScene& scene, const Controls& controls, ScreenSize size) {
  Parts parts;
  if (is_too_small(size)) return parts;
  const std::size_t room = size.height >= 6 ? std::max<std::size_t>((size.height - 4) / 2, 1) : 0;
  parts.devices = std::min(shown_devices(scene, controls).size(), room);
  parts.has_bar = size.height >= 5;
  parts.has_status = size.height >= 7;
  const std::size_t header = has_table_header(controls.mode()) ? 1 : 0;
  const std::size_t others =
      1 + parts.devices + header + (parts.has_bar ? 1 : 0) + (parts.has_status ? 1 : 0);
  parts.body = size.height - std::min(size.height, others);
  return parts;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// The first `width` characters of it.
void cut(std::string& text, std::size_t width) {
  std::size_t at = 0;
  while (at < text.size() && (width > 0 || !begins_character(text[at]))) {
    if (begins_character(text[at])) --width;
    ++at;
  }
  text.resize(at);
}

StyledLine fitted(StyledLine line, std::size_t width) {
  for (StyledText& each : line) {
    cut(each.text, width);
    width -= width_of(each.text);
  }
  return line;
}

// A line of one style to the right edge.
StyledLine filled(std::string text, Style style, std::size_t width) {
  cut(text, width);
  text.append(width - width_of(text), ' ');
  return {{std::move(text), style}};
}

StyledLine line_of(const TopDevice& device, std::size_t name_width, ScreenSize size, bool unicode) {
  std::string name = device.name;
  cut(name, name_width);
  StyledLine line = {
      {formatted("%2zu %-*s ", device.number, static_cast<int>(name_width), name.c_str()), Style::title}};
  if (!device.problem.empty()) {
    line.push_back({device.problem, Style::waits});
    return line;
  }
  line.push_back({device.share ? formatted("%5.1f%% ", *device.share * 100) : "     - ", Style::plain});
  const std::size_t history_width = std::clamp<std::size_t>(size.width / 4, 8, 40);
  line.push_back({sparkline(device.history, history_width, unicode), Style::history});
  const std::string held = device.holder.empty() ? "held by nobody" : "held by " + device.holder;
  const std::string time =
      device.holder.empty() ? "" : " for " + base::as_text(base::Nanoseconds(device.held_for));
  line.push_back({" " + held + time, device.holder.empty() ? Style::plain : Style::holds});
  line.push_back({formatted(device.waiting == 1 ? ", %u waits" : ", %u wait", device.waiting),
                  device.waiting == 0 ? Style::plain : Style::waits});
  if (device.memory) line.push_back({", " + memory_text(*device.memory) + " booked", Style::plain});
  return line;
}

void add_devices(std::vector<StyledLine>& lines, const TopScene& scene, const Controls& controls,
                 ScreenSize size, std::size_t room, bool unicode) {
  const auto shown = shown_devices(scene, controls);
  std::size_t name_width = 8;
  for (const TopDevice* each : shown) name_width = std::max(name_width, each->name.size());
  name_width = std::min({name_width, kMostNameWidth, size.width / 3});
  const std::size_t whole = shown.size() > room && room > 0 ? room - 1 : room;
  for (std::size_t i = 0; i < whole; ++i) lines.push_back(line_of(*shown[i], name_width, size, unicode));
  if (whole < room)
    lines.push_back({{formatted("   and %zu more devices: d shows each", shown.size() - whole)}});
}

std::string status_of(const TopScene& scene, const Controls& controls, const std::vector<TopRow>& rows) {
  const std::string what = controls.is_by_tenant() ? "tenant" : "process";
  std::string text =
      formatted("%zu %s%s by %s, %s, every %g s", rows.size(), what.c_str(),
                rows.size() == 1          ? ""
                : controls.is_by_tenant() ? "s"
                                          : "es",
                traits(controls.sorted_by()).title, controls.is_ascending() ? "rising" : "falling",
                std::chrono::duration<double>(controls.interval()).count());
  if (controls.device()) {
    text += ", device " + std::to_string(*controls.device());
    if (shown_devices(scene, controls).empty()) text += " (not in use)";
  }
  if (!controls.filter().empty()) text += ", filter: " + controls.filter();
  return text + (controls.is_paused() ? ", PAUSED" : "");
}

std::string aligned(std::string text, Column column, std::size_t width) {
  cut(text, width);
  const std::string blanks(width - width_of(text), ' ');
  return traits(column).is_number ? blanks + text : text + blanks;
}

struct PlacedColumn {
  Column column;
  std::size_t width;
};

std::vector<PlacedColumn> placed_columns(const Controls& controls, std::size_t width) {
  std::vector<PlacedColumn> placed;
  std::size_t used = 0;
  for (const Column each : fitting_columns(controls.is_by_tenant(), width, controls.sorted_by())) {
    placed.push_back({each, traits(each).width});
    used += traits(each).width + 1;
  }
  // The last one takes the remaining width. Text beyond a narrow screen is cut.
  if (used <= width) placed.back().width += width + 1 - used;
  return placed;
}

StyledLine table_header(const std::vector<PlacedColumn>& columns, Column sorted_by) {
  StyledLine line;
  for (const PlacedColumn& each : columns) {
    if (!line.empty()) line.push_back({" ", Style::header});
    line.push_back({aligned(traits(each.column).title, each.column, each.width),
                    each.column == sorted_by ? Style::sorted : Style::header});
  }
  return line;
}

StyledLine table_row(const TopRow& row, const std::vector<PlacedColumn>& columns, std::size_t shift,
                     bool unicode) {
  StyledLine line;
  for (const PlacedColumn& each : columns) {
    if (!line.empty()) line.push_back({" "});
    if (each.column == Column::history) {
      line.push_back({sparkline(row.history, each.width, unicode), Style::history});
      continue;
    }
    std::string text = cell(row, each.column);
    if (each.column == Column::command) text.erase(0, std::min(shift, text.size()));
    const bool is_state = each.column == Column::state;
    const Style style = is_state && row.state == 'H'   ? Style::holds
                        : is_state && row.state == 'W' ? Style::waits
                                                       : Style::plain;
    line.push_back({aligned(std::move(text), each.column, each.width), style});
  }
  return line;
}

void add_table(std::vector<StyledLine>& lines, const std::vector<TopRow>& rows, const Controls& controls,
               ScreenSize size, std::size_t body, bool unicode) {
  const std::vector<PlacedColumn> columns = placed_columns(controls, size.width);
  lines.push_back(table_header(columns, controls.sorted_by()));
  for (std::size_t i = controls.first_row(); i < rows.size() && i < controls.first_row() + body; ++i)
    lines.push_back(table_row(rows[i], columns, controls.shift(), unicode));
}

void add_help(std::vector<StyledLine>& lines, const Controls& controls, std::size_t body) {
  const std::vector<std::string> help = help_lines();
  for (std::size_t i = controls.first_row(); i < help.size() && i < controls.first_row() + body; ++i)
    lines.push_back({{help[i]}});
}

// A list of the columns, of which as many as fit are shown around the marked one.
void add_choice(std::vector<StyledLine>& lines, const Controls& controls, ScreenSize size, std::size_t body) {
  const std::vector<Column> columns = controls.sortable();
  const std::size_t first = controls.marked() + 1 > body ? controls.marked() + 1 - body : 0;
  for (std::size_t i = first; i < columns.size() && i < first + body; ++i) {
    const bool is_marked = i == controls.marked();
    const ColumnTraits& of = traits(columns[i]);
    const std::string text = formatted("%s %-9s %s", is_marked ? ">" : " ", of.title, of.meaning);
    lines.push_back(is_marked ? filled(text, Style::sorted, size.width) : StyledLine{{text}});
  }
}

StyledLine bar_of(const Controls& controls) {
  switch (controls.mode()) {
    case Controls::Mode::filter:
      return {{"Enter", Style::key},
              {"Keep ", Style::bar},
              {"Esc", Style::key},
              {"Drop ", Style::bar},
              {" Filter: " + controls.filter() + "_"}};
    case Controls::Mode::interval:
      return {{"Enter", Style::key},
              {"Set ", Style::bar},
              {"Esc", Style::key},
              {"Leave ", Style::bar},
              {" Seconds between two looks, 0.1 to 3600: " + controls.typed() + "_"}};
    case Controls::Mode::sort:
      return {{"Enter", Style::key},
              {"Sort ", Style::bar},
              {"Esc", Style::key},
              {"Leave ", Style::bar},
              {" Sort by"}};
    case Controls::Mode::help:
      return {{"Esc", Style::key}, {"Leave", Style::bar}};
    case Controls::Mode::table:
      break;
  }
  return {{"F1", Style::key},  {"Help ", Style::bar},
          {"F4", Style::key},  {"Filter ", Style::bar},
          {"F6", Style::key},  {"Sort ", Style::bar},
          {"t", Style::key},   {controls.is_by_tenant() ? "Processes " : "Tenants ", Style::bar},
          {"d", Style::key},   {"Device ", Style::bar},
          {"p", Style::key},   {controls.is_paused() ? "Go on " : "Pause ", Style::bar},
          {"F10", Style::key}, {"Quit", Style::bar}};
}

}  // namespace

Extent extent_of(const TopScene& scene, const Controls& controls, ScreenSize size) {
  Extent extent;
  const bool is_help = controls.mode() == Controls::Mode::help;
  extent.rows = is_help ? help_lines().size() : controls.rows(scene).size();
  extent.page = std::max<std::size_t>(parts_of(scene, controls, size).body, 1);
  extent.devices = scene.devices.empty() ? 0 : scene.devices.back().number + 1;
  return extent;
}

std::vector<StyledLine> layout(const TopScene& scene, const Controls& controls, ScreenSize size,
                               bool unicode) {
  std::vector<StyledLine> lines = {{{scene.heading, Style::title}}};
  if (is_too_small(size)) {
    lines.push_back({{"too small"}});
  } else {
    const Parts parts = parts_of(scene, controls, size);
    add_devices(lines, scene, controls, size, parts.devices, unicode);
    const std::vector<TopRow> rows = controls.rows(scene);
    if (parts.has_status) lines.push_back({{status_of(scene, controls, rows)}});
    if (controls.mode() == Controls::Mode::help) add_help(lines, controls, parts.body);
    if (controls.mode() == Controls::Mode::sort) add_choice(lines, controls, size, parts.body);
    if (has_table_header(controls.mode())) add_table(lines, rows, controls, size, parts.body, unicode);
    if (parts.has_bar) {
      lines.resize(std::max(lines.size(), size.height - 1));
      lines.push_back(bar_of(controls));
    }
  }
  lines.resize(std::min(lines.size(), size.height));
  for (StyledLine& each : lines) each = fitted(std::move(each), size.width);
  return lines;
}

}  // namespace cleave::cli
