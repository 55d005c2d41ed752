// One launch in the trace: the call, the decision, and its slices.

#include <algorithm>
#include <cassert>

#include "interpose/trace/tracer.h"
#include "plan/tag.h"

namespace cleave::interpose {
namespace {

// Events are written to the file in portions of this size, so that a million slices need little memory.
constexpr std::size_t kMuch = std::size_t{32} << 10;

std::string list(const size_t* values, cl_uint count) {
  std::string text = "[";
  for (cl_uint i = 0; i < count; ++i) text.append(i == 0 ? "" : ",").append(std::to_string(values[i]));
  return text + "]";
}

const char* name(plan::Mode mode) {
  if (mode == plan::Mode::pipelined) return "pipelined";
  return mode == plan::Mode::sequential ? "sequential" : "queued";
}

}  // namespace

LaunchTrace::LaunchTrace(Tracer& tracer, const Call& call) noexcept
    : tracer_(tracer),
      outer_(current_),
      call_(call),
      begin_(tracer.from_.clock.now()),
      vms_(tracer.from_.neighbours.vms()),
      number_(tracer.launches_.fetch_add(1, std::memory_order_relaxed) + 1),
      queue_(tracer.find_or_ask(call.queue)) {
  current_ = this;
}

LaunchTrace::~LaunchTrace() { current_ = outer_; }

void LaunchTrace::unsplit_reason(plan::UnsplitReason why) noexcept try {
  decision_.add("decision", "unsplit").add("why", plan::name(why));
} catch (...) {
}

void LaunchTrace::split(std::size_t slices, const plan::LaunchMethod& method) noexcept try {
  split_ = true;
  decision_.add("decision", "split").add("slices", slices).add("mode", name(method.mode));
  decision_.add("queues", method.queues);
  if (method.why) decision_.add("one_queue_because", plan::name(*method.why));
} catch (...) {
}

bool LaunchTrace::wants_events() const noexcept {
  return queue_ && queue_->profiling && tracer_.times_.has_room(call_.queue);
}

cl_int CL_API_CALL LaunchTrace::enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                        const size_t* offset, const size_t* global, const size_t* local,
                                        cl_uint waits, const cl_event* wait_list, cl_event* event) {
  LaunchTrace* const trace = current_;
  assert(trace != nullptr);  // table() is used only by the thread and during the call that it was handed to
  const Table& next = trace->tracer_.from_.next;
  cl_event own = nullptr;
  const bool wants = trace->wants_events();
  cl_event* const place = event == nullptr && wants ? &own : event;
  Slice slice;
  slice.queue = queue;
  slice.begin = trace->tracer_.from_.clock.now();
  const cl_int error =
      next.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, place);
  slice.end = trace->tracer_.from_.clock.now();
  if (error != CL_SUCCESS) return error;
  slice.dims = std::min({dims, trace->call_.dims, cl_uint{3}});
  for (cl_uint d = 0; d < slice.dims; ++d) {
    slice.offset[d] = offset != nullptr ? offset[d] : 0;
    slice.size[d] = global != nullptr ? global[d] : 0;
  }
  // A tag is not part of the program's launch.
  slice.offset[2] = plan::Tag::begin(slice.offset[2]);
  if (event != nullptr && wants && next.clRetainEvent(*event) == CL_SUCCESS) own = *event;
  trace->note(slice, launch::Event(next, own));
  return error;
}

// The first slice is held back: an unsplit launch has no slices in the trace.
void LaunchTrace::note(const Slice& slice, launch::Event event) noexcept try {
  const std::size_t index = noted_++;
  if (event.get() != nullptr) {
    held_.push_back({{.device = queue_->device,
                      .owner = call_.queue,
                      .queue = slice.queue,
                      .launch = number_,
                      .index = index,
                      .kernel = nullptr,
                      .call_begin = slice.begin,
                      .call_end = slice.end},
                     std::move(event)});
  }
  if (index == 0) {
    first_ = slice;
    return;
  }
  if (first_) add_slice(*first_, 0);
  first_.reset();
  add_slice(slice, index);
  if (events_.text().size() < kMuch) return;
  tracer_.write(events_);
  events_.clear();
} catch (...) {
}

void LaunchTrace::add_slice(const Slice& slice, std::size_t index) {
  const observe::Track track = observe::thread_track();
  if (paced_ && index != 0) {
    events_.span(track, last_end_, slice.begin,
                 {"wait for the slice before", "wait", R"({"how":"sleeping"})"});
  }
  last_end_ = slice.end;
  base::JsonObject arguments;
  arguments.add("launch", number_).add("slice", index);
  arguments.add("on", slice.queue == call_.queue ? "its queue" : "a helper queue");
  arguments.add_json("offset", list(slice.offset.data(), slice.dims));
  arguments.add_json("size", list(slice.size.data(), slice.dims));
  events_.span(track, slice.begin, slice.end, {"slice", "slice", arguments.text()});
}

void LaunchTrace::end(cl_int error, cl_event event) noexcept try {
  if (split_ && first_) add_slice(*first_, 0);
  const std::uint64_t number = (noted_ != 0 || error == CL_SUCCESS) && queue_
                                   ? tracer_.note_launch(call_.queue, begin_)
                                   : std::uint64_t{0};
  keep(error == CL_SUCCESS ? event : nullptr, number);
  const base::Nanoseconds now = tracer_.from_.clock.now();
  add_launch(now, error);
  tracer_.note_vms(now, events_);
  tracer_.write(events_);
} catch (...) {
}

// Keeps our references to the slices' events until these have ended, but not the one to the program's event.
void LaunchTrace::keep(cl_event programs, std::uint64_t number) {
  TracedEvent traced{
      .queue = call_.queue, .number = number, .profiled = false, .written = false, .slice = {}};
  const std::string* const kernel = held_.empty() ? nullptr : &kernel_name();
  for (Held& held : held_) {
    held.slice.kernel = kernel;
    if (held.event.get() == programs) {
      traced.profiled = true;
      traced.slice = held.slice;
      held.event = launch::Event();
    } else {
      tracer_.times_.keep(held.slice, std::move(held.event));
    }
  }
  held_.clear();
  if (programs != nullptr && number != 0) tracer_.events_.add(programs, traced);
}

const std::string& LaunchTrace::kernel_name() const {
  const auto record = tracer_.from_.records.kernels.find(call_.kernel);
  return (record ? *record->counters : tracer_.from_.unknown_kernel).name();
}

void LaunchTrace::add_launch(base::Nanoseconds now, cl_int error) {
  const std::string& kernel = kernel_name();
  decision_.add("policy", tracer_.policy_).add("vms", vms_).add("launch", number_);
  if (queue_) decision_.add("queue", queue_->number);
  if (call_.global != nullptr && call_.dims <= 3)
    decision_.add_json("global", list(call_.global, call_.dims));
  if (call_.local != nullptr && call_.dims <= 3) decision_.add_json("local", list(call_.local, call_.dims));
  decision_.add("call", call_.function);
  if (Tracer::command_ != 0) decision_.add("command", Tracer::command_);
  if (error != CL_SUCCESS) decision_.add("error", error);
  events_.span(observe::thread_track(), begin_, now, {kernel, "launch", decision_.text()});
}

}  // namespace cleave::interpose
