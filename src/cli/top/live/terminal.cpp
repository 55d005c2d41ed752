#include "cli/top/live/terminal.h"

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <langinfo.h>
#include <string_view>
#include <termios.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/signalfd.h>

// Its macros have names such as "move".
#define NCURSES_NOMACROS
#include <curses.h>

namespace cleave::cli {
namespace {

// Long enough for a key's remaining bytes on a slow line.
constexpr int kEscapeDelay = 100;  // ms

sigset_t our_signals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
    sigaddset(&ours, signal);
  return ours;
}

// ncurses leaves the signal alone then. Its own handling drops a pending one each time it draws. Where the signal is ignored, it
// stays so.
void keep_stop_signal_from_ncurses() {
  struct sigaction present {};
  if (::sigaction(SIGTSTP, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return;
  present.sa_handler = [](int) {};
  ::sigaction(SIGTSTP, &present, nullptr);
}

std::string terminal_type() {
  const char* const type = std::getenv("TERM");
  return type == nullptr ? "" : type;
}

bool can_place_cursor() { return tigetstr("cup") != nullptr; }

bool wants_colours() {
  const char* const no_colour = std::getenv("NO_COLOR");  // https://no-color.org
  return (no_colour == nullptr || *no_colour == '\0') && has_colors();
}

Key special_key(int code) {
  switch (code) {
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_LEFT:
      return Key::left;
    case KEY_RIGHT:
      return Key::right;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    case KEY_BACKSPACE:
      return Key::backspace;
    case KEY_ENTER:
      return Key::enter;
    case KEY_F(1):
      return Key::f1;
    case KEY_F(4):
      return Key::f4;
    case KEY_F(6):
      return Key::f6;
    case KEY_F(10):
      return Key::f10;
    default:
      return Key::unknown;
  }
}

Key key_of(int code) {
  constexpr int kControlC = 3;
  constexpr int kControlL = 12;
  constexpr int kControlBackslash = 28;
  if (code >= KEY_MIN) return special_key(code);
  if (code >= ' ' && code <= '~') return key(static_cast<char>(code));
  switch (code) {
    case kControlC:
    case kControlBackslash:
      return Key::control_c;
    case kControlL:
      return Key::control_l;
    case '\b':
    case '\x7f':
      return Key::backspace;
    case '\r':
    case '\n':
      return Key::enter;
    case '\x1b':
      return Key::escape;
    default:
      return Key::unknown;
  }
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open(std::string& problem) {
  // Of characters alone: numbers keep their points.
  std::setlocale(LC_CTYPE, "");
  keep_stop_signal_from_ncurses();
  // By the terminal's own size, not by LINES and COLUMNS, which do not follow it.
  use_env(FALSE);
  use_tioctl(TRUE);
  std::unique_ptr<Terminal> terminal(new Terminal);
  terminal->screen_ = newterm(nullptr, stdout, stdin);
  if (terminal->screen_ == nullptr || !can_place_cursor()) {
    const std::string type = terminal_type();
    problem =
        (type.empty() ? "TERM is not set" : "TERM=" + type + " is unknown, or cannot place its cursor") +
        ": set it to the terminal's type, or use --once or --json";
    return nullptr;
  }
  terminal->has_unicode_ = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  const sigset_t ours = our_signals();
  ::sigprocmask(SIG_BLOCK, &ours, nullptr);
  terminal->signals_ = ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  raw();
  noecho();
  nonl();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(kEscapeDelay);
  curs_set(0);
  terminal->choose_styles();
  terminal->read_size();
  return terminal;
}

Terminal::~Terminal() {
  if (screen_ != nullptr) {
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
  }
  if (signals_ >= 0) ::close(signals_);
}

void Terminal::choose_styles() {
  attributes_.assign(kStyles, A_NORMAL);
  const auto set = [this](Style style, attr_t without_colour, short foreground, short background) {
    const auto index = static_cast<std::size_t>(style);
    const auto pair = static_cast<short>(index + 1);
    if (!wants_colours() || init_pair(pair, foreground, background) == ERR) {
      attributes_[index] = without_colour;
    } else {
      attributes_[index] = static_cast<unsigned>(COLOR_PAIR(pair)) | (background < 0 ? without_colour : 0);
    }
  };
  constexpr short kOwn = -1;  // the terminal's own colour
  if (wants_colours()) {
    start_color();
    use_default_colors();
  }
  attributes_[static_cast<std::size_t>(Style::title)] = A_BOLD;
  set(Style::header, A_REVERSE, COLOR_BLACK, COLOR_GREEN);
  set(Style::sorted, A_REVERSE | A_BOLD, COLOR_BLACK, COLOR_CYAN);
  set(Style::holds, A_BOLD, COLOR_GREEN, kOwn);
  set(Style::waits, A_NORMAL, COLOR_YELLOW, kOwn);
  set(Style::history, A_NORMAL, COLOR_CYAN, kOwn);
  set(Style::bar, A_REVERSE, COLOR_BLACK, COLOR_CYAN);
}

void Terminal::read_size() {
  winsize size{};
  size_ = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0)
    size_ = {size.ws_col, size.ws_row};
  resizeterm(static_cast<int>(size_.height), static_cast<int>(size_.width));
}

void Terminal::draw(const std::vector<StyledLine>& lines) const {
  werase(stdscr);
  for (std::size_t y = 0; y < lines.size(); ++y) {
    wmove(stdscr, static_cast<int>(y), 0);
    for (const StyledText& each : lines[y]) {
      wattrset(stdscr, static_cast<int>(attributes_[static_cast<std::size_t>(each.style)]));
      // The last cell of the last line is drawn, and reported as an error.
      static_cast<void>(waddnstr(stdscr, each.text.data(), static_cast<int>(each.text.size())));
    }
  }
  wattrset(stdscr, A_NORMAL);
  wrefresh(stdscr);
}

void Terminal::forget_content() const { clearok(curscr, TRUE); }

// As the job's shell expects it: with its own screen and settings.
void Terminal::stop() {
  endwin();
  struct sigaction ours {};
  struct sigaction to_stop {};
  to_stop.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &to_stop, &ours);
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stopping, nullptr);  // stops here
  ::sigprocmask(SIG_BLOCK, &stopping, nullptr);
  ::sigaction(SIGTSTP, &ours, nullptr);
}

bool Terminal::follow_signals() {
  bool ends = false;
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
    switch (signal.ssi_signo) {
      case SIGTSTP:
        stop();
        [[fallthrough]];
      case SIGCONT:  // also after SIGSTOP, when a shell has had the terminal meanwhile
        if (!isendwin()) endwin();
        read_size();
        forget_content();
        break;
      case SIGWINCH:
        read_size();
        break;
      default:
        ends = true;
    }
  }
  return ends;
}

std::vector<Key> Terminal::read_keys() {
  constexpr int kControlZ = 26;
  std::vector<Key> keys;
  for (int code = wgetch(stdscr); code != ERR; code = wgetch(stdscr)) {
    if (code == kControlZ) {
      ::kill(0, SIGTSTP);  // this process reads it from `signals_`
    } else if (code != KEY_RESIZE) {
      keys.push_back(key_of(code));
    }
  }
  return keys;
}

}  // namespace cleave::cli
