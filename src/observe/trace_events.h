// Formats events in the Chrome trace format, one JSON object per event. They are collected here and handed to a
// TraceWriter together. docs/trace.md defines the events.
//
// Source: "Trace Event Format", the JSON array format.
//
// Not thread-safe: belongs to one call. Times are those of base::Clock; in the file they are microseconds. `arguments`
// is a JSON object, or empty. Functions may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace cleave::observe {

// A row of the trace: a thread of the program by its id, or a row of our own, from kOwnTracks on, which is above any
// thread id.
using Track = std::int64_t;
inline constexpr Track kOwnTracks = Track{1} << 30;

// The track of the calling thread.
Track thread_track() noexcept;

class TraceEvents {
 public:
  struct What {
    std::string_view name;
    std::string_view category;
    std::string_view arguments;
  };

  // An interval.
  void span(Track track, base::Nanoseconds begin, base::Nanoseconds end, const What& what);

  // The same as two events, for intervals that may never end.
  void begin(Track track, base::Nanoseconds time, const What& what);
  void end(Track track, base::Nanoseconds time, std::string_view arguments);

  // A moment.
  void instant(Track track, base::Nanoseconds time, const What& what);

  // The value of a counter from that moment on.
  void counter(base::Nanoseconds time, std::string_view name, std::uint64_t value);

  // Something for programs that read the trace: shown by no viewer, and without a time.
  void note(std::string_view name, std::string_view arguments);

  void name_process(std::string_view name, std::string_view labels);
  void name_track(Track track, std::string_view name);

  // All events so far, each with a comma and a newline before it.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

}  // namespace cleave::observe
