#include "cli/top/terminal.h"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "base/file_descriptor.h"

namespace cleave::cli {
namespace {

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view leave_screen = "\x1b[?25h\x1b[?1049l";

// What cannot be written is left out: the terminal has gone.
void print(std::string_view text) { static_cast<void>(base::write_all(STDOUT_FILENO, text)); }

}  // namespace

bool Terminal::is_present() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&ours, signal);
  ::sigprocmask(SIG_BLOCK, &ours, nullptr);
  signals_ = ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  print(enter_screen);
}

Terminal::~Terminal() {
  print(leave_screen);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  if (signals_ >= 0) ::close(signals_);
}

Terminal::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::draw(const std::vector<std::string>& lines) const {
  const std::size_t height = size().height;
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size() && i < height; ++i) {
    text += (i == 0 ? "" : "\n") + lines[i] + "\x1b[K";
  }
  print(text + "\x1b[J");
}

bool Terminal::read_signal() const {
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof signal) != sizeof signal) return false;
  return signal.ssi_signo != SIGWINCH;
}

bool Terminal::quit_requested() {
  constexpr char control_c = 3;
  char typed[64];
  const ssize_t size = ::read(STDIN_FILENO, typed, sizeof typed);
  if (size <= 0) return size == 0 || errno != EINTR;
  const std::string_view keys(typed, static_cast<std::size_t>(size));
  return keys.find_first_of(std::string{'q', 'Q', control_c}) != std::string_view::npos;
}

}  // namespace cleave::cli
