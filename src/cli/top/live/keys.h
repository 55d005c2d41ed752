// The live screen's representation of keys: a printable ASCII character is itself.
#pragma once

namespace cleave::cli {

enum class Key : int {
  tab = 9,
  enter = 10,
  escape = 27,
  space = 32,
  up = 256,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  backspace,
  f1,
  f4,
  f6,
  f10,
  control_c,
  control_l,
  unknown,
};

constexpr Key key(char character) { return static_cast<Key>(static_cast<unsigned char>(character)); }
// The character, or NUL if it is another key.
constexpr char character_of(Key key) {
  const int code = static_cast<int>(key);
  return code >= ' ' && code <= '~' ? static_cast<char>(code) : '\0';
}

}  // namespace cleave::cli
