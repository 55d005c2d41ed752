#include "interpose/limits/memory_limits.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/threads/scoped_thread_state.h"
#include "interpose/broker/participation.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How long a booking waits for the driver to destroy what the program has released.
constexpr auto kBookingPatience = 100ms;
constexpr auto kPause = 50us;

}  // namespace

MemoryLimits::MemoryLimits(base::ForkLocks& forks, const Table& next, Devices& devices,
                           limits::LiveLimits& live, std::string registry)
    : next_(next),
      devices_(devices),
      live_(live),
      registry_(std::move(registry)),
      always_(!live.tenant().empty()),
      objects_(forks, base::ForkOrder::counted_objects),
      svm_(forks, base::ForkOrder::counted_objects) {
  forks.add<&MemoryLimits::reset_in_child>(base::ForkOrder::memory_limits, mutex_, *this);
}

MemoryLimits::~MemoryLimits() {
  svm_.for_each([](const void*, Booking* booking) { delete booking; });
}

// The parent's objects are not this process's, and neither is its slot in the ledger.
void MemoryLimits::reset_in_child() noexcept {
  live_.reset_in_child();
  ++generation_;
  released_bytes_ = 0;
  freeing_.clear();
  freeing_commands_ = 0;
  for (Account& account : accounts_) {
    account.bytes = account.peak = account.refused = 0;
    if (account.ledger) account.ledger->forget();
    account.ledger.reset();
    account.device = nullptr;
  }
  count_ = 0;
}

void MemoryLimits::end() noexcept {
  if (!mutex_.try_lock()) return;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  for (Account& account : accounts_) account.ledger.reset();
}

void MemoryLimits::warn(const std::string& problem) noexcept {
  if (warned_.exchange(true)) return;
  try {
    base::log_line("the memory limit holds for this process alone: " + problem +
                   " (CLEAVE_REGISTRY names the folder)");
  } catch (...) {  // out of memory
  }
}

// A sub-device's memory is that of the device that it is a part of. 0: it cannot be counted, for want of room.
std::uint32_t MemoryLimits::bit_of(cl_device_id of) noexcept try {
  cl_device_id const device = devices_.of(of)->root;
  const Devices::Facts facts = devices_.of(device);
  {
    const base::MutexLock lock(mutex_);
    for (unsigned i = 0; i < count_; ++i) {
      if (accounts_[i].device == device) return 1U << i;
    }
  }
  Account made;
  made.device = device;
  made.name = facts->name;
  if (!registry_.empty()) {
    std::string problem;
    made.ledger = open_ledger(registry_, std::to_string(facts->identity), live_.tenant(), problem, made.name);
    if (!made.ledger && always_) warn(problem);
  }
  const base::MutexLock lock(mutex_);
  for (unsigned i = 0; i < count_; ++i) {
    if (accounts_[i].device == device) return 1U << i;
  }
  if (count_ == kMaxDevices) return 0;
  accounts_[count_] = std::move(made);
  return 1U << count_++;
} catch (...) {
  return 0;
}

std::uint32_t MemoryLimits::devices_of(cl_context context, cl_device_id device) noexcept {
  if (device != nullptr) return bit_of(device);
  std::array<cl_device_id, 64> devices{};
  std::size_t size = 0;
  if (next_.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, static_cast<void*>(devices.data()),
                             &size) != CL_SUCCESS)
    return 0;
  std::uint32_t bits = 0;
  for (const cl_device_id each : std::span(devices).first(size / sizeof(cl_device_id))) bits |= bit_of(each);
  return bits;
}

bool MemoryLimits::book_one(Account& account, std::uint64_t bytes, std::uint64_t limit,
                            std::uint64_t& excess) noexcept {
  using Answer = limits::MemoryLedger::Answer;
  if (limit != 0 && (account.bytes > limit || bytes > limit - account.bytes)) {
    if (__builtin_add_overflow(account.bytes, bytes, &excess)) excess = UINT64_MAX;
    excess -= limit;
    return false;
  }
  const Answer answer = account.ledger ? account.ledger->book(bytes, limit) : Answer::booked;
  if (answer == Answer::beyond) return excess = account.ledger->excess(), false;
  if (answer == Answer::unusable) {
    if (always_) warn(account.ledger->problem());
    account.ledger.reset();
  }
  account.bytes += bytes;
  account.peak = std::max(account.peak, account.bytes);
  return true;
}

