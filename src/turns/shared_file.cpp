#include "turns/shared_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/files/file_descriptor.h"
#include "base/files/registry_file.h"

namespace cleave::turns {
namespace {

constexpr std::uint32_t kLockCount = 1 << 10;

// A process that holds the lock for so long is stopped: a step takes microseconds.
constexpr Ns kLongestStep = 50'000'000;

// How long a step waits for locks in all: for a stopped holder's, and for the next one.
constexpr Ns kPatience = 2 * kLongestStep;

// How often a step finds that another lock byte has come into use while it waited. That happens once for each process that is
// stopped in the middle of its step, unless somebody makes it happen.
constexpr int kMostMoves = 16;

// How long a search for a free slot may take: a process that locks very many ranges of the file makes each query of its
// locks slow.
constexpr Ns kLongestSearch = 100'000'000;

// The same for a step's liveness checks: those for which there is no time count as alive.
constexpr Ns kLongestLook = kLongestStep / 4;

bool may_write() { return base::may_write_up_to(SharedFile::kSize); }

constexpr std::size_t offset_of(std::uint32_t slot) { return sizeof(Header) + slot * sizeof(Participant); }

}  // namespace

Ns monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Ns>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::string SharedFile::name_for(const std::string& identity) {
  return base::registry_file_name("turns", identity, kFileVersion);
}

std::shared_ptr<SharedFile> SharedFile::adopt(int fd, const std::string& path, std::string& problem) {
  if (fd < 0) {
    problem = "cannot open " + path + ": " + std::strerror(errno);
    return nullptr;
  }
  std::shared_ptr<SharedFile> file(new SharedFile(fd));
  if (!file->map() || !file->update([](View, Ns) {})) {
    problem = path + ": " + file->problem();
    return nullptr;
  }
  return file;
}

std::shared_ptr<SharedFile> SharedFile::open(const std::string& folder, const std::string& identity,
                                             std::string& problem) {
  base::make_registry_folder(folder);
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  const std::string name = name_for(identity);
  return adopt(registry.is_open() ? base::open_or_create_registry_file(registry.get(), name) : -1,
               folder + '/' + name, problem);
}

std::shared_ptr<SharedFile> SharedFile::open_file(const std::string& folder, const std::string& name,
                                                  std::string& problem) {
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  return adopt(registry.is_open() ? base::open_registry_file(registry.get(), name) : -1, folder + '/' + name,
               problem);
}

SharedFile::~SharedFile() {
  if (futexes_ != nullptr) munmap(futexes_, kSize);
}

// The mapping too keeps the parent's locks.
void SharedFile::forget() {
  file_.close();
  if (futexes_ != nullptr) munmap(futexes_, kSize);
  futexes_ = nullptr;
}

bool SharedFile::fail(const char* why) {
  if (problem_.empty()) problem_ = why;
  return false;
}

// Reserves the file's memory: on a full file system, only this fails, and no later write.
bool SharedFile::fill() const {
  return may_write() && posix_fallocate(file_.get(), 0, static_cast<off_t>(kSize)) == 0;
}

bool SharedFile::map() {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fail("not a plain file");
  Header header;
  if (!base::read_at(file_.get(), &header, sizeof header, 0)) return fail("it cannot be read");
  const bool is_ours = header.magic == kFileMagic || header.magic == 0;
  if (is_ours && status.st_size < static_cast<off_t>(kSize) && !fill()) return fail("no room for it");
  void* const mapping = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapping == MAP_FAILED) return fail("it cannot be mapped");
  futexes_ = mapping;
  return true;
}

std::uint32_t SharedFile::claim_slot() {
  const Ns until = monotonic_now() + kLongestSearch;
  for (std::uint32_t slot = 0; slot < kMaxParticipants && monotonic_now() < until; ++slot) {
    if (base::try_lock_byte(file_.get(), kSlotLocks + static_cast<off_t>(slot))) return own_slot_ = slot;
  }
  return kNobody;
}

void SharedFile::release_slot() const {
  if (file_.is_valid()) base::unlock_bytes(file_.get(), kSlotLocks + static_cast<off_t>(own_slot_));
}

bool SharedFile::is_alive(std::uint32_t slot) const {
  if (slot == own_slot_ || looked_for_ > kLongestLook) return true;
  const Ns from = monotonic_now();
  // If the system cannot tell, it counts as alive; its lease ends it all the same.
  const bool alive = base::is_byte_locked(file_.get(), F_WRLCK, kSlotLocks + static_cast<off_t>(slot));
  looked_for_ += monotonic_now() - from;
  return alive;
}

bool SharedFile::lock(std::uint32_t number, Ns& patience) const {
  const Ns most = std::min(patience, kLongestStep);
  Ns left = most;
  const bool locked = base::lock_byte(file_.get(), kLocks + static_cast<off_t>(number % kLockCount), left);
  patience -= most - left;
  return locked;
}

void SharedFile::unlock() const { base::unlock_bytes(file_.get(), kLocks, kLockCount); }

