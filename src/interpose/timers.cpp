#include "interpose/timers.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// A wait that is shorter than this, and than this share of the launch, may have come after its end.
constexpr base::Nanoseconds kLeastWait = 30us;
constexpr int kLeastShare = 10;

// Whether a wait of `waited` at the end of `time` has seen the end of what was waited for.
bool has_seen_the_end(base::Nanoseconds waited, base::Nanoseconds time) {
  return waited * 2 >= time || (waited >= kLeastWait && waited * kLeastShare >= time);
}

}  // namespace

Timers::Start Timers::begin(cl_command_queue queue, base::Clock& clock) {
  Start start;
  queues_.update(queue, [&](Record& record) {
    start = {++record.turn, record.idle, {}};
    record.idle = false;
    record.alone = false;
  });
  if (start.idle) start.time = clock.now();
  return start;
}

void Timers::launched(cl_command_queue queue, const Start& start, const Ticket& ticket, cl_event event,
                      base::Clock& clock) {
  if (!start.idle) return;
  const base::Nanoseconds now = clock.now();
  queues_.update(queue, [&](Record& record) {
    if (record.turn != start.turn) return;
    record.alone = true;
    record.ticket = ticket;
    record.start = start.time;
    record.enqueued = now;
    record.event = event;
  });
}

bool Timers::is_timing(cl_command_queue queue) const {
  const auto record = queues_.find(queue);
  return record && record->alone && record->ticket.key != 0;
}

Timers::Wait Timers::wait(cl_command_queue queue, base::Clock& clock) const {
  const auto record = queues_.find(queue);
  return {record ? record->turn : 0, clock.now()};
}

std::optional<Timed> Timers::waited(cl_command_queue queue, const Wait& wait, base::Clock& clock,
                                    cl_event event) {
  const base::Nanoseconds now = clock.now();
  std::optional<Timed> timed;
  queues_.update(queue, [&](Record& record) {
    if (record.turn != wait.turn) return;
    if (event != nullptr && (!record.alone || record.event != event)) return;
    const base::Nanoseconds time = now - record.start;
    const bool enqueueing = (record.enqueued - record.start) * 2 >= time;
    if (record.alone && record.ticket.key != 0 && (enqueueing || has_seen_the_end(now - wait.start, time)))
      timed = Timed{record.ticket, time};
    record.idle = true;
    record.alone = false;
  });
  return timed;
}

void Timers::done(cl_command_queue queue, const Start& start) {
  queues_.update(queue, [&](Record& record) {
    if (record.turn == start.turn) record.idle = true;
  });
}

}  // namespace cleave::interpose