// On all of the devices or on none.
bool MemoryLimits::try_to_book(std::uint32_t devices, std::uint64_t bytes, std::uint64_t& excess) noexcept {
  const std::uint64_t limit = live_.memory();
  const base::MutexLock lock(mutex_);
  for (unsigned i = 0; i < count_; ++i) {
    if ((devices >> i & 1U) == 0 || book_one(accounts_[i], bytes, limit, excess)) continue;
    unbook(devices & ((1U << i) - 1), bytes);
    return false;
  }
  return true;
}

bool MemoryLimits::book_on(std::uint32_t devices, std::uint64_t bytes) noexcept {
  static_cast<void>(live_.poll());
  std::uint64_t excess = 0;
  if (try_to_book(devices, bytes, excess)) return true;
  bool worthwhile = collect_freed();
  const auto until = std::chrono::steady_clock::now() + kBookingPatience;
  while (worthwhile || (released_bytes_ >= excess && std::chrono::steady_clock::now() < until)) {
    if (!worthwhile) std::this_thread::sleep_for(kPause);
    if (try_to_book(devices, bytes, excess)) return true;
    worthwhile = collect_freed();
  }
  const base::MutexLock lock(mutex_);
  for (unsigned i = 0; i < count_; ++i) {
    if ((devices >> i & 1U) != 0) ++accounts_[i].refused;
  }
  return false;
}

std::unique_ptr<MemoryLimits::Booking> MemoryLimits::book(cl_context context, cl_device_id device,
                                                          std::uint64_t bytes) noexcept try {
  auto booking = std::make_unique<Booking>();
  booking->owner = this;
  booking->bytes = bytes;
  booking->devices = devices_of(context, device);
  booking->generation = generation_;
  if (!book_on(booking->devices, bytes)) return nullptr;
  return booking;
} catch (...) {
  return nullptr;
}

bool MemoryLimits::adjust(Booking& booking, std::uint64_t bytes) noexcept {
  if (bytes > booking.bytes && !book_on(booking.devices, bytes - booking.bytes)) return false;
  if (bytes < booking.bytes) {
    const base::MutexLock lock(mutex_);
    unbook(booking.devices, booking.bytes - bytes);
  }
  booking.bytes = bytes;
  return true;
}

void MemoryLimits::unbook(std::uint32_t devices, std::uint64_t bytes) noexcept {
  for (unsigned i = 0; i < count_; ++i) {
    if ((devices >> i & 1U) == 0) continue;
    Account& account = accounts_[i];
    account.bytes -= std::min(account.bytes, bytes);
    if (account.ledger) account.ledger->release(bytes);
  }
}

void MemoryLimits::unbook(const Booking& booking) noexcept {
  const base::MutexLock lock(mutex_);
  if (booking.generation == generation_) unbook(booking.devices, booking.bytes);
}

void MemoryLimits::cancel(std::unique_ptr<Booking> booking) noexcept { unbook(*booking); }

void CL_CALLBACK MemoryLimits::destroyed(cl_mem /*object*/, void* given) {
  const base::ScopedCancelDisable uncancelled;  // the program's thread, as a rule
  const std::unique_ptr<Booking> booking(static_cast<Booking*>(given));
  MemoryLimits& owner = *booking->owner;
  owner.unbook(*booking);
  if (booking->is_released && booking->generation == owner.generation_)
    owner.released_bytes_ -= booking->bytes;
}

void MemoryLimits::keep(std::unique_ptr<Booking> booking, cl_mem object) noexcept {
  Booking* const made = booking.release();
  made->is_watched = true;
  if (next_.clSetMemObjectDestructorCallback == nullptr ||
      next_.clSetMemObjectDestructorCallback(object, destroyed, made) != CL_SUCCESS)
    made->is_watched = false;
  try {
    objects_.add(object, made);
  } catch (...) {  // out of memory: the driver's word is enough, or else it stays booked
  }
}

