// Reads events of trace files: one JSON object a line, as TraceEvents writes them. Files are not trusted: whatever is no JSON
// object is refused.
//
// Thread-safe: plain functions of their arguments. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::observe {

// A JSON object's members, as views into its text.
class JsonMembers {
 public:
  struct Member {
    std::string_view key;    // as written, without the quotation marks
    std::string_view value;  // JSON
  };

  // Empty: it is not one object, or nested too deeply.
  static std::optional<JsonMembers> of(std::string_view object);

  [[nodiscard]] const std::vector<Member>& all() const { return members_; }
  // JSON; empty: there is no such member.
  [[nodiscard]] std::string_view json(std::string_view key) const;
  // A string as written, escapes included, without the quotation marks; empty: there is none.
  [[nodiscard]] std::string_view string(std::string_view key) const;
  // A whole number.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;
  // A number of microseconds, in nanoseconds.
  [[nodiscard]] std::optional<std::int64_t> nanoseconds(std::string_view key) const;

 private:
  std::vector<Member> members_;
};

// JSON of a time in nanoseconds, as JsonMembers::nanoseconds() reads it: microseconds, exact, since a double would lose nanoseconds after
// some weeks of uptime.
std::string microseconds_of(std::int64_t ns);

}  // namespace cleave::observe
