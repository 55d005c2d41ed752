// The memory of this process's objects on each device, and whether there may be more (docs/limits.md).
//
// A booking is made before an object is created, on each device of its context, and ends when the driver destroys the
// object, which a destructor callback reports: commands in flight and sub-objects keep an object alive beyond the
// program's last reference. Where a driver has no such callbacks it ends with that reference. A booking that would be
// refused while the driver has not yet destroyed what the program has released waits for that for up to 100 ms.
//
// With a tenant, or with a registry, bookings are written to the device's ledger too (limits/memory_ledger.h).
//
// Without a limit and without a tenant nothing is counted: active() is one load, and with a settings file one read of
// the clock. Objects that were created before there was one are not counted.
//
// Thread-safe. The mutex is a leaf: destroyed() is called by the driver, from any of its threads. Nothing throws, and a pending
// cancellation of the program's thread takes effect later.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/drivers/devices.h"
#include "interpose/state/record_map.h"
#include "limits/live_limits.h"
#include "limits/memory_ledger.h"
#include "observe/summary.h"

namespace cleave::interpose {

class MemoryLimits {
 public:
  static constexpr unsigned kMaxDevices = 16;

  // Everything must outlive this. `registry`: its folder; empty: none.
  MemoryLimits(base::ForkLocks& forks, const Table& next, Devices& devices, limits::LiveLimits& live,
               std::string registry);
  MemoryLimits(const MemoryLimits&) = delete;
  MemoryLimits& operator=(const MemoryLimits&) = delete;
  ~MemoryLimits();

  // Whether objects are counted. A limit may appear while the program runs.
  [[nodiscard]] bool active() noexcept {
    if (always_ || live_.memory() != 0) return true;
    return live_.may_change() && limit_appears();
  }

  // Bytes of an object on the devices of its context.
  struct Booking {
    MemoryLimits* owner = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t devices = 0;  // by their bits
    std::uint32_t generation = 0;
    bool is_watched = false;  // the driver reports when the object is destroyed
    std::atomic<bool> is_released{false};
  };

  // Null, with nothing changed, if the limit does not allow for it. On `device`, or if that is null on all devices of the
  // context.
  [[nodiscard]] std::unique_ptr<Booking> book(cl_context context, cl_device_id device,
                                              std::uint64_t bytes) noexcept;
  // The driver says that the object takes so many. False: that is beyond the limit, and the booking is what it was.
  [[nodiscard]] bool adjust(Booking& booking, std::uint64_t bytes) noexcept;
  // The object was not created after all.
  void cancel(std::unique_ptr<Booking> booking) noexcept;

  // The object has been created.
  void keep(std::unique_ptr<Booking> booking, cl_mem object) noexcept;
  void keep(std::unique_ptr<Booking> booking, void* svm) noexcept;

  // The program's references. One relaxed load if nothing is counted.
  void retained(cl_mem object) noexcept { objects_.retain(object); }
  void releasing(cl_mem object) noexcept;
  void freeing(const void* svm) noexcept;

  // What a command is to free is taken out before it is enqueued, since the driver may reuse the addresses as soon as
  // it has ended; and put back if the command is refused.
  struct Taken {
    const void* svm = nullptr;
    std::unique_ptr<Booking> booking;
  };
  [[nodiscard]] std::vector<Taken> take(std::span<void* const> svm) noexcept;
  void put_back(std::vector<Taken> taken) noexcept;
  // It is freed when the command has ended. Takes a reference to the event.
  void freeing_with(std::vector<Taken> taken, cl_event event) noexcept;
  [[nodiscard]] bool has_svm() const noexcept { return !svm_.empty(); }

  // Whether commands are to free something; one relaxed load.
  [[nodiscard]] bool waits_for_commands() const noexcept {
    return freeing_commands_.load(std::memory_order_relaxed) != 0;
  }
  // The program has waited: what commands have freed meanwhile is free for the tenant's other processes, too.
  void collect() noexcept {
    if (waits_for_commands()) [[unlikely]]
      static_cast<void>(collect_freed());
  }

  // What the device has at most by the limit, of `bytes`.
  [[nodiscard]] std::uint64_t limited(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::vector<observe::MemoryFigures> report() const noexcept;

  // The process exits: nothing is written to the registry any more.
  void end() noexcept;

 private:
  struct Account {
    cl_device_id device = nullptr;
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t peak = 0;
    std::uint64_t refused = 0;
    std::unique_ptr<limits::MemoryLedger> ledger;
  };
  struct Freeing {
    cl_event event = nullptr;
    std::vector<Taken> taken;
  };

  static void CL_CALLBACK destroyed(cl_mem object, void* booking);
  void unbook(const Booking& booking) noexcept;
  void unbook(std::uint32_t devices, std::uint64_t bytes) noexcept CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] bool book_on(std::uint32_t devices, std::uint64_t bytes) noexcept;
  // Where it is refused, `excess` is by how many bytes the limit would be exceeded.
  [[nodiscard]] bool try_to_book(std::uint32_t devices, std::uint64_t bytes, std::uint64_t& excess) noexcept;
  [[nodiscard]] bool book_one(Account& account, std::uint64_t bytes, std::uint64_t limit,
                              std::uint64_t& excess) noexcept CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] std::uint32_t devices_of(cl_context context, cl_device_id device) noexcept;
  [[nodiscard]] std::uint32_t bit_of(cl_device_id of) noexcept;
  [[nodiscard]] bool limit_appears() noexcept;
  bool collect_freed() noexcept;
  void warn(const std::string& problem) noexcept;
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  const Table& next_;
  Devices& devices_;
  limits::LiveLimits& live_;
  const std::string registry_;
  const bool always_;  // there is a tenant
  RecordMap<Booking*> objects_;
  RecordMap<Booking*> svm_;
  // Of objects that the program has released and the driver not yet destroyed.
  std::atomic<std::uint64_t> released_bytes_{0};
  std::atomic<unsigned> freeing_commands_{0};
  std::atomic<std::uint32_t> generation_{0};  // of processes: a child's are not its parent's
  std::atomic<bool> warned_{false};
  mutable base::Mutex mutex_;
  std::array<Account, kMaxDevices> accounts_ CLEAVE_GUARDED_BY(mutex_);
  unsigned count_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::list<Freeing> freeing_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::interpose
