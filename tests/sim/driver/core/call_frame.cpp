#include "tests/sim/driver/core/call_frame.h"

#include <utility>

namespace cleave::sim {

CallFrame::CallFrame(DriverState& current, Function function)
    : state(current), lock(current.mutex), function_(function) {
  state.called = function;
  state.record.count(function);
  if (state.record.wants_text()) call_ = state.record.enter(function, state.timeline.now());
  const std::string_view name = name_of(function);
  if (name.starts_with("clEnqueue")) {
    state.advance(lock, state.options.enqueue_cost);
  } else if (function == Function::clGetEventInfo) {
    state.advance(lock, state.options.poll_cost);
  }
}

CallFrame::~CallFrame() {
  if (call_) state.record.leave(*call_);
  state.changed();
  state.run_callbacks(lock);
}

void CallFrame::argument(const std::string& text) {
  call_->arguments += (call_->arguments.empty() ? "" : ", ") + text;
}

void CallFrame::note(std::string_view text) {
  if (call_) (call_->arguments += ' ') += text;
}

void CallFrame::returned(std::string text) {
  if (call_) call_->returned = std::move(text);
}

cl_int CallFrame::finish(cl_int code) {
  if (call_) call_->result = code;
  return code;
}

}  // namespace cleave::sim
