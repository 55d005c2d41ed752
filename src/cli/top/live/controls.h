// What the user has chosen on the live screen, and what each key changes of it.
//
// Nothing here touches the terminal. For one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/live/columns.h"
#include "cli/top/live/keys.h"
#include "cli/top/live/rows.h"

namespace cleave::cli {

// What the command line has chosen.
struct ViewOptions {
  Column sorted_by = Column::share;
  bool by_tenant = false;
  std::optional<std::size_t> device{};  // its number; none: all
  std::chrono::milliseconds interval{1000};
};

// How much there is to move in.
struct Extent {
  std::size_t rows = 0;     // of the table, or lines of the help
  std::size_t page = 1;     // how many of them are on the screen
  std::size_t devices = 0;  // numbered from 0
};

class Controls {
 public:
  enum class Mode : std::uint8_t { table, help, filter, sort, interval };
  static constexpr std::chrono::milliseconds kLeastInterval{100};
  static constexpr std::chrono::milliseconds kMostInterval{3'600'000};

  explicit Controls(const ViewOptions& options) : view_(options) {}

  void press(Key key, const Extent& extent);
  // After a change of what there is: nothing beyond the end is shown.
  void limit(const Extent& extent);

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] bool has_quit() const { return quits_; }
  [[nodiscard]] bool is_paused() const { return paused_; }
  [[nodiscard]] std::chrono::milliseconds interval() const { return view_.interval; }
  [[nodiscard]] bool is_by_tenant() const { return view_.by_tenant; }
  [[nodiscard]] std::optional<std::size_t> device() const { return view_.device; }
  [[nodiscard]] Column sorted_by() const { return view_.sorted_by; }
  // Whether the smallest value comes first.
  [[nodiscard]] bool is_ascending() const { return ascends(view_.sorted_by) != inverted_; }
  [[nodiscard]] const std::string& filter() const { return filter_; }
  // What is being typed: an interval.
  [[nodiscard]] const std::string& typed() const { return typed_; }
  [[nodiscard]] std::size_t first_row() const { return first_; }
  // How many characters of the commands are left out.
  [[nodiscard]] std::size_t shift() const { return shift_; }
  // Of the columns that can be sorted by, which is marked.
  [[nodiscard]] std::size_t marked() const { return marked_; }
  [[nodiscard]] std::vector<Column> sortable() const;

  // Of the view, on the chosen device, with the filter, in order.
  [[nodiscard]] std::vector<TopRow> rows(const TopScene& scene) const;

 private:
  void press_in_table(Key key, const Extent& extent);
  void press_letter(char letter, const Extent& extent);
  void press_in_filter(Key key);
  void press_in_sort(Key key);
  void press_in_interval(Key key);
  bool scroll(Key key, const Extent& extent);
  void sort_by(Column column);
  void sort_by_neighbour(bool right);
  void choose_next_device(std::size_t devices);
  void change_interval(bool longer);
  void enter(Mode mode);

  ViewOptions view_;
  Mode mode_ = Mode::table;
  bool inverted_ = false;
  bool paused_ = false;
  bool quits_ = false;
  std::string filter_;
  std::string typed_;
  std::size_t first_ = 0;
  std::size_t shift_ = 0;
  std::size_t marked_ = 0;
};

}  // namespace cleave::cli
