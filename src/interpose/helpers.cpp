#include "interpose/helpers.h"

#include <algorithm>
#include <utility>

#include "interpose/callback_scope.h"

namespace cleave::interpose {
namespace {

// Of cl_khr_priority_hints and cl_khr_throttle_hints (CL/cl_ext.h names them only in some versions).
constexpr cl_queue_properties kPriority = 0x1096;
constexpr cl_queue_properties kThrottle = 0x1097;

}  // namespace

void HelperQueues::Loan::add(Helper& helper) {
  helpers_[count_] = &helper;
  lanes_[count_].queue = helper.queue;
  lanes_[count_].newest = std::move(helper.newest);
  ++count_;
}

HelperQueues::Loan::~Loan() {
  for (std::size_t i = 0; i < count_; ++i) {
    launch::Lane& lane = lanes_[i];
    Helper& helper = *helpers_[i];
    helper.newest = std::move(lane.newest.get() != nullptr ? lane.newest : lane.first);
    helper.lost = lane.open;
    const std::scoped_lock lock(from_.mutex_);
    helper.borrower = borrower_;
    helper.lent = false;
  }
}

HelperQueues::Retired::~Retired() {
  for (Helper& helper : helpers_) {
    helper.newest = launch::Event();
    next_.clReleaseCommandQueue(helper.queue);
  }
}

void HelperQueues::borrow(Loan& loan, cl_command_queue queue, const Twin& twin, bool in_order,
                          std::size_t wanted) noexcept try {
  Candidates candidates{};
  loan.borrower_ = queue;
  note_user(queue, twin);
  const std::size_t found = take_candidates(queue, twin, candidates);
  for (std::size_t i = 0; i < found; ++i) {
    Helper& helper = *candidates[i].helper;
    if (loan.count_ < wanted && may_have(candidates[i], in_order)) {
      loan.add(helper);
    } else {
      const std::scoped_lock lock(mutex_);
      helper.lent = false;
    }
  }
  while (loan.count_ < std::min(wanted, launch::kMostHelpers)) {
    Helper* const made = make(twin, loan);
    if (made == nullptr) break;
    loan.add(*made);
  }
} catch (...) {  // out of memory: there are as many as there are
}

void HelperQueues::note_user(cl_command_queue queue, const Twin& twin) {
  const std::scoped_lock lock(mutex_);
  const bool known =
      std::any_of(users_.begin(), users_.end(), [&](const User& user) { return user.queue == queue; });
  if (!known) users_.push_back({queue, twin});
}

// Those that nobody has now; they are lent from here on.
std::size_t HelperQueues::take_candidates(cl_command_queue queue, const Twin& twin, Candidates& found) {
  const std::scoped_lock lock(mutex_);
  std::size_t count = 0;
  for (Helper& helper : helpers_) {
    if (helper.lent || helper.lost || !(helper.twin == twin) || count == found.size()) continue;
    helper.lent = true;
    found[count++] = {&helper, helper.borrower == queue};
  }
  return count;
}

bool HelperQueues::may_have(const Candidate& candidate, bool in_order) const {
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

HelperQueues::Helper* HelperQueues::make(const Twin& twin, Loan& loan) {
  if (CallbackScope::inside()) return nullptr;
  const auto is_near = [&](const Helper& helper) { return near(helper.twin, twin); };
  std::list<Helper> own(1);  // its place, taken before the driver is asked
  Helper& helper = own.front();
  helper.twin = twin;
  {
    const std::scoped_lock lock(mutex_);
    loan.refused_ = std::find(refused_.begin(), refused_.end(), twin) != refused_.end();
    const auto there = std::count_if(helpers_.begin(), helpers_.end(), is_near);
    if (loan.refused_ || static_cast<std::size_t>(there) >= launch::kMostHelpers) return nullptr;
    helpers_.splice(helpers_.end(), own);
  }
  const cl_uint before = count_references(twin.context);
  helper.queue = make_queue(twin);
  const bool counted = helper.queue != nullptr && count_references(twin.context) > before;
  const std::scoped_lock lock(mutex_);  // references_to() looks at helpers that are lent, too
  helper.counted = counted;
  if (helper.queue != nullptr) return &helper;
  loan.refused_ = true;
  helpers_.remove_if([&](const Helper& each) { return &each == &helper; });
  refused_.push_back(twin);
  return nullptr;
}

cl_command_queue HelperQueues::make_queue(const Twin& twin) const noexcept {
  const cl_command_queue_properties flags = twin.profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
  if (!twin.with_properties) return next_.clCreateCommandQueue(twin.context, twin.device, flags, nullptr);
  std::array<cl_queue_properties, 7> list{};
  std::size_t count = 0;
  const auto add = [&](cl_queue_properties name, cl_queue_properties value) {
    list[count++] = name;
    list[count++] = value;
  };
  add(CL_QUEUE_PROPERTIES, flags);
  if (twin.priority != 0) add(kPriority, twin.priority);
  if (twin.throttle != 0) add(kThrottle, twin.throttle);
  return next_.clCreateCommandQueueWithProperties(twin.context, twin.device, list.data(), nullptr);
}

cl_uint HelperQueues::count_references(cl_context context) const noexcept {
  cl_uint count = 0;
  next_.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
  return count;
}

void HelperQueues::gone(cl_command_queue queue, Retired& retired) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto user =
      std::find_if(users_.begin(), users_.end(), [&](const User& each) { return each.queue == queue; });
  if (user == users_.end()) return;
  const Twin twin = user->twin;
  users_.erase(user);
  for (Helper& helper : helpers_)
    if (helper.borrower == queue) helper.borrower = nullptr;
  if (std::any_of(users_.begin(), users_.end(), [&](const User& each) { return near(each.twin, twin); }))
    return;
  for (auto it = helpers_.begin(); it != helpers_.end();) {
    const auto here = it++;
    if (near(here->twin, twin)) retired.helpers_.splice(retired.helpers_.end(), helpers_, here);
  }
  std::erase_if(refused_, [&](const Twin& each) { return near(each, twin); });
}

cl_uint HelperQueues::references_to(cl_context context) noexcept {
  const std::scoped_lock lock(mutex_);
  return static_cast<cl_uint>(std::count_if(helpers_.begin(), helpers_.end(), [&](const Helper& helper) {
    return helper.twin.context == context && helper.counted;
  }));
}

}  // namespace cleave::interpose
