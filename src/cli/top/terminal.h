// A terminal that is drawn on in place. It gets its own screen, and the one that was there comes back however
// `cleave` ends (but for SIGKILL).
#pragma once

#include <cstddef>
#include <string>
#include <termios.h>
#include <vector>

namespace cleave::cli {

class Terminal {
 public:
  // Whether standard input and output are one.
  static bool is_present();

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // In characters; 80 by 24 where it does not say.
  struct Size {
    std::size_t width = 80;
    std::size_t height = 24;
  };
  Size size() const;

  // Shows the lines that fit, in place of what was there.
  void draw(const std::vector<std::string>& lines) const;

  // Becomes readable with a signal that asks for the end (read_signal() is true) or says that the size has
  // changed.
  int signals() const { return signals_; }
  bool read_signal() const;

  // Whether what was typed asks for the end: q, Ctrl-C, or nobody there any more.
  static bool quit_requested();

 private:
  termios before_{};
  int signals_ = -1;
};

}  // namespace cleave::cli
