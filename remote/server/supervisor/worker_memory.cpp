#include "remote/server/supervisor/worker_memory.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMostProcesses = 4096;
// For the page tables of all of a worker's processes: it decides how many there are, and the supervisor has others to serve.
constexpr std::chrono::milliseconds kLongestWalk{50};

void add_children(pid_t process, std::vector<pid_t>& all) {
  std::error_code ended;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ended)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
}

// The sum of the lines of a file of /proc that begin with these names, in bytes. None: it cannot be read, or has none of them.
std::optional<std::uint64_t> sum_of(pid_t process, const char* name,
                                    std::span<const std::string_view> wanted) {
  std::ifstream file("/proc/" + std::to_string(process) + "/" + name);
  std::optional<std::uint64_t> sum;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (words >> key >> kib && std::find(wanted.begin(), wanted.end(), key) != wanted.end())
      sum = sum.value_or(0) + (kib << 10U);
  }
  return sum;
}

std::uint64_t memory_of_process(pid_t process) {
  static constexpr std::array<std::string_view, 3> kLines{"RssAnon:", "RssShmem:", "VmSwap:"};
  return sum_of(process, "status", kLines).value_or(0);
}

std::uint64_t own_memory_of(pid_t process) {
  static constexpr std::array<std::string_view, 3> kLines{"Pss_Anon:", "Pss_Shmem:", "SwapPss:"};
  const auto own = sum_of(process, "smaps_rollup", kLines);
  return own ? *own : memory_of_process(process);
}

template <typename Measure>
std::uint64_t sum_of_tree(pid_t process, Measure measure) {
  std::vector<pid_t> all{process};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all.size() && i < kMostProcesses; ++i) {
    bytes += measure(all[i]);
    add_children(all[i], all);
  }
  return bytes;
}

}  // namespace

std::uint64_t memory_of_tree(pid_t process) { return sum_of_tree(process, memory_of_process); }

std::uint64_t own_memory_of_tree(pid_t process) {
  const auto until = std::chrono::steady_clock::now() + kLongestWalk;
  return sum_of_tree(process, [until](pid_t each) {
    return std::chrono::steady_clock::now() < until ? own_memory_of(each) : memory_of_process(each);
  });
}

std::uint64_t most_of_worker(std::uint64_t memory, const ClientLimits& limits) {
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t most = machine - machine / 16;
  const std::uint64_t own = growth_for(memory);
  return own >= most || limits.build.memory >= most - own ? most : own + limits.build.memory;
}

}  // namespace cleave::remote::server
