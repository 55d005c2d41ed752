#include "shared_context.h"

#include <chrono>
#include <utility>

namespace work {
namespace {

constexpr const char* kSharedSource =
    "kernel void add(global uint* data, uint n) { data[get_global_id(0)] += n; }"
    "kernel void add_to_sum(global uint* sums, uint place, uint n) { atomic_add(sums + place, n); }";

}  // namespace

UserEventCompleter::UserEventCompleter() : thread_([this] { run(); }) {}

UserEventCompleter::~UserEventCompleter() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void UserEventCompleter::add(const SharedEvent& event) {
  {
    const std::scoped_lock lock(mutex_);
    events_.push_back(event);
  }
  changed_.notify_one();
}

void UserEventCompleter::complete_one() {
  SharedEvent event;
  {
    const std::scoped_lock lock(mutex_);
    if (events_.empty()) return;
    event = std::move(events_.front());
    events_.pop_front();
  }
  check(cl().clSetUserEventStatus(*event, CL_COMPLETE));
}

void UserEventCompleter::run() {
  Random random(1);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !events_.empty(); });
      if (events_.empty()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    complete_one();
  }
}

void EventExchange::put(std::size_t place, const SharedEvent& event) {
  SharedEvent before = event;  // released without the lock
  const std::scoped_lock lock(mutex_);
  events_[place].swap(before);
}

SharedEvent EventExchange::get(std::size_t place) {
  const std::scoped_lock lock(mutex_);
  return events_[place];
}

SharedContext::SharedContext()
    : devices(cl().devices(cl().platforms().at(0))),
      context(cl().context(devices)),
      program(cl().build(context, kSharedSource)),
      sums(cl().buffer(context, std::vector<cl_uint>(kSums))) {
  for (std::size_t i = 0; i < 4; ++i) queues.push_back(queue(i, i < 3));
}

OrderedQueue SharedContext::queue(std::size_t device, bool in_order) const {
  return {cl().queue(context, devices[device % devices.size()],
                     in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
          in_order};
}

}  // namespace work
