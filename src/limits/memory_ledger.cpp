#include "limits/memory_ledger.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <span>
#include <unistd.h>

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file_descriptor.h"
#include "base/hash.h"
#include "base/scoped_thread_state.h"

namespace cleave::limits {
namespace {

// Who holds the lock for so long is stopped: a booking takes microseconds.
constexpr std::int64_t kPatience = 100'000'000;
constexpr long kLockPause = 20'000;
constexpr int kOpenFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

struct FileHead {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint64_t unused = 0;
  std::array<char, 64> device{};
};

std::string printable_text(std::span<const char> bytes) {
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct flock lock_of(short type, off_t offset) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

bool try_lock(int fd, short type, off_t offset) {
  struct flock lock = lock_of(type, offset);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Whether another process has the byte locked. If the system cannot tell, it counts as locked.
bool is_locked_by_another(int fd, off_t offset) {
  struct flock found = lock_of(F_WRLCK, offset);
  return fcntl(fd, F_OFD_GETLK, &found) != 0 || found.l_type != F_UNLCK;
}

constexpr off_t offset_of_entry(unsigned slot) {
  return static_cast<off_t>(sizeof(FileHead) + slot * sizeof(LedgerEntry));
}

// With a smaller limit, writing would raise SIGXFSZ in the program.
bool is_writing_allowed() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         limit.rlim_cur >= sizeof(FileHead) + MemoryLedger::kSlots * sizeof(LedgerEntry);
}

int open_folder_of(const std::string& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Writable for those who may write the folder. First without O_CREAT, which kernels refuse for others' files in a folder that
// all may write.
int open_ledger_file(int folder, const std::string& name) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (const int fd = openat(folder, name.c_str(), O_RDWR | kOpenFlags); fd >= 0) return fd;
    if (errno == EACCES) {  // perhaps somebody is just making it
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
      continue;
    }
    if (errno != ENOENT) return -1;
    struct stat status {};
    const mode_t shared = fstat(folder, &status) == 0 ? status.st_mode & (S_IWGRP | S_IWOTH) : 0;
    const int fd = openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | kOpenFlags, 0600);
    if (fd >= 0) return static_cast<void>(fchmod(fd, 0600 | shared | shared << 1U)), fd;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

std::uint64_t new_ledger_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
    nonce = static_cast<std::uint64_t>(now_ns()) << 22U | static_cast<std::uint64_t>(getpid());
  return std::max<std::uint64_t>(nonce, 1);
}

}  // namespace

std::string MemoryLedger::name_for(const std::string& identity) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "memory-%016llx",
                static_cast<unsigned long long>(base::hash_of(identity + '\n' + std::to_string(kVersion))));
  return name.data();
}

std::unique_ptr<MemoryLedger> MemoryLedger::open(const std::string& folder, const std::string& identity,
                                                 std::string_view tenant, std::string& problem,
                                                 std::string_view device) {
  const base::ScopedCancelDisable uncancelled;
  if (mkdir(folder.c_str(), 0755) == 0) static_cast<void>(chmod(folder.c_str(), 01777));
  const std::string name = name_for(identity);
  const std::string path = folder + '/' + name;
  const base::FileDescriptor registry(open_folder_of(folder));
  const int fd = registry.is_open() ? open_ledger_file(registry.get(), name) : -1;
  if (fd < 0) return problem = "cannot open " + path + ": " + std::strerror(errno), nullptr;
  std::unique_ptr<MemoryLedger> ledger(new MemoryLedger);
  ledger->file_.open(fd);
  ledger->entry_.nonce = new_ledger_nonce();
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
  if (is_writing_allowed()) static_cast<void>(write_entry());
  try_lock(file_.get(), F_UNLCK, kSlotLocks + static_cast<off_t>(slot_));
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
  return is_writing_allowed() || fail("the limit on the size of files (RLIMIT_FSIZE) is too small");
}

bool MemoryLedger::claim_slot(std::string_view device) noexcept {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fail("it is not a plain file");
  FileHead head;
  const ssize_t got = pread(file_.get(), &head, sizeof head, 0);
  if (got < 0) return fail("it cannot be read");
  if (got == 0 || (head.magic == 0 && head.version == 0)) {
    head = {kMagic, kVersion, 0, {}};
    std::copy_n(device.begin(), std::min(device.size(), head.device.size()), head.device.begin());
    if (pwrite(file_.get(), &head, sizeof head, 0) != sizeof head) return fail("it cannot be written");
  }
  if (head.magic != kMagic || head.version != kVersion) return fail("it holds something else; delete it");
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!try_lock(file_.get(), F_WRLCK, kSlotLocks + static_cast<off_t>(slot))) continue;
    slot_ = slot;
    return write_entry() || fail("it cannot be written");
  }
  return fail("too many processes use the device");
}

