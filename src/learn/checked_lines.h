// What the text files of learnt costs have in common: lines of numbers that begin with the version of the format and end with a
// hash of everything before it. Lines that do not match exactly are ignored: other versions, truncated lines, foreign text.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::learn {

// `fields` as a line of that version, with its newline. `fields` are numbers separated by spaces.
std::string checked_line(std::string_view version, const std::string& fields);

// The fields of a line without its newline; empty if it is not a line of that version.
std::optional<std::string_view> fields_of(std::string_view version, std::string_view line);

// Removes one number up to `most`, and the space after it, from `fields`.
std::optional<std::uint64_t> take_number(std::string_view& fields, std::uint64_t most);

// Calls visit(line) for each line of `text` without its newline, the last line first.
template <typename Visit>
void for_each_line_backwards(std::string_view text, Visit visit) {
  while (!text.empty()) {
    if (text.back() == '\n') text.remove_suffix(1);
    const auto newline = text.rfind('\n');
    visit(newline == std::string_view::npos ? text : text.substr(newline + 1));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(0, newline + 1);
  }
}

}  // namespace cleave::learn
