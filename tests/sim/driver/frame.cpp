#include "tests/sim/driver/frame.h"

#include <utility>

namespace cleave::sim {

Frame::Frame(Session& current, Function function)
    : session(current), lock(current.mutex), function_(function) {
  session.record.count(function);
  if (session.record.wants_text()) call_ = session.record.enter(function, session.timeline.now());
  const std::string_view name = name_of(function);
  if (name.starts_with("clEnqueue")) {
    session.advance(lock, session.options.enqueue_cost);
  } else if (function == Function::clGetEventInfo) {
    session.advance(lock, session.options.poll_cost);
  }
}

Frame::~Frame() {
  if (call_) session.record.leave(*call_);
  session.changed();
  session.run_due(lock);
}

void Frame::argument(const std::string& text) {
  call_->arguments += (call_->arguments.empty() ? "" : ", ") + text;
}

void Frame::note(std::string_view text) {
  if (call_) (call_->arguments += ' ') += text;
}

void Frame::returned(std::string text) {
  if (call_) call_->returned = std::move(text);
}

cl_int Frame::finish(cl_int code) {
  if (call_) call_->result = code;
  return code;
}

}  // namespace cleave::sim