// An address that the driver reuses has become free in some way that was not noticed.
void MemoryLimits::keep(std::unique_ptr<Booking> booking, void* svm) noexcept try {
  freeing(svm);
  svm_.add(svm, booking.get());
  static_cast<void>(booking.release());
} catch (...) {  // out of memory: it stays booked
}

void MemoryLimits::releasing(cl_mem object) noexcept {
  const base::ScopedCancelDisable uncancelled;
  const auto last = objects_.release(object);
  if (!last) return;
  Booking* const booking = *last;
  if (booking->is_watched) {
    if (booking->generation == generation_) released_bytes_ += booking->bytes;
    booking->is_released = true;
  } else {
    unbook(*booking);
    delete booking;
  }
}

void MemoryLimits::freeing(const void* svm) noexcept {
  const base::ScopedCancelDisable uncancelled;
  const auto booking = svm_.release(svm);
  if (!booking) return;
  unbook(**booking);
  delete *booking;
}

std::vector<MemoryLimits::Taken> MemoryLimits::take(std::span<void* const> svm) noexcept try {
  std::vector<Taken> taken;
  taken.reserve(svm.size());
  for (const void* const each : svm) {
    if (const auto booking = svm_.release(each)) taken.push_back({each, std::unique_ptr<Booking>(*booking)});
  }
  return taken;
} catch (...) {  // out of memory: it stays booked until the driver reuses its address
  return {};
}

void MemoryLimits::put_back(std::vector<Taken> taken) noexcept {
  for (Taken& each : taken) keep(std::move(each.booking), const_cast<void*>(each.svm));
}

void MemoryLimits::freeing_with(std::vector<Taken> taken, cl_event event) noexcept try {
  if (taken.empty()) return;
  static_cast<void>(collect_freed());
  std::list<Freeing> one(1);
  if (next_.clRetainEvent(event) != CL_SUCCESS) return put_back(std::move(taken));
  one.front() = {event, std::move(taken)};
  ++freeing_commands_;
  const base::MutexLock lock(mutex_);
  freeing_.splice(freeing_.end(), one);
} catch (...) {  // out of memory: as if it were not freed, until the driver reuses the addresses
  put_back(std::move(taken));
}

// What commands have freed since. Whether there was anything.
bool MemoryLimits::collect_freed() noexcept {
  const base::ScopedCancelDisable uncancelled;
  std::list<Freeing> all;
  {
    const base::MutexLock lock(mutex_);
    all.swap(freeing_);
  }
  std::list<Freeing> pending;
  for (auto each = all.begin(); each != all.end();) {
    cl_int status = CL_COMPLETE;
    const cl_int error =
        next_.clGetEventInfo(each->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    const auto next = std::next(each);
    if (error == CL_SUCCESS && status > CL_COMPLETE) pending.splice(pending.end(), all, each);
    each = next;
  }
  {
    const base::MutexLock lock(mutex_);
    freeing_.splice(freeing_.begin(), pending);
  }
  for (const Freeing& each : all) {
    for (const Taken& taken : each.taken) unbook(*taken.booking);
    --freeing_commands_;
    next_.clReleaseEvent(each.event);
  }
  return !all.empty();
}

bool MemoryLimits::limit_appears() noexcept {
  static_cast<void>(live_.poll());
  return live_.memory() != 0;
}

std::uint64_t MemoryLimits::limited(std::uint64_t bytes) noexcept {
  static_cast<void>(live_.poll());
  const std::uint64_t limit = live_.memory();
  return limit != 0 ? std::min(bytes, limit) : bytes;
}

std::vector<observe::MemoryFigures> MemoryLimits::report() const noexcept try {
  std::vector<observe::MemoryFigures> all;
  if (!mutex_.try_lock()) return all;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  for (unsigned i = 0; i < count_; ++i) {
    const Account& each = accounts_[i];
    all.push_back({each.name, each.bytes, each.peak, live_.memory(), each.refused});
  }
  return all;
} catch (...) {
  return {};
}

}  // namespace cleave::interpose