bool MemoryLedger::write_entry() noexcept {
  return pwrite(file_.get(), &entry_, sizeof entry_, offset_of_entry(slot_)) == sizeof entry_;
}

bool MemoryLedger::lock() noexcept {
  const std::int64_t until = now_ns() + kPatience;
  for (long pause = kLockPause;; pause = std::min(2 * pause, 1'000'000L)) {
    if (try_lock(file_.get(), F_WRLCK, kLock)) return true;
    if ((errno != EAGAIN && errno != EACCES) || now_ns() > until) return false;
    const timespec time{0, pause};
    nanosleep(&time, nullptr);
  }
}

void MemoryLedger::unlock() noexcept { try_lock(file_.get(), F_UNLCK, kLock); }

bool MemoryLedger::is_alive(unsigned slot) const noexcept {
  return slot == slot_ || is_locked_by_another(file_.get(), kSlotLocks + static_cast<off_t>(slot));
}

bool MemoryLedger::read_entries(std::size_t& entries) noexcept {
  ssize_t got = 0;
  do got = pread(file_.get(), all_.data(), sizeof all_, offset_of_entry(0));
  while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  entries = static_cast<std::size_t>(got) / sizeof(LedgerEntry);
  return true;
}

std::uint64_t MemoryLedger::sum(std::size_t entries, bool living) const noexcept {
  std::uint64_t sum = 0;
  for (unsigned slot = 0; slot < entries; ++slot) {
    const LedgerEntry& each = all_[slot];
    if (each.nonce == 0 || each.group != entry_.group || each.bytes == 0 || slot == slot_) continue;
    if (!living || is_alive(slot)) sum = saturating_sum(sum, each.bytes);
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
  // Without a tenant there is nobody whose bookings matter.
  const bool is_shared = limit != 0 && entry_.group != entry_.nonce;
  const bool is_locked = is_shared && lock();
  std::size_t entries = 0;
  bool fits = true;
  const bool written = write_entry();
  const bool read = written && (!is_shared || read_entries(entries));
  // Whether the others live is asked only where it matters.
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
  const base::FileDescriptor file(openat(folder, name.c_str(), O_RDONLY | kOpenFlags));
  struct stat status {};
  FileHead head;
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (pread(file.get(), &head, sizeof head, 0) != sizeof head || head.magic != MemoryLedger::kMagic ||
      head.version != MemoryLedger::kVersion)
    return;
  for (unsigned slot = 0; slot < MemoryLedger::kSlots; ++slot) {
    LedgerEntry entry;
    if (pread(file.get(), &entry, sizeof entry, offset_of_entry(slot)) != sizeof entry) break;
    struct flock lock = lock_of(F_RDLCK, MemoryLedger::kSlotLocks + static_cast<off_t>(slot));
    const bool alive = fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    if (entry.nonce == 0 || !alive) continue;
    reports.push_back({printable_text(name), printable_text(head.device), printable_text(entry.tenant),
                       entry.pid, entry.bytes, entry.peak, entry.limit});
  }
}

}  // namespace

std::vector<LedgerReport> read_ledgers(const std::string& folder) {
  constexpr std::size_t kMostLedgers = 256;
  std::vector<LedgerReport> reports;
  const base::FileDescriptor registry(open_folder_of(folder));
  const int again = registry.is_open() ? openat(registry.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  const auto done = [](DIR* list) { closedir(list); };
  const std::unique_ptr<DIR, decltype(done)> list(again >= 0 ? fdopendir(again) : nullptr, done);
  if (!list) {
    if (again >= 0) close(again);
    return reports;
  }
  std::vector<std::string> names;
  while (const dirent* const each = readdir(list.get())) {
    if (std::string_view(each->d_name).starts_with("memory-")) names.emplace_back(each->d_name);
    if (names.size() == kMostLedgers) break;
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) read_one(registry.get(), name, reports);
  return reports;
}

}  // namespace cleave::limits
