// What a trace says, in the words of the Chrome trace format: one JSON object an event, gathered here and
// handed to a Trace (observe/trace_writer.h) at once. What each event means stands in docs/trace.md.
//
// Source: "Trace Event Format", the JSON array format.
//
// Not thread-safe: lives in one call. Times are those of base::Clock, durations included; in the file they
// are microseconds. `arguments` is a JSON object, or empty. Functions may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace cleave::observe {

// A line of the picture: a thread of the program by its id, or one of Cleave's own making, from kOwnTracks on
// (which is more than any thread's id).
using Track = std::int64_t;
inline constexpr Track kOwnTracks = Track{1} << 30;

// The calling thread's.
Track thread_track() noexcept;

class TraceEvents {
 public:
  struct What {
    std::string_view name;
    std::string_view category;
    std::string_view arguments;
  };

  // Something that took from `begin` to `end`.
  void span(Track track, base::Nanoseconds begin, base::Nanoseconds end, const What& what);

  // The same in two halves, for what may never end.
  void begin(Track track, base::Nanoseconds time, const What& what);
  void end(Track track, base::Nanoseconds time, std::string_view arguments);

  // Something that happened at that moment.
  void instant(Track track, base::Nanoseconds time, const What& what);

  // The value of a figure from that moment on.
  void counter(base::Nanoseconds time, std::string_view name, std::uint64_t value);

  void name_process(std::string_view name, std::string_view labels);
  void name_track(Track track, std::string_view name);

  // Everything so far; each event has a comma and a newline before it.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

}  // namespace cleave::observe