bool SharedFile::read_state(State& state, Ns now) const {
  if (!base::read_at(file_.get(), &state.header, sizeof state.header, 0)) return false;
  const std::uint32_t slots = std::min<std::uint32_t>(state.header.slots, kMaxParticipants);
  if (!base::read_at(file_.get(), state.participants.data(), slots * sizeof(Participant), offset_of(0)))
    return false;
  const std::uint32_t tenants = std::min<std::uint32_t>(state.header.tenants, kMaxTenants);
  if (tenants != 0 &&
      !base::read_at(file_.get(), state.totals.data(), tenants * sizeof(TenantTotals), kTotals))
    return false;
  sanitize(state.view(), now);
  return true;
}

bool SharedFile::read(State& state) const {
  return file_.is_valid() && read_state(state, monotonic_now()) && state.header.magic == kFileMagic &&
         state.header.version == kFileVersion;
}

// The next lock byte replaces one whose holder is stopped.
bool SharedFile::pass_broken_lock(Ns& patience) {
  const std::uint32_t next = before_.header.lock + 1;
  if (!lock(next, patience))
    return fail(errno == EAGAIN ? "another process keeps it locked" : "it cannot be locked");
  Header now_there;
  if (base::read_at(file_.get(), &now_there, sizeof now_there, 0) && now_there.lock + 1 == next) {
    base::write_at(file_.get(), &next, sizeof next, offsetof(Header, lock));
  }
  unlock();
  return true;
}

bool SharedFile::begin_update() {
  if (!problem_.empty()) return false;
  Ns patience = kPatience;
  for (int moves = 0;; ++moves) {
    if (moves == kMostMoves) return fail("another process keeps changing it");
    if (!file_.is_valid()) {
      file_.close();  // the number may soon be that of another descriptor of the same file
      return fail("the program has closed it");
    }
    if (!may_write()) return fail("the limit on the size of files (RLIMIT_FSIZE) is too small");
    Header first;
    if (!base::read_at(file_.get(), &first, sizeof first, 0)) return fail("it cannot be read");
    before_.header.lock = first.lock;
    if (!lock(first.lock, patience)) {
      if (errno != EAGAIN) return fail("it cannot be locked");
      if (!pass_broken_lock(patience)) return false;
      continue;
    }
    now_ = monotonic_now();
    looked_for_ = 0;
    if (!read_state(before_, now_)) return unlock(), fail("it cannot be read");
    if (before_.header.lock == first.lock) break;
    unlock();
  }
  after_ = before_;
  Header& header = after_.header;
  if (header.magic == 0 && header.version == 0) {
    header.magic = kFileMagic;
    header.version = kFileVersion;
  }
  if (header.magic != kFileMagic) return unlock(), fail("it holds something else; delete it");
  if (header.version != kFileVersion) return unlock(), fail("it is of another version of Cleave");
  return true;
}

bool SharedFile::commit() {
  // Whose step took so long was stopped, and others may have gone on without it.
  if (monotonic_now() - now_ > kLongestStep / 2) return unlock(), false;
  bool written = true;
  const std::uint32_t slots = std::max(before_.header.slots, after_.header.slots);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (after_.participants[slot] == before_.participants[slot]) continue;
    written &= base::write_at(file_.get(), &after_.participants[slot], sizeof(Participant), offset_of(slot));
  }
  for (std::uint32_t i = 0; i < after_.header.tenants; ++i) {
    if (i < before_.header.tenants && after_.totals[i] == before_.totals[i]) continue;
    written &= base::write_at(file_.get(), &after_.totals[i], sizeof(TenantTotals),
                              kTotals + i * sizeof(TenantTotals));
  }
  // Last: it names the holder of the device.
  if (after_.header != before_.header)
    written &= base::write_at(file_.get(), &after_.header, sizeof(Header), 0);
  unlock();
  if (!written) return fail("it cannot be written");
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (after_.participants[slot].wakes == before_.participants[slot].wakes) continue;
    wake(offset_of(slot) + offsetof(Participant, wakes));
  }
  if (after_.header.members != before_.header.members) wake(offsetof(Header, members));
  return true;
}

void SharedFile::show_life(Ns now) const {
  if (file_.is_valid() && may_write()) base::write_at(file_.get(), &now, sizeof now, offsetof(Header, pulse));
}

void SharedFile::wake(std::size_t offset) const {
  syscall(SYS_futex, static_cast<std::byte*>(futexes_) + offset, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

bool SharedFile::wait(std::size_t offset, std::uint32_t value, const Ns* until) const {
  timespec time{};
  if (until != nullptr) time = {*until / 1'000'000'000, static_cast<long>(*until % 1'000'000'000)};
  const long result = syscall(SYS_futex, static_cast<std::byte*>(futexes_) + offset, FUTEX_WAIT_BITSET, value,
                              until != nullptr ? &time : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (result == 0 || errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR) return true;
  // EFAULT: somebody has truncated the file.
  return errno == EFAULT && file_.is_valid() && fill();
}

bool SharedFile::wait_for_wake(std::uint32_t slot, std::uint32_t value, Ns until) const {
  return wait(offset_of(slot) + offsetof(Participant, wakes), value, &until);
}

bool SharedFile::wait_for_members(std::uint32_t value) const {
  return wait(offsetof(Header, members), value, nullptr);
}

}  // namespace cleave::turns
