#include "neighbours/entry.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "neighbours/registry.h"

namespace cleave::neighbours {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

template <typename T>
void add(T& figure, T more) {
  std::atomic_ref<T>(figure).fetch_add(more, kRelaxed);
}

// Everybody's, where we are the one who makes it.
void make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0) static_cast<void>(chmod(folder.c_str(), 01777));
}

std::string new_name() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce) {
    nonce = static_cast<std::uint64_t>(base::Clock::system().now().count());
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ".%016llx", static_cast<unsigned long long>(nonce));
  return std::to_string(getpid()) + text.data();
}

// A program whose files may not grow gets a signal where one does.
bool may_write_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= CLEAVE_REGISTRY_FILE_SIZE;
}

void describe(cleave_registry_entry& entry) {
  entry.version = CLEAVE_REGISTRY_VERSION;
  entry.pid = static_cast<std::uint32_t>(getpid());
  entry.started = static_cast<std::uint64_t>(time(nullptr));
  std::snprintf(entry.program, sizeof entry.program, "%s", program_invocation_short_name);
}

}  // namespace

Entry::Entry(std::string folder) : folder_(std::move(folder)) { own_.vms = 1; }

Entry::~Entry() {
  leave();
  if (page_ != nullptr) munmap(page_, CLEAVE_REGISTRY_FILE_SIZE);
}

void Entry::use(std::uint64_t device) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::uint64_t& known : figures_.load(kRelaxed)->devices) {
    if (known == device) return;
    if (known != 0) continue;
    return std::atomic_ref(known).store(device, kRelaxed);
  }
}

void Entry::enter() noexcept try {
  const std::scoped_lock lock(mutex_);
  if (folder_.empty() || left_ || page_ != nullptr || !may_write_files()) return;
  make_folder(folder_);
  const int folder = open_registry(folder_);
  if (folder < 0) return;
  sweep(folder);
  make(folder);
  ::close(folder);
} catch (...) {  // out of memory: the figures stay here
}

void Entry::make(int folder) {
  std::string name = new_name();
  // Nobody may write to it but through what we open here: a file that somebody shortens by mistake would end
  // this process.
  held_.open(openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (held_.get() < 0) return;
  if (lock_and_map()) {
    file_ = std::move(name);
  } else {
    unlinkat(folder, name.c_str(), 0);
    held_.close();
  }
}

bool Entry::lock_and_map() {
  // Whatever our umask says, everybody may read it.
  static_cast<void>(fchmod(held_.get(), 0444));
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (fcntl(held_.get(), F_OFD_SETLK, &all) != 0) return false;
  // Without room on the file system, the page would be missing when it is first written to.
  if (posix_fallocate(held_.get(), 0, CLEAVE_REGISTRY_FILE_SIZE) != 0) return false;
  void* const page =
      mmap(nullptr, CLEAVE_REGISTRY_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, held_.get(), 0);
  if (page == MAP_FAILED) return false;
  auto* const entry = static_cast<cleave_registry_entry*>(page);
  *entry = own_;
  describe(*entry);
  std::atomic_ref(entry->magic).store(CLEAVE_REGISTRY_MAGIC, std::memory_order_release);
  page_ = page;
  figures_.store(entry, std::memory_order_release);
  return true;
}

void Entry::leave() noexcept {
  left_ = true;
  // A signal's handler may call exit() anywhere: what stays behind then, others sweep.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || file_.empty()) return;
  const int folder = open_registry(folder_);
  if (folder < 0) return;
  unlinkat(folder, file_.c_str(), 0);
  ::close(folder);
  file_.clear();
}

void Entry::after_fork_in_child() noexcept {
  if (page_ != nullptr) munmap(page_, CLEAVE_REGISTRY_FILE_SIZE);
  page_ = nullptr;
  held_.close();
  file_.clear();
  const unsigned vms = own_.vms;
  own_ = {};
  own_.vms = vms;
  figures_.store(&own_, kRelaxed);
}

Entry::Devices Entry::devices() const {
  const std::scoped_lock lock(mutex_);
  Devices devices;
  std::copy_n(figures_.load(kRelaxed)->devices, devices.size(), devices.begin());
  return devices;
}

std::string Entry::file() const {
  const std::scoped_lock lock(mutex_);
  return file_;
}

void Entry::set_vms(unsigned vms) noexcept {
  const std::scoped_lock lock(mutex_);
  own_.vms = vms;
  std::atomic_ref(figures_.load(kRelaxed)->vms).store(vms, kRelaxed);
}

void Entry::count_whole() noexcept { add<std::uint64_t>(figures_.load(std::memory_order_acquire)->whole, 1); }

void Entry::count_split(std::size_t slices, base::Nanoseconds added) noexcept {
  cleave_registry_entry& figures = *figures_.load(std::memory_order_acquire);
  add<std::uint64_t>(figures.split, 1);
  add<std::uint64_t>(figures.slices, slices);
  add<std::uint64_t>(figures.added_ns, static_cast<std::uint64_t>(added.count()));
}

}  // namespace cleave::neighbours
