#include "remote/server/session/request_trace.h"

#include <array>
#include <cstdio>

#include <sys/random.h>

#include "base/text/json.h"
#include "interpose/calls/table.h"
#include "observe/trace_origin.h"

namespace cleave::remote::server {

RequestTrace::RequestTrace(observe::TraceWriter& file) : file_(file) {
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    random = {static_cast<std::uint64_t>(clock_.now().count()), 0};
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(random[0]),
                static_cast<unsigned long long>(random[1]));
  session_ = text.data();
  observe::TraceEvents events;
  events.note(observe::kSessionNote,
              base::JsonObject().add("session", session_).add("role", "server").text());
  file_.add(events, observe::thread_track());
}

RequestTrace::Span::Span(RequestTrace* trace, std::uint64_t number, wire::Body body) noexcept
    : trace_(body == wire::Body::Ping ? nullptr : trace), number_(number), body_(body) {
  if (trace_ == nullptr) return;
  begin_ = trace_->clock_.now();
  interpose::set_traced_command(number_);
}

RequestTrace::Span::~Span() {
  if (trace_ == nullptr) return;
  interpose::set_traced_command(0);
  try {
    observe::TraceEvents events;
    events.span(observe::thread_track(), begin_, trace_->clock_.now(),
                {wire::EnumNameBody(body_), "request", base::JsonObject().add("command", number_).text()});
    trace_->file_.add(events, observe::thread_track());
  } catch (...) {  // out of memory
  }
}

}  // namespace cleave::remote::server
