// The ledger of one device: a file in the registry's folder in which each process books the bytes of its memory objects, so that
// the limit of a tenant holds for all its processes together. FOLDER/memory-HASH, of the hash of the device's identity and the
// file's version.
//
// Nothing stays booked for a process that has ended: each holds a lock on the byte of its slot as long as it lives, which the
// kernel releases however it ends. Bookings are exact: a process writes down what it wants, then reads what all have, and takes
// its own back if that is too much; a lock keeps two that do so at a time from refusing each other. Where that lock's holder is
// stopped, a booking goes on without it after 100 ms, and those that follow at once until it is free again: then two may be refused
// where one would have fitted, but never is more booked than the limit.
//
// The file is not trusted. It is read and written with pread() and pwrite(), never mapped. A user who may write it can
// cause a tenant's allocations to be refused, and nothing else.
//
// Another implementation may book for this process (what is virtual): where it cannot be trusted with the file
// (interpose/broker).
//
// For one thread at a time, whose cancellation takes effect after the call. Nothing throws but open() and read_ledgers(), for
// want of memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/verified_descriptor.h"

namespace cleave::limits {

inline constexpr std::size_t kTenantBytes = 64;

// One process's entry, as it lies in the file.
struct LedgerEntry {
  std::uint64_t nonce = 0;  // 0: the slot is free
  std::uint64_t group = 0;  // whose limit it is: a hash of the tenant's name; without a tenant the nonce
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;   // the most that there were
  std::uint64_t limit = 0;  // 0: none
  std::uint32_t pid = 0;    // as the process sees itself
  std::uint32_t unused = 0;
  std::array<char, kTenantBytes> tenant{};
};
static_assert(sizeof(LedgerEntry) == 112);

class MemoryLedger {
 public:
  static constexpr std::uint32_t kMagic = 0x6d6c7663;  // "cvlm"
  static constexpr std::uint32_t kVersion = 1;
  static constexpr unsigned kSlots = 256;
  static constexpr std::int64_t kLock = 1 << 20;
  static constexpr std::int64_t kSlotLocks = 1 << 21;

  enum class Answer : std::uint8_t {
    booked,
    beyond,    // the limit; nothing has changed
    unusable,  // the file, from now on: problem() says why
  };

  static std::string name_for(const std::string& identity);
  // Takes a slot. Null if that is not possible, and `problem` says why in one line. `tenant` may be empty. `device`: its
  // name, for reports.
  static std::unique_ptr<MemoryLedger> open(const std::string& folder, const std::string& identity,
                                            std::string_view tenant, std::string& problem,
                                            std::string_view device = {});
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;
  virtual ~MemoryLedger();

  // This process has `bytes` more if all of the tenant have no more than `limit` then. 0: no limit.
  [[nodiscard]] virtual Answer book(std::uint64_t bytes, std::uint64_t limit) noexcept;
  // After `beyond`: by how many bytes the limit would have been exceeded.
  [[nodiscard]] std::uint64_t excess() const noexcept { return excess_; }
  // It has so many less.
  virtual void release(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::uint64_t bytes() const { return entry_.bytes; }
  [[nodiscard]] const char* problem() const { return problem_; }

  // In the child of a fork, where the slot is still the parent's: gives the file up. Nothing else may be called then.
  virtual void forget() noexcept;

 protected:
  MemoryLedger() = default;
  std::uint64_t excess_ = 0;

 private:
  [[nodiscard]] bool is_usable() noexcept;
  [[nodiscard]] bool claim_slot(std::string_view device) noexcept;
  [[nodiscard]] bool write_entry() noexcept;
  [[nodiscard]] bool lock() noexcept;
  void unlock() noexcept;
  [[nodiscard]] bool is_alive(unsigned slot) const noexcept;
  // Of all that share the limit; `living`: only those whose process lives.
  [[nodiscard]] std::uint64_t sum(std::size_t entries, bool living) const noexcept;
  [[nodiscard]] bool read_entries(std::size_t& entries) noexcept;
  bool fail(const char* why) noexcept;

  // A process that holds the lock for so long is stopped: a booking takes microseconds.
  static constexpr std::int64_t kPatience = 100'000'000;

  base::VerifiedDescriptor file_;
  std::int64_t patience_ = kPatience;  // with the lock's present holder
  unsigned slot_ = kSlots;
  LedgerEntry entry_;
  std::array<LedgerEntry, kSlots> all_;
  const char* problem_ = "";
};

// What a reader sees of the ledgers in a folder: entries of living processes, by the files' names. Nothing in them is trusted.
struct LedgerReport {
  std::string file;    // its name, which distinguishes two devices of one name
  std::string device;  // printable, as is the tenant
  std::string tenant;
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;
  std::uint64_t limit = 0;
};
std::vector<LedgerReport> read_ledgers(const std::string& folder);

}  // namespace cleave::limits
