#include "interpose/queues/helper_queues.h"

#include <algorithm>
#include <utility>

#include "interpose/state/callback_scope.h"

namespace cleave::interpose {

void HelperQueues::Lease::add(Helper& helper) {
  helpers_[count_] = &helper;
  lanes_[count_].queue = helper.queue;
  lanes_[count_].newest = std::move(helper.newest);
  ++count_;
}

// What is swapped out of the helpers is released after the lock is.
HelperQueues::Lease::~Lease() {
  if (count_ == 0) return;
  const base::LightLock lock(from_.mutex_);
  for (std::size_t i = 0; i < count_; ++i) {
    launch::Lane& lane = lanes_[i];
    Helper& helper = *helpers_[i];
    helper.newest = std::move(lane.newest.get() != nullptr ? lane.newest : lane.first);
    helper.unusable = lane.lacks_event;
    helper.last_user = last_user_;
    helper.leased = false;
  }
}

HelperQueues::Retired::~Retired() {
  for (Helper& helper : helpers_) {
    helper.newest = launch::Event();
    next_.clReleaseCommandQueue(helper.queue);
  }
}

void HelperQueues::acquire(Lease& lease, cl_command_queue queue, const QueueTemplate& queue_template,
                           bool in_order, std::size_t wanted_helpers) noexcept try {
  Candidates candidates{};
  lease.last_user_ = queue;
  const std::size_t found = take_candidates(queue, queue_template, candidates);
  for (std::size_t i = 0; i < found; ++i) {
    Helper& helper = *candidates[i].helper;
    if (lease.count_ < wanted_helpers && is_usable(candidates[i], in_order)) {
      lease.add(helper);
    } else {
      const base::LightLock lock(mutex_);
      helper.leased = false;
    }
  }
  while (lease.count_ < std::min(wanted_helpers, launch::kMaxHelpers)) {
    Helper* const made = make(queue_template, lease);
    if (made == nullptr) break;
    lease.add(*made);
  }
} catch (...) {  // out of memory: the launch uses the helpers it has
}

void HelperQueues::note_user(cl_command_queue queue, const QueueTemplate& queue_template) {
  const bool known =
      std::any_of(users_.begin(), users_.end(), [&](const User& user) { return user.queue == queue; });
  if (!known) users_.push_back({queue, queue_template});
}

// Leases all free helpers of that kind to the caller, and notes that the queue uses helpers.
std::size_t HelperQueues::take_candidates(cl_command_queue queue, const QueueTemplate& queue_template,
                                          Candidates& found) {
  const base::LightLock lock(mutex_);
  note_user(queue, queue_template);
  std::size_t count = 0;
  for (Helper& helper : helpers_) {
    if (helper.leased || helper.unusable || !(helper.queue_template == queue_template) ||
        count == found.size())
      continue;
    helper.leased = true;
    found[count++] = {&helper, helper.last_user == queue};
  }
  return count;
}

bool HelperQueues::is_usable(const Candidate& candidate, bool in_order) const {
  Helper& helper = *candidate.helper;
  if (helper.newest.get() == nullptr || (in_order && candidate.follows)) return true;
  cl_int status = CL_QUEUED;
  if (next_.clGetEventInfo(helper.newest.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           nullptr) != CL_SUCCESS ||
      status > CL_COMPLETE)
    return false;
  helper.newest = launch::Event();
  return true;
}

HelperQueues::Helper* HelperQueues::make(const QueueTemplate& queue_template, Lease& lease) {
  if (CallbackScope::inside()) return nullptr;
  const auto is_same_device = [&](const Helper& helper) {
    return same_device(helper.queue_template, queue_template);
  };
  std::list<Helper> own(1);  // allocated before the driver is called
  Helper& helper = own.front();
  helper.queue_template = queue_template;
  {
    const base::LightLock lock(mutex_);
    lease.refused_ = std::find(refused_.begin(), refused_.end(), queue_template) != refused_.end();
    const auto there = std::count_if(helpers_.begin(), helpers_.end(), is_same_device);
    if (lease.refused_ || static_cast<std::size_t>(there) >= launch::kMaxHelpers) return nullptr;
    helpers_.splice(helpers_.end(), own);
  }
  bool in_reference_count = false;
  if (const Hold hold(next_, contexts_, queue_template.context); hold) {
    const cl_uint before = count_references(queue_template.context);
    helper.queue = make_queue(queue_template);
    in_reference_count = helper.queue != nullptr && count_references(queue_template.context) > before;
  }
  const base::LightLock lock(mutex_);  // internal_references() reads leased helpers too
  helper.in_reference_count = in_reference_count;
  if (helper.queue != nullptr) return &helper;
  lease.refused_ = true;
  helpers_.remove_if([&](const Helper& each) { return &each == &helper; });
  refused_.push_back(queue_template);
  return nullptr;
}

cl_command_queue HelperQueues::make_queue(const QueueTemplate& queue_template) const noexcept {
  const cl_command_queue_properties flags = queue_template.profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
  if (!queue_template.with_properties)
    return next_.clCreateCommandQueue(queue_template.context, queue_template.device, flags, nullptr);
  std::array<cl_queue_properties, 7> list{};
  std::size_t count = 0;
  const auto add = [&](cl_queue_properties name, cl_queue_properties value) {
    list[count++] = name;
    list[count++] = value;
  };
  add(CL_QUEUE_PROPERTIES, flags);
  if (queue_template.priority != 0) add(kPriority, queue_template.priority);
  if (queue_template.throttle != 0) add(kThrottle, queue_template.throttle);
  return next_.clCreateCommandQueueWithProperties(queue_template.context, queue_template.device, list.data(),
                                                  nullptr);
}

cl_uint HelperQueues::count_references(cl_context context) const noexcept {
  cl_uint count = 0;
  next_.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
  return count;
}

void HelperQueues::queue_released(cl_command_queue queue, Retired& retired) noexcept {
  const base::LightLock lock(mutex_);
  const auto user =
      std::find_if(users_.begin(), users_.end(), [&](const User& each) { return each.queue == queue; });
  if (user == users_.end()) return;
  const QueueTemplate queue_template = user->queue_template;
  users_.erase(user);
  for (Helper& helper : helpers_)
    if (helper.last_user == queue) helper.last_user = nullptr;
  if (std::any_of(users_.begin(), users_.end(),
                  [&](const User& each) { return same_device(each.queue_template, queue_template); }))
    return;
  for (auto it = helpers_.begin(); it != helpers_.end();) {
    const auto here = it++;
    if (same_device(here->queue_template, queue_template))
      retired.helpers_.splice(retired.helpers_.end(), helpers_, here);
  }
  std::erase_if(refused_, [&](const QueueTemplate& each) { return same_device(each, queue_template); });
}

cl_uint HelperQueues::internal_references(cl_context context) noexcept {
  const base::LightLock lock(mutex_);
  return static_cast<cl_uint>(std::count_if(helpers_.begin(), helpers_.end(), [&](const Helper& helper) {
    return helper.queue_template.context == context && helper.in_reference_count;
  }));
}

}  // namespace cleave::interpose
