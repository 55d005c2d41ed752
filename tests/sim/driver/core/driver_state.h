// The state behind a Driver: its objects, time, log, faults, and the lock over all of it.
//
// Threads: one mutex. Functions that take a `Lock` need it held and may let go of it meanwhile, to run
// callbacks or to let another thread make progress; what they return to may have changed. All others need it
// held too, except where they say otherwise.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/sim/driver/commands/timeline.h"
#include "tests/sim/driver/core/faults.h"
#include "tests/sim/driver/core/functions.h"
#include "tests/sim/driver/core/objects.h"
#include "tests/sim/driver/core/record.h"
#include "tests/sim/driver/driver.h"

namespace cleave::sim {

// An allocation of shared virtual memory.
inline constexpr std::size_t svm_alignment = 128;
struct SvmDeleter {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{svm_alignment}); }
};
using SvmMemory = std::unique_ptr<std::byte[], SvmDeleter>;
struct SvmBlock {
  SvmMemory memory;
  std::size_t size;
};

class DriverState final : public base::Clock {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit DriverState(Options options);
  ~DriverState() override;

  // The current driver's, or null. Needs no lock.
  static DriverState* current();

  // base::Clock. Need no lock: sleeping takes it itself.
  Nanoseconds now() override { return timeline.now(); }
  void sleep_for(Nanoseconds duration) override;
  void spin() override { sleep_for(Nanoseconds(1'000)); }
  Nanoseconds thread_time() override { return Nanoseconds(wait_cpu_time_.load()); }

  // Time.
  void advance(Lock& lock, Nanoseconds duration);
  void run_until_idle(Lock& lock);
  // Lets time pass until `done`. False if that can never be: see Options::hang_timeout.
  bool wait(Lock& lock, const std::function<bool()>& done);
  // Tells waiting threads that something has changed.
  void changed() { changed_.notify_all(); }

  // `callback` is run without the lock, soon.
  void queue_callback(std::function<void()> callback) { pending_callbacks_.push_back(std::move(callback)); }
  void run_callbacks(Lock& lock);

  // Objects. `get` throws the error for a handle that is none of ours, or of another kind.
  template <class T, class... Arguments>
  std::shared_ptr<T> make(Arguments&&... arguments) {
    auto object = std::make_shared<T>(*this, std::forward<Arguments>(arguments)...);
    object->retain();
    return object;
  }
  Object* find(const void* handle) const;
  template <class T>
  T* find_as(typename T::ClHandle handle) const {
    Object* object = find(handle);
    return object != nullptr && object->kind == T::kind_of ? static_cast<T*>(object) : nullptr;
  }
  template <ObjectHandle H>
  auto& get(H handle, cl_int otherwise = BehindHandle<H>::Type::invalid) const {
    note_if_released(handle);
    auto* object = find_as<typename BehindHandle<H>::Type>(handle);
    if (object == nullptr) throw Error{otherwise};
    return *object;
  }
  // Drivers may have freed an object with the program's last reference, even if others refer to it.
  void note_if_released(const void* handle) const;
  Handle* register_object(Object& object);  // for Object only
  // For the platform, its devices, and all objects that are made from now on.
  void set_dispatch_data(void* data);
  void unregister_object(Object& object);
  std::uint64_t next_id(Kind kind) { return ++ids_[static_cast<std::size_t>(kind)]; }
  std::size_t live(Kind kind) const;
  std::vector<std::string> live_objects() const;

  // Called when a launch starts; returns the status it will end with.
  cl_int starts(Command& command);

  const Options options;
  std::mutex mutex;
  Timeline timeline{*this};
  Record record;
  Faults faults;
  std::map<std::string, Driver::Body, std::less<>> bodies;
  std::map<std::string, Driver::Cost, std::less<>> costs;
  std::map<std::string, void*, std::less<>> extensions;
  std::map<const std::byte*, SvmBlock> svm;  // by address
  std::shared_ptr<Platform> platform;
  std::vector<std::shared_ptr<Device>> devices;
  std::atomic<bool> hung{false};
  Function called{};  // latest
  mutable std::vector<std::string> uses_of_released;

 private:
  void make_devices();

  std::atomic<Nanoseconds::rep> wait_cpu_time_{0};
  std::condition_variable changed_;
  std::vector<std::function<void()>> pending_callbacks_;
  std::deque<Handle> handles_;
  void* dispatch_data_ = nullptr;
  std::unordered_map<const void*, Object*> objects_;
  std::unordered_map<const void*, std::string> former_;  // labels of objects that are gone
  std::array<std::size_t, kind_count> live_{};
  std::array<std::uint64_t, kind_count> ids_{};
};

}  // namespace cleave::sim
