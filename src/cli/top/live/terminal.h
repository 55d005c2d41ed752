// The terminal of the live screen, by ncurses: on the alternate screen, with its settings changed. Both are restored however
// `cleave` ends, except by SIGKILL or a crash, and while it is stopped.
//
// Sources: ncurses(3), and of signals that stop a job termios(3), tcsetattr: "orphaned", and POSIX.1-2017, 11.1.4.
//
// For the only thread, once in a process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/top/live/keys.h"
#include "cli/top/live/layout.h"

namespace cleave::cli {

class Terminal {
 public:
  // From then on SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH arrive at `signals()` alone. Null if the
  // terminal is of no type on which a cursor can be placed, and `problem` says so in one line.
  static std::unique_ptr<Terminal> open(std::string& problem);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] ScreenSize size() const { return size_; }
  // Whether the locale's characters are those of Unicode, in UTF-8.
  [[nodiscard]] bool has_unicode() const { return has_unicode_; }

  void draw(const std::vector<StyledLine>& lines) const;
  // The next draw() draws everything, whatever is on the screen.
  void forget_content() const;

  // A descriptor that becomes readable when a signal arrives.
  [[nodiscard]] int signals() const { return signals_; }
  // Follows those that have arrived: a new size, or a request to stop, from which it returns when the process continues.
  // Returns whether one requests the end.
  bool follow_signals();

  // What has been typed. Ctrl-Z becomes the signal for the whole job.
  std::vector<Key> read_keys();

 private:
  Terminal() = default;
  void read_size();
  void choose_styles();
  void stop();

  void* screen_ = nullptr;
  int signals_ = -1;
  ScreenSize size_;
  bool has_unicode_ = false;
  std::vector<unsigned> attributes_;  // by style
};

}  // namespace cleave::cli
