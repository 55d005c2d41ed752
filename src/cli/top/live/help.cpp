#include "cli/top/live/help.h"

#include <array>

#include "base/text/format.h"
#include "cli/top/live/columns.h"

namespace cleave::cli {
namespace {

struct KeyHelp {
  const char* keys;
  const char* meaning;
};

constexpr std::array kKeys = {
    KeyHelp{"t", "tenants, or processes"},
    KeyHelp{"d", "next device, then all of them"},
    KeyHelp{"P M T N", "sort by DEV%, memory, device time, pid"},
    KeyHelp{"< >", "sort by the column to the left, to the right"},
    KeyHelp{"F6", "choose a column to sort by"},
    KeyHelp{"I", "invert the order"},
    KeyHelp{"F4 /", "show rows with a text alone: Enter keeps it, Esc drops it"},
    KeyHelp{"+ -", "look less often, more often"},
    KeyHelp{"s", "type the seconds between two looks"},
    KeyHelp{"p Space", "pause, and go on"},
    KeyHelp{"Up Down PgUp PgDn Home End", "scroll"},
    KeyHelp{"Left Right", "move the commands"},
    KeyHelp{"Ctrl-L", "draw the screen anew"},
    KeyHelp{"F1 h ?", "this help"},
    KeyHelp{"q F10 Ctrl-C", "quit"},
};

constexpr std::array kColumns = {
    Column::pid,    Column::user,     Column::tenant, Column::device,  Column::processes, Column::priority,
    Column::weight, Column::cap,      Column::state,  Column::share,   Column::waiting,   Column::used,
    Column::waited, Column::launches, Column::memory, Column::history, Column::command};

}  // namespace

std::vector<std::string> help_lines() {
  std::vector<std::string> lines = {"Keys (any other key leaves this help):"};
  for (const KeyHelp& each : kKeys) lines.push_back(base::formatted("  %-27s %s", each.keys, each.meaning));
  lines.insert(lines.end(), {"", "Columns, of a process or tenant on a device; -: not known, or none:"});
  for (const Column each : kColumns)
    lines.push_back(base::formatted("  %-27s %s", traits(each).title, traits(each).meaning));
  lines.insert(lines.end(), {"", "Device time is counted in turns: of a process that is alone on a device,",
                             "without a cap, there are none, nor while nobody has declared an intent."});
  return lines;
}

}  // namespace cleave::cli
