#include "remote/server/supervisor/worker_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "remote/server/session/process_growth.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMostProcesses = 4096;

void add_children(pid_t process, std::vector<pid_t>& all) {
  std::error_code ended;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ended)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
}

}  // namespace

std::uint64_t memory_of_tree(pid_t process) {
  std::vector<pid_t> all{process};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all.size() && i < kMostProcesses; ++i) {
    bytes += private_memory(std::to_string(all[i]).c_str());
    add_children(all[i], all);
  }
  return bytes;
}

std::uint64_t most_of_worker(std::uint64_t memory, const ClientLimits& limits) {
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t most = machine - machine / 16;
  const std::uint64_t own = growth_for(memory);
  return own >= most || limits.build.memory >= most - own ? most : own + limits.build.memory;
}

}  // namespace cleave::remote::server
