#include "interpose/costs/launch_timers.h"

#include <algorithm>

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// A wait shorter than this, or than this share of the launch, may have begun after the launch's end.
constexpr base::Nanoseconds kLeastWait = 30us;
constexpr int kLeastShare = 10;

// Whether a wait of `end_wait`, at the end of `time`, covered the end of the launch.
bool saw_the_end(base::Nanoseconds end_wait, base::Nanoseconds time) {
  return end_wait * 2 >= time || (end_wait >= kLeastWait && end_wait * kLeastShare >= time);
}

}  // namespace

LaunchTimers::Start LaunchTimers::begin_timed(cl_command_queue queue, base::Clock& clock) {
  Start start;
  queues_.update(queue, [&](Record& record) {
    start = {++record.command, record.idle, {}};
    record.idle = false;
    record.alone = false;
  });
  if (start.idle) start.time = clock.now();
  return start;
}

void LaunchTimers::launched(cl_command_queue queue, const Start& start, const MeasuredLaunch& measured,
                            cl_event event, base::Clock& clock) {
  if (!start.idle) return;
  const base::Nanoseconds now = clock.now();
  queues_.update(queue, [&](Record& record) {
    if (record.command != start.command) return;
    record.alone = true;
    record.measured = measured;
    record.start = start.time;
    record.enqueued = now;
    record.event = event;
  });
}

bool LaunchTimers::is_timing(cl_command_queue queue) const {
  const auto record = queues_.find(queue);
  return record && record->alone && record->measured.key != 0;
}

std::optional<LaunchTimers::Expected> LaunchTimers::expected(cl_command_queue queue, base::Nanoseconds now,
                                                             cl_event event) const {
  if (empty()) return std::nullopt;
  const auto record = queues_.find(queue);
  if (!record || !record->alone || record->measured.key == 0) return std::nullopt;
  if (event != nullptr && record->event != event) return std::nullopt;
  const base::Nanoseconds whole = record->measured.expected;
  return Expected{whole, std::max(whole - (now - record->start), base::Nanoseconds(0))};
}

LaunchTimers::Wait LaunchTimers::wait(cl_command_queue queue, base::Clock& clock) const {
  const auto record = queues_.find(queue);
  return {record ? record->command : 0, clock.now()};
}

std::optional<TimedLaunch> LaunchTimers::end_wait(cl_command_queue queue, const Wait& wait,
                                                  base::Clock& clock, cl_event event) {
  const base::Nanoseconds now = clock.now();
  std::optional<TimedLaunch> timed;
  queues_.update(queue, [&](Record& record) {
    if (record.command != wait.command) return;
    if (event != nullptr && (!record.alone || record.event != event)) return;
    const base::Nanoseconds time = now - record.start;
    const bool enqueueing = (record.enqueued - record.start) * 2 >= time;
    if (record.alone && record.measured.key != 0 && (enqueueing || saw_the_end(now - wait.start, time)))
      timed = TimedLaunch{record.measured, time};
    record.idle = true;
    record.alone = false;
  });
  return timed;
}

void LaunchTimers::finish_command(cl_command_queue queue, const Start& start) {
  queues_.update(queue, [&](Record& record) {
    if (record.command == start.command) record.idle = true;
  });
}

}  // namespace cleave::interpose
