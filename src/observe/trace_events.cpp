#include "observe/trace_events.h"

#include <unistd.h>

#include "base/text/json.h"
#include "observe/trace_lines.h"

namespace cleave::observe {
namespace {

base::JsonObject event(const char* phase) {
  base::JsonObject event;
  event.add("ph", phase).add("pid", getpid());
  return event;
}

base::JsonObject event(const char* phase, Track track, base::Nanoseconds time) {
  base::JsonObject made = event(phase);
  made.add("tid", track).add_json("ts", microseconds_of(time.count()));
  return made;
}

void add_what(base::JsonObject& event, const TraceEvents::What& what) {
  event.add("name", what.name).add("cat", what.category);
  if (!what.arguments.empty()) event.add_json("args", what.arguments);
}

void append(std::string& text, const base::JsonObject& event) { text.append(",\n").append(event.text()); }

std::string object_with(std::string_view key, std::string_view value) {
  return base::JsonObject().add(key, value).text();
}

}  // namespace

Track thread_track() noexcept { return gettid(); }

void TraceEvents::span(Track track, base::Nanoseconds begin, base::Nanoseconds end, const What& what) {
  base::JsonObject made = event("X", track, begin);
  made.add_json("dur", microseconds_of((end - begin).count()));
  add_what(made, what);
  append(text_, made);
}

void TraceEvents::begin(Track track, base::Nanoseconds time, const What& what) {
  base::JsonObject made = event("B", track, time);
  add_what(made, what);
  append(text_, made);
}

void TraceEvents::end(Track track, base::Nanoseconds time, std::string_view arguments) {
  base::JsonObject made = event("E", track, time);
  if (!arguments.empty()) made.add_json("args", arguments);
  append(text_, made);
}

void TraceEvents::instant(Track track, base::Nanoseconds time, const What& what) {
  base::JsonObject made = event("i", track, time);
  made.add("s", "t");
  add_what(made, what);
  append(text_, made);
}

void TraceEvents::counter(base::Nanoseconds time, std::string_view name, std::uint64_t value) {
  base::JsonObject made = event("C");
  made.add_json("ts", microseconds_of(time.count())).add("name", name);
  made.add_json("args", base::JsonObject().add(name, value).text());
  append(text_, made);
}

void TraceEvents::note(std::string_view name, std::string_view arguments) {
  append(text_, event("M").add("name", name).add_json("args", arguments));
}

void TraceEvents::name_process(std::string_view name, std::string_view labels) {
  append(text_, event("M").add("name", "process_name").add_json("args", object_with("name", name)));
  append(text_, event("M").add("name", "process_labels").add_json("args", object_with("labels", labels)));
}

void TraceEvents::name_track(Track track, std::string_view name) {
  append(text_,
         event("M").add("tid", track).add("name", "thread_name").add_json("args", object_with("name", name)));
}

}  // namespace cleave::observe
