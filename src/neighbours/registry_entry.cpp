#include "neighbours/registry_entry.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/registry_file.h"
#include "base/threads/system_call_filter.h"
#include "neighbours/registry_folder.h"

namespace cleave::neighbours {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

template <typename T>
void add(T& figure, T more) {
  std::atomic_ref<T>(figure).fetch_add(more, kRelaxed);
}

std::string new_file_name() {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ".%016llx",
                static_cast<unsigned long long>(base::registry_nonce()));
  return std::to_string(getpid()) + text.data();
}

void fill_identity(cleave_registry_entry& entry) {
  entry.version = CLEAVE_REGISTRY_VERSION;
  entry.pid = static_cast<std::uint32_t>(getpid());
  entry.started = static_cast<std::uint64_t>(time(nullptr));
  std::snprintf(entry.program, sizeof entry.program, "%s", program_invocation_short_name);
}

}  // namespace

RegistryEntry::RegistryEntry(base::ForkLocks& forks, std::string folder) : folder_(std::move(folder)) {
  local_counters_.vms = 1;
  forks.add<&RegistryEntry::reset_in_child>(base::ForkOrder::registry_entry, mutex_, *this);
}

RegistryEntry::~RegistryEntry() {
  withdraw();
  const base::MutexLock lock(mutex_);
  if (page_ != nullptr) munmap(page_, CLEAVE_REGISTRY_FILE_SIZE);
}

void RegistryEntry::add_device(std::uint64_t device) noexcept {
  assert(device != 0);
  const base::MutexLock lock(mutex_);
  for (std::uint64_t& known : counters_.load(kRelaxed)->devices) {
    if (known == device) return;
    if (known != 0) continue;
    return std::atomic_ref(known).store(device, kRelaxed);
  }
}

void RegistryEntry::publish() noexcept try {
  const base::MutexLock lock(mutex_);
  if (is_published_by_other_) {
    return std::atomic_ref(counters_.load(kRelaxed)->magic)
        .store(CLEAVE_REGISTRY_MAGIC, std::memory_order_release);
  }
  if (folder_.empty() || withdrawn_ || page_ != nullptr || !base::may_write_up_to(CLEAVE_REGISTRY_FILE_SIZE))
    return;
  base::make_registry_folder(folder_);
  const base::FileDescriptor folder(base::open_registry_folder(folder_));
  if (!folder.is_open()) return;
  remove_dead_entries(folder.get());
  create_file(folder.get());
} catch (...) {  // out of memory: the counters stay private
}

void RegistryEntry::use_page(Page* page) noexcept {
  const base::MutexLock lock(mutex_);
  page->entry = local_counters_;
  page_ = page;
  is_published_by_other_ = true;
  counters_.store(&page->entry, std::memory_order_release);
}

std::optional<std::uint64_t> RegistryEntry::peers_by_other() const {
  const base::MutexLock lock(mutex_);
  if (!is_published_by_other_) return std::nullopt;
  return std::atomic_ref(static_cast<Page*>(page_)->peers).load(kRelaxed);
}

void RegistryEntry::take_figures(const cleave_registry_entry& page) noexcept {
  constexpr std::uint32_t kMostVms = 1 << 16;
  auto& from = const_cast<cleave_registry_entry&>(page);  // atomic_ref takes no constants before C++26
  cleave_registry_entry& to = *counters_.load(std::memory_order_acquire);
  const auto copy = [](std::uint64_t& source, std::uint64_t& target) {
    std::atomic_ref(target).store(std::atomic_ref(source).load(kRelaxed), kRelaxed);
  };
  copy(from.split, to.split);
  copy(from.slices, to.slices);
  copy(from.unsplit, to.unsplit);
  copy(from.unsplit_by_others, to.unsplit_by_others);
  copy(from.added_ns, to.added_ns);
  set_vms(std::clamp(std::atomic_ref(from.vms).load(kRelaxed), 1U, kMostVms));
}

void RegistryEntry::create_file(int folder) {
  std::string name = new_file_name();
  // Read-only for other users: if one truncated the file, writing to the page would raise SIGBUS here.
  locked_file_.open(base::open_own_at(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
  if (locked_file_.get() < 0) return;
  if (lock_and_map()) {
    file_name_ = std::move(name);
  } else {
    unlinkat(folder, name.c_str(), 0);
    locked_file_.close();
  }
}

bool RegistryEntry::lock_and_map() {
  // Readable for all users, whatever the umask.
  static_cast<void>(fchmod(locked_file_.get(), 0444));
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (fcntl(locked_file_.get(), F_OFD_SETLK, &all) != 0) return false;
  // Reserves the page: on a full file system, the first write to it would raise SIGBUS.
  if (posix_fallocate(locked_file_.get(), 0, CLEAVE_REGISTRY_FILE_SIZE) != 0) return false;
  void* const page =
      mmap(nullptr, CLEAVE_REGISTRY_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, locked_file_.get(), 0);
  if (page == MAP_FAILED) return false;
  auto* const entry = static_cast<cleave_registry_entry*>(page);
  *entry = local_counters_;
  fill_identity(*entry);
  std::atomic_ref(entry->magic).store(CLEAVE_REGISTRY_MAGIC, std::memory_order_release);
  page_ = page;
  counters_.store(entry, std::memory_order_release);
  return true;
}

void RegistryEntry::withdraw() noexcept {
  withdrawn_ = true;
  // Other processes remove the entry.
  if (base::has_new_system_call_filter()) return;
  // A signal handler may call exit() anywhere: never wait for the lock.
  if (!mutex_.try_lock()) return;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  if (file_name_.empty()) return;
  const base::FileDescriptor folder(base::open_registry_folder(folder_));
  if (!folder.is_open()) return;
  unlinkat(folder.get(), file_name_.c_str(), 0);
  file_name_.clear();
}

void RegistryEntry::reset_in_child() noexcept {
  if (page_ != nullptr) munmap(page_, CLEAVE_REGISTRY_FILE_SIZE);
  page_ = nullptr;
  is_published_by_other_ = false;
  locked_file_.close();
  file_name_.clear();
  const unsigned vms = local_counters_.vms;
  local_counters_ = {};
  first_.reset();
  local_counters_.vms = vms;
  counters_.store(&local_counters_, kRelaxed);
}

RegistryEntry::Devices RegistryEntry::devices() const {
  const base::MutexLock lock(mutex_);
  Devices devices;
  std::copy_n(counters_.load(kRelaxed)->devices, devices.size(), devices.begin());
  return devices;
}

std::string RegistryEntry::file() const {
  const base::MutexLock lock(mutex_);
  return file_name_;
}

void RegistryEntry::set_vms(unsigned vms) noexcept {
  const base::MutexLock lock(mutex_);
  local_counters_.vms = vms;
  std::atomic_ref(counters_.load(kRelaxed)->vms).store(vms, kRelaxed);
}

void RegistryEntry::count_split(std::size_t slices, base::Nanoseconds added) noexcept {
  cleave_registry_entry& counters = *counters_.load(std::memory_order_acquire);
  add<std::uint64_t>(counters.split, 1);
  add<std::uint64_t>(counters.slices, slices);
  add<std::uint64_t>(counters.added_ns, static_cast<std::uint64_t>(added.count()));
}

}  // namespace cleave::neighbours
