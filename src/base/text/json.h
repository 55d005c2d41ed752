// Writes JSON: strings in which undisplayable characters (display_text.h) are escaped, objects key by key, and lists.
//
// Thread-safe: each value belongs to its owner. Functions may throw std::bad_alloc.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace cleave::base {

// `text` as a JSON string with quotation marks. Bytes that are not UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

// The same JSON, with undisplayable characters in its strings escaped, too. Control characters of ASCII, which strings cannot
// hold, are kept.
std::string escaped(std::string_view json);

// One object; keys in the order of the calls.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return add_json(key, quoted(value)); }
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  template <std::integral Number>
  JsonObject& add(std::string_view key, Number value) {
    return add_json(key, std::to_string(value));
  }
  // `json` is JSON already.
  JsonObject& add_json(std::string_view key, std::string_view json);

  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

// A list of values that are JSON already.
class JsonList {
 public:
  void add_json(std::string_view json);

  [[nodiscard]] std::string text() const { return text_ + "]"; }

 private:
  std::string text_ = "[";
};

}  // namespace cleave::base
