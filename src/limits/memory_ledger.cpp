#include "limits/memory_ledger.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <span>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/registry_file.h"
#include "base/text/display_text.h"
#include "base/text/hash.h"
#include "base/threads/scoped_thread_state.h"

namespace cleave::limits {
namespace {

// How long a search for a free slot, and checks for liveness, may take: a process that locks very many ranges of the
// file makes each query of its locks slow.
constexpr std::int64_t kLongestSearch = 100'000'000;
constexpr std::int64_t kLongestLook = 25'000'000;

std::int64_t steady_now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct FileHead {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint64_t unused = 0;
  std::array<char, 64> device{};
};

std::string printable_text(std::span<const char> bytes) {
  return base::displayable_ascii({bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0')});
}

constexpr std::size_t offset_of_entry(unsigned slot) { return sizeof(FileHead) + slot * sizeof(LedgerEntry); }

bool may_write_entries() {
  return base::may_write_up_to(sizeof(FileHead) + MemoryLedger::kSlots * sizeof(LedgerEntry));
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

}  // namespace

std::string MemoryLedger::name_for(const std::string& identity) {
  return base::registry_file_name("memory", identity, kVersion);
}

std::unique_ptr<MemoryLedger> MemoryLedger::open(const std::string& folder, const std::string& identity,
                                                 std::string_view tenant, std::string& problem,
                                                 std::string_view device) {
  const base::ScopedCancelDisable uncancelled;
  base::make_registry_folder(folder);
  const std::string name = name_for(identity);
  const std::string path = folder + '/' + name;
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  const int fd = registry.is_open() ? base::open_or_create_registry_file(registry.get(), name) : -1;
  if (fd < 0) return problem = "cannot open " + path + ": " + std::strerror(errno), nullptr;
  std::unique_ptr<MemoryLedger> ledger(new MemoryLedger);
  ledger->file_.open(fd);
  ledger->entry_.nonce = base::registry_nonce();
  ledger->entry_.group = tenant.empty() ? ledger->entry_.nonce : base::hash_of(tenant);
  ledger->entry_.pid = static_cast<std::uint32_t>(getpid());
  const std::size_t length = std::min(tenant.size(), kTenantBytes - 1);
  std::copy_n(tenant.begin(), length, ledger->entry_.tenant.begin());
  if (!ledger->is_usable() || !ledger->claim_slot(device))
    return problem = path + ": " + ledger->problem_, nullptr;
  return ledger;
}

MemoryLedger::~MemoryLedger() {
  const base::ScopedCancelDisable uncancelled;
  if (slot_ == kSlots || !file_.is_valid()) return;
  entry_ = {};
  if (may_write_entries()) static_cast<void>(write_entry());
  base::unlock_bytes(file_.get(), kSlotLocks + static_cast<off_t>(slot_));
}

void MemoryLedger::forget() noexcept {
  file_.close();
  slot_ = kSlots;
}

bool MemoryLedger::fail(const char* why) noexcept {
  if (*problem_ == '\0') problem_ = why;
  return false;
}

bool MemoryLedger::is_usable() noexcept {
  if (*problem_ != '\0') return false;
  if (!file_.is_valid()) {
    file_.close();  // the number may soon be that of another file
    return fail("the program has closed it");
  }
  return may_write_entries() || fail("the limit on the size of files (RLIMIT_FSIZE) is too small");
}

bool MemoryLedger::claim_slot(std::string_view device) noexcept {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fail("it is not a plain file");
  FileHead head;
  if (!base::read_at(file_.get(), &head, sizeof head, 0)) return fail("it cannot be read");
  if (head.magic == 0 && head.version == 0) {
    head = {kMagic, kVersion, 0, {}};
    std::copy_n(device.begin(), std::min(device.size(), head.device.size()), head.device.begin());
    if (!base::write_at(file_.get(), &head, sizeof head, 0)) return fail("it cannot be written");
  }
  if (head.magic != kMagic || head.version != kVersion) return fail("it holds something else; delete it");
  const std::int64_t until = steady_now() + kLongestSearch;
  for (unsigned slot = 0; slot < kSlots && steady_now() < until; ++slot) {
    if (!base::try_lock_byte(file_.get(), kSlotLocks + static_cast<off_t>(slot))) continue;
    slot_ = slot;
    return write_entry() || fail("it cannot be written");
  }
  return fail("too many processes use the device");
}

bool MemoryLedger::write_entry() noexcept {
  return base::write_at(file_.get(), &entry_, sizeof entry_, offset_of_entry(slot_));
}

// Once it was held for too long, its holder is not waited for again until the lock has been seen free.
bool MemoryLedger::lock() noexcept {
  const bool locked = base::lock_byte(file_.get(), kLock, patience_);
  if (locked) patience_ = kPatience;
  return locked;
}

void MemoryLedger::unlock() noexcept { base::unlock_bytes(file_.get(), kLock); }

bool MemoryLedger::is_alive(unsigned slot) const noexcept {
  return slot == slot_ || base::is_byte_locked(file_.get(), F_WRLCK, kSlotLocks + static_cast<off_t>(slot));
}

bool MemoryLedger::read_entries(std::size_t& entries) noexcept {
  ssize_t got = 0;
  do got = pread(file_.get(), all_.data(), sizeof all_, static_cast<off_t>(offset_of_entry(0)));
  while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  entries = static_cast<std::size_t>(got) / sizeof(LedgerEntry);
  return true;
}

std::uint64_t MemoryLedger::sum(std::size_t entries, bool living) const noexcept {
  std::uint64_t sum = 0;
  const std::int64_t until = living ? steady_now() + kLongestLook : 0;
  for (unsigned slot = 0; slot < entries; ++slot) {
    const LedgerEntry& each = all_[slot];
    if (each.nonce == 0 || each.group != entry_.group || each.bytes == 0 || slot == slot_) continue;
    if (!living || steady_now() > until || is_alive(slot)) sum = saturating_sum(sum, each.bytes);
  }
  return saturating_sum(sum, entry_.bytes);
}

MemoryLedger::Answer MemoryLedger::book(std::uint64_t bytes, std::uint64_t limit) noexcept {
  const base::ScopedCancelDisable uncancelled;
  if (!is_usable()) return Answer::unusable;
  const LedgerEntry before = entry_;
  entry_.bytes = saturating_sum(entry_.bytes, bytes);
  entry_.limit = limit;
  entry_.peak = std::max(entry_.peak, entry_.bytes);
  if (limit != 0 && entry_.bytes > limit) {
    excess_ = entry_.bytes - limit;
    return entry_ = before, Answer::beyond;
  }
  // Without a tenant no other bookings matter.
  const bool is_shared = limit != 0 && entry_.group != entry_.nonce;
  const bool is_locked = is_shared && lock();
  std::size_t entries = 0;
  bool fits = true;
  const bool written = write_entry();
  const bool read = written && (!is_shared || read_entries(entries));
  // Whether the others live is checked only if it matters.
  if (read && is_shared && sum(entries, false) > limit) {
    const std::uint64_t living = sum(entries, true);
    fits = living <= limit;
    excess_ = fits ? 0 : living - limit;
  }
  if (!fits) {
    entry_ = before;
    entry_.limit = limit;
    static_cast<void>(write_entry());
  }
  if (is_locked) unlock();
  if (!read) return entry_ = before, fail("it cannot be read and written"), Answer::unusable;
  return fits ? Answer::booked : Answer::beyond;
}

void MemoryLedger::release(std::uint64_t bytes) noexcept {
  const base::ScopedCancelDisable uncancelled;
  entry_.bytes -= std::min(entry_.bytes, bytes);
  if (is_usable() && !write_entry()) fail("it cannot be written");
}

namespace {

void read_one(int folder, const std::string& name, std::vector<LedgerReport>& reports) {
  const base::FileDescriptor file(
      base::open_own_at(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  FileHead head;
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (pread(file.get(), &head, sizeof head, 0) != sizeof head || head.magic != MemoryLedger::kMagic ||
      head.version != MemoryLedger::kVersion)
    return;
  for (unsigned slot = 0; slot < MemoryLedger::kSlots; ++slot) {
    LedgerEntry entry;
    if (pread(file.get(), &entry, sizeof entry, static_cast<off_t>(offset_of_entry(slot))) != sizeof entry)
      break;
    // A descriptor for reading can only query read locks.
    const bool alive =
        base::is_byte_locked(file.get(), F_RDLCK, MemoryLedger::kSlotLocks + static_cast<off_t>(slot));
    if (entry.nonce == 0 || !alive) continue;
    reports.push_back({printable_text(name), printable_text(head.device), printable_text(entry.tenant),
                       entry.pid, entry.bytes, entry.peak, entry.limit});
  }
}

}  // namespace

std::vector<LedgerReport> read_ledgers(const std::string& folder) {
  std::vector<LedgerReport> reports;
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  if (!registry.is_open()) return reports;
  for (const std::string& name : base::registry_files(registry.get(), "memory"))
    read_one(registry.get(), name, reports);
  return reports;
}

}  // namespace cleave::limits
