#include "cli/top/live/controls.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace cleave::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kShiftStep = 8;
constexpr std::size_t kMostShift = 4096;
constexpr std::size_t kMostTyped = 40;
constexpr std::array kIntervals = {milliseconds(100),    milliseconds(200),    milliseconds(500),
                                   milliseconds(1000),   milliseconds(2000),   milliseconds(5000),
                                   milliseconds(10'000), milliseconds(30'000), milliseconds(60'000)};

std::optional<milliseconds> interval_of(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || stop != end) return std::nullopt;
  const double most = std::chrono::duration<double>(Controls::kMostInterval).count();
  const double least = std::chrono::duration<double>(Controls::kLeastInterval).count();
  if (!(seconds >= least && seconds <= most)) return std::nullopt;
  return milliseconds(std::llround(seconds * 1000));
}

}  // namespace

void Controls::enter(Mode mode) {
  mode_ = mode;
  typed_.clear();
  first_ = 0;
}

std::vector<Column> Controls::sortable() const {
  std::vector<Column> columns;
  for (const Column each : columns_of(view_.by_tenant)) {
    if (*traits(each).name != '\0') columns.push_back(each);
  }
  return columns;
}

void Controls::sort_by(Column column) {
  view_.sorted_by = column;
  inverted_ = false;
  first_ = 0;
}

void Controls::sort_by_neighbour(bool right) {
  const std::vector<Column> columns = sortable();
  const auto at = std::find(columns.begin(), columns.end(), view_.sorted_by);
  if (at == columns.end()) return sort_by(columns.front());
  if (right ? at + 1 == columns.end() : at == columns.begin()) return;
  sort_by(right ? *(at + 1) : *(at - 1));
}

void Controls::choose_next_device(std::size_t devices) {
  const std::size_t next = view_.device ? *view_.device + 1 : 0;
  view_.device = next < devices ? std::optional(next) : std::nullopt;
  first_ = 0;
}

void Controls::change_interval(bool longer) {
  if (longer) {
    const auto next = std::upper_bound(kIntervals.begin(), kIntervals.end(), view_.interval);
    if (next != kIntervals.end()) view_.interval = *next;
    return;
  }
  const auto at = std::lower_bound(kIntervals.begin(), kIntervals.end(), view_.interval);
  if (at != kIntervals.begin()) view_.interval = *(at - 1);
}

bool Controls::scroll(Key key, const Extent& extent) {
  switch (key) {
    case Key::up:
      first_ -= std::min<std::size_t>(first_, 1);
      break;
    case Key::down:
      ++first_;
      break;
    case Key::page_up:
      first_ -= std::min(first_, extent.page);
      break;
    case Key::page_down:
      first_ += extent.page;
      break;
    case Key::home:
      first_ = 0;
      break;
    case Key::end:
      first_ = extent.rows;
      break;
    default:
      return false;
  }
  limit(extent);
  return true;
}

void Controls::limit(const Extent& extent) {
  first_ = std::min(first_, extent.rows - std::min(extent.rows, extent.page));
}

void Controls::press_letter(char letter, const Extent& extent) {
  switch (letter) {
    case 'q':
    case 'Q':
      quits_ = true;
      break;
    case 'h':
    case '?':
      enter(Mode::help);
      break;
    case 'P':
      sort_by(Column::share);
      break;
    case 'M':
      sort_by(Column::memory);
      break;
    case 'T':
      sort_by(Column::used);
      break;
    case 'N':
      sort_by(Column::pid);
      break;
    case '<':
    case '>':
      sort_by_neighbour(letter == '>');
      break;
    case 'I':
      inverted_ = !inverted_;
      break;
    case '/':
      enter(Mode::filter);
      break;
    case 't':
      view_.by_tenant = !view_.by_tenant;
      first_ = 0;
      break;
    case 'd':
      choose_next_device(extent.devices);
      break;
    case '+':
    case '-':
      change_interval(letter == '+');
      break;
    case 's':
      enter(Mode::interval);
      break;
    case 'p':
    case ' ':
      paused_ = !paused_;
      break;
    default:
      break;
  }
}

void Controls::press_in_table(Key key, const Extent& extent) {
  if (scroll(key, extent)) return;
  switch (key) {
    case Key::left:
      shift_ -= std::min(shift_, kShiftStep);
      break;
    case Key::right:
      shift_ = std::min(shift_ + kShiftStep, kMostShift);
      break;
    case Key::f1:
      enter(Mode::help);
      break;
    case Key::f4:
      enter(Mode::filter);
      break;
    case Key::f6: {
      enter(Mode::sort);
      const std::vector<Column> columns = sortable();
      const auto at = std::find(columns.begin(), columns.end(), view_.sorted_by);
      marked_ = at == columns.end() ? 0 : static_cast<std::size_t>(at - columns.begin());
      break;
    }
    case Key::f10:
      quits_ = true;
      break;
    default:
      press_letter(character_of(key), extent);
  }
}

// The table follows what is typed.
void Controls::press_in_filter(Key key) {
  if (key == Key::escape) filter_.clear();
  if (key == Key::escape || key == Key::enter) return enter(Mode::table);
  if (key == Key::backspace && !filter_.empty()) filter_.pop_back();
  if (character_of(key) != '\0' && filter_.size() < kMostTyped) filter_ += character_of(key);
  first_ = 0;
}

void Controls::press_in_sort(Key key) {
  const std::vector<Column> columns = sortable();
  if (key == Key::up && marked_ > 0) --marked_;
  if (key == Key::down && marked_ + 1 < columns.size()) ++marked_;
  if (key == Key::home) marked_ = 0;
  if (key == Key::end) marked_ = columns.size() - 1;
  if (key == Key::enter) sort_by(columns[marked_]);
  if (key == Key::enter || key == Key::escape || key == Key::f6 || character_of(key) == 'q')
    enter(Mode::table);
}

// What is no interval is not taken: the line stays until it is corrected, or given up.
void Controls::press_in_interval(Key key) {
  if (key == Key::escape) return enter(Mode::table);
  if (key == Key::enter) {
    const auto interval = interval_of(typed_);
    if (interval) view_.interval = *interval;
    if (interval || typed_.empty()) enter(Mode::table);
    return;
  }
  if (key == Key::backspace && !typed_.empty()) typed_.pop_back();
  const char character = character_of(key);
  if (((character >= '0' && character <= '9') || character == '.') && typed_.size() < kMostTyped)
    typed_ += character;
}

void Controls::press(Key key, const Extent& extent) {
  if (key == Key::control_c) {
    quits_ = true;
    return;
  }
  switch (mode_) {
    case Mode::table:
      return press_in_table(key, extent);
    case Mode::help:
      if (key != Key::control_l && key != Key::unknown && !scroll(key, extent)) enter(Mode::table);
      return;
    case Mode::filter:
      return press_in_filter(key);
    case Mode::sort:
      return press_in_sort(key);
    case Mode::interval:
      return press_in_interval(key);
  }
}

std::vector<TopRow> Controls::rows(const TopScene& scene) const {
  std::vector<TopRow> rows = view_.by_tenant ? scene.tenants : scene.processes;
  std::erase_if(rows, [this](const TopRow& row) {
    return (view_.device && row.device != view_.device) || !matches(row, filter_);
  });
  sort_rows(rows, view_.sorted_by, is_ascending());
  return rows;
}

}  // namespace cleave::cli
