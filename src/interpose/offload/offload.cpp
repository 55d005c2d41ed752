#include "interpose/offload/offload.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "base/driver_platform.h"
#include "base/file_descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/own_descriptors.h"
#include "base/program_path.h"
#include "interpose/drivers/device_facts.h"
#include "interpose/state/cache_folder.h"
#include "learn/cost_table.h"

namespace cleave::interpose {
namespace {

constexpr const char* kRunsFile = "runs";
constexpr std::size_t kMaxRunsFile = std::size_t{1} << 20U;
constexpr std::size_t kMaxCommandLine = std::size_t{64} << 10U;

// Of a file whose size is not known beforehand, at most that much.
std::string read_beginning(const char* path, std::size_t most) {
  const base::FileDescriptor file(base::open_own(path, O_RDONLY));
  std::string text(most, '\0');
  std::size_t size = 0;
  while (file.is_open() && size < most) {
    const ssize_t got = ::read(file.get(), text.data() + size, most - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// A hash of the executable's path and its arguments; 0 if they are not known.
std::uint64_t this_program() {
  const std::string path = base::program_path();
  const std::string arguments = read_beginning("/proc/self/cmdline", kMaxCommandLine);
  if (path.empty() || arguments.empty()) return 0;
  return base::hash_of(arguments, base::hash_of(path));
}

std::vector<cl_device_id> devices_of(const ListedPlatform& platform) {
  cl_uint count = 0;
  const auto ask = platform.table->clGetDeviceIDs;
  if (ask(platform.id, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_device_id> devices(count);
  if (ask(platform.id, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) return {};
  return devices;
}

std::vector<base::RemoteLink> links_of(const ListedPlatform& platform, cl_platform_info what) {
  std::size_t bytes = 0;
  const auto ask = [&](std::size_t size, void* value, std::size_t* size_ret) {
    return base::get_driver_platform_info(*platform.table, platform.id, what, size, value, size_ret);
  };
  if (ask(0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::vector<base::RemoteLink> links(bytes / sizeof(base::RemoteLink));
  if (!links.empty() && ask(links.size() * sizeof links[0], links.data(), nullptr) != CL_SUCCESS)
    links.clear();
  return links;
}

// Of the names, which the client knows: other queries would be round trips. `place` tells devices of one name apart.
std::uint64_t identity_at_server(const Table& table, cl_device_id device, std::uint64_t place) {
  std::uint64_t hash = place;
  for (const cl_device_info what : {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DRIVER_VERSION}) {
    char text[256] = {};
    table.clGetDeviceInfo(device, what, sizeof text - 1, text, nullptr);
    hash = base::hash_of(std::string_view(text), hash);
  }
  return hash;
}

}  // namespace

bool is_of_servers(const ListedPlatform& platform) {
  return base::is_remote_platform(*platform.table, platform.id);
}

Offload::Offload(base::ForkLocks& forks, const Table& below, const base::Settings& settings,
                 base::Clock& clock)
    : below_(below), settings_(settings), clock_(clock) {
  forks.add(base::ForkOrder::offload, *this);
}

std::vector<Offload::ListedDevice> Offload::list_devices(const std::vector<ListedPlatform>& platforms,
                                                         cl_platform_info links_asked) {
  std::vector<ListedDevice> listed;
  for (const ListedPlatform& platform : platforms) {
    const bool remote = is_of_servers(platform);
    const std::vector<base::RemoteLink> links =
        remote ? links_of(platform, links_asked) : std::vector<base::RemoteLink>();
    const std::vector<cl_device_id> devices = devices_of(platform);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      KnownDevice known;
      if (!remote) {
        known.key = identity_of(*platform.table, devices[i]);
      } else {
        const base::RemoteLink link = i < links.size() ? links[i] : base::RemoteLink{};
        known.key = identity_at_server(*platform.table, devices[i], learn::mix_key(link.server, i));
        known.reachable = link.connected != 0;
        known.link = learn::Link{base::Nanoseconds(static_cast<std::int64_t>(link.round_trip)),
                                 static_cast<double>(link.bytes_per_second)};
      }
      listed.push_back({devices[i], known});
    }
  }
  return listed;
}

void Offload::read_runs() {
  {
    const base::MutexLock lock(mutex_);
    if (runs_) return;
  }
  std::vector<learn::RunLine> runs;
  const std::uint64_t program = settings_.cache.empty() ? 0 : this_program();
  if (program != 0) runs = learn::runs_of(read_file(settings_.cache, kRunsFile, kMaxRunsFile), program);
  const base::MutexLock lock(mutex_);
  if (!runs_) runs_ = std::move(runs);
}

std::optional<learn::RunCost> Offload::cost_on(std::uint64_t device) const {
  for (const learn::RunLine& run : *runs_) {
    if (run.device == device) return run.cost;
  }
  return std::nullopt;
}

learn::OffloadDecision Offload::decide(const std::vector<ListedPlatform>& platforms, cl_platform_info links) {
  const std::vector<ListedDevice> listed = list_devices(platforms, links);
  const base::MutexLock lock(mutex_);
  std::vector<learn::OffloadCandidate> candidates;
  for (const ListedDevice& device : listed) {
    devices_[device.id] = device.known;
    candidates.push_back({device.known.link, device.known.reachable, cost_on(device.known.key)});
  }
  learn::OffloadDecision decision = learn::decide_offload(candidates);
  remote_order_.clear();
  for (const std::size_t index : decision.remotes) remote_order_.push_back(listed[index].id);
  return decision;
}

// What has not been measured of a link costs nothing, so the more is measured the less speaks for the server: measuring ends when
// the decision is against it.
bool Offload::prefers_remote(const std::vector<ListedPlatform>& platforms) {
  read_runs();
  learn::OffloadDecision decision = decide(platforms, base::kPlatformLinks);
  for (const cl_platform_info links : {base::kPlatformLinksTimed, base::kPlatformLinksRated}) {
    if (decision.remote_first) decision = decide(platforms, links);
  }
  if (settings_.explain) explain(decision);
  return decision.remote_first;
}

bool Offload::lists_remote_first(const std::vector<ListedPlatform>& platforms) {
  {
    const base::MutexLock lock(mutex_);
    if (lists_remote_first_) return *lists_remote_first_;
  }
  const bool decided = prefers_remote(platforms);
  const base::MutexLock lock(mutex_);
  if (!lists_remote_first_) lists_remote_first_ = decided;  // another thread may have been first
  return *lists_remote_first_;
}

void Offload::explain(const learn::OffloadDecision& decision) {
  const std::string text = learn::describe(decision);
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(explained_, text) == text) return;
  }
  base::log_line("remote.prefer: " + text);
}

void Offload::order_devices(std::vector<cl_device_id>& devices) const {
  const base::MutexLock lock(mutex_);
  const auto place = [&](cl_device_id device) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    return std::find(remote_order_.begin(), remote_order_.end(), device) - remote_order_.begin();
  };
  std::stable_sort(devices.begin(), devices.end(),
                   [&](cl_device_id one, cl_device_id other) { return place(one) < place(other); });
}

void Offload::enqueue(cl_command_queue queue) noexcept {
  const base::Nanoseconds now = clock_.now();
  {
    const base::MutexLock lock(mutex_);
    meter_.enqueue(now);
    const auto known =
        std::find_if(queues_.begin(), queues_.end(), [&](const QueueOf& one) { return one.queue == queue; });
    if (known != queues_.end() && queue != nullptr) return meter_.use(known->device);
  }
  cl_device_id device = nullptr;
  if (below_.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, static_cast<void*>(&device),
                                   nullptr) != CL_SUCCESS)
    return;
  const base::MutexLock lock(mutex_);
  meter_.use(device);
  queues_[next_queue_++ % queues_.size()] = {queue, device};
}

void Offload::begin_wait() noexcept {
  const base::Nanoseconds now = clock_.now();
  const base::MutexLock lock(mutex_);
  meter_.begin_wait(now);
}

void Offload::end_wait(bool good) noexcept {
  const base::Nanoseconds now = clock_.now();
  const base::MutexLock lock(mutex_);
  meter_.end_wait(now);
  if (!good) meter_.fail();
}

bool Offload::begin_first_wait(const void* object, cl_uint number) noexcept {
  const std::uint64_t hash =
      learn::mix_key(reinterpret_cast<std::uintptr_t>(object), std::uint64_t{number} + 1);
  const base::Nanoseconds now = clock_.now();
  const base::MutexLock lock(mutex_);
  std::uint64_t& seen = seen_[hash % seen_.size()];
  if (std::exchange(seen, hash) == hash) return false;
  meter_.begin_wait(now);
  return true;
}

void Offload::move(std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  const base::MutexLock lock(mutex_);
  meter_.move(bytes);
}

void Offload::fail() noexcept {
  const base::MutexLock lock(mutex_);
  meter_.fail();
}

void Offload::forget_queues() noexcept {
  const base::MutexLock lock(mutex_);
  queues_ = {};
}

void Offload::save() noexcept try {
  learn::RunLine run;
  {
    // A signal handler may call exit() in the middle of another call.
    if (!mutex_.try_lock()) return;
    const base::MutexLock lock(mutex_, std::adopt_lock);
    const auto used = devices_.find(meter_.device());
    if (used == devices_.end() || meter_.waited().count() <= 0) return;
    const std::optional<learn::Link>& link = used->second.link;
    if (link && (link->round_trip.count() == 0 || link->bytes_per_second == 0))
      return;  // what it took is not known
    run.device = used->second.key;
    run.cost = learn::cost_of_run(meter_.waited(), meter_.traffic(), used->second.link);
  }
  run.program = settings_.cache.empty() ? 0 : this_program();
  if (run.program == 0) return;
  rewrite_file(settings_.cache, kRunsFile, kMaxRunsFile,
               [&](const std::string& old) { return learn::with_run(old, run); });
} catch (...) {  // out of memory: this run teaches nothing
}

std::unique_ptr<Offload> make_offload(base::ForkLocks& forks, const Table& below,
                                      const base::Settings& settings, base::Clock& clock) {
  const bool wanted = !settings.disable && !settings.remote.servers.empty() &&
                      settings.remote.prefer == base::Prefer::automatic;
  return wanted ? std::make_unique<Offload>(forks, below, settings, clock) : nullptr;
}

}  // namespace cleave::interpose
