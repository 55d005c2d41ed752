// A terminal for a live view, on the alternate screen. The original screen is restored however `cleave` ends (except by
// SIGKILL).
#pragma once

#include <cstddef>
#include <string>
#include <termios.h>
#include <vector>

namespace cleave::cli {

class Terminal {
 public:
  // Whether standard input and output are a terminal.
  static bool is_present();

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // In characters; 80 by 24 if unknown.
  struct Size {
    std::size_t width = 80;
    std::size_t height = 24;
  };
  Size size() const;

  // Replaces the content by those of the lines that fit.
  void draw(const std::vector<std::string>& lines) const;

  // A descriptor that becomes readable when a signal arrives: one that requests the end, for which read_signal() returns true,
  // or a change of the size.
  int signals() const { return signals_; }
  bool read_signal() const;

  // Reads the typed keys. Returns whether to quit: on q, Ctrl-C, or when the terminal has gone.
  static bool quit_requested();

 private:
  termios before_{};
  int signals_ = -1;
};

}  // namespace cleave::cli
