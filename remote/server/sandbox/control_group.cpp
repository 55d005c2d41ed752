#include "remote/server/sandbox/control_group.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::remote::server {
namespace {

constexpr unsigned kPeriod = 100'000;  // us, in which a worker gets its share of the processors

bool write_to(const std::string& path, const std::string& text) {
  const base::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() && base::write_all(file.get(), text);
}

}  // namespace

std::string own_group_folder(const std::string& groups, const std::string& mounts) {
  std::string own;
  std::istringstream group_lines(groups);
  for (std::string line; std::getline(group_lines, line);) {
    if (line.starts_with("0::")) own = line.substr(3);
  }
  if (own.empty()) return "";
  // "36 35 0:31 ROOT POINT options ... - cgroup2 ..."
  std::istringstream mount_lines(mounts);
  for (std::string line; std::getline(mount_lines, line);) {
    const std::size_t type = line.find(" - cgroup2 ");
    if (type == std::string::npos) continue;
    std::istringstream words(line);
    std::string skipped;
    std::string root;
    std::string point;
    words >> skipped >> skipped >> skipped >> root >> point;
    if (root != "/" && !own.starts_with(root)) continue;
    return point + (root == "/" ? own : own.substr(root.size()));
  }
  return "";
}

ControlGroup::ControlGroup(std::string path)
    : path_(std::move(path)), entry_(::open((path_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)) {}

bool ControlGroup::kill() const { return !path_.empty() && write_to(path_ + "/cgroup.kill", "1"); }

ControlGroup::~ControlGroup() {
  if (path_.empty()) return;
  kill();
  // The kernel takes a moment to empty it.
  for (int i = 0; ::rmdir(path_.c_str()) != 0 && errno == EBUSY && i < 20; ++i) ::usleep(1000);
}

// A group with limits for its parts holds no processes itself, so the server's move to a part of their own.
std::optional<ControlGroups> ControlGroups::make(const std::string& folder, const SandboxSettings& limits,
                                                 std::string& problem) {
  const std::string own = folder + "/server";
  const std::string parts = folder + "/cgroup.subtree_control";
  if (folder.empty()) {
    problem = "there is no cgroup v2 here";
    return std::nullopt;
  }
  const bool can_divide = ::access(parts.c_str(), W_OK) == 0 &&
                          (::mkdir(own.c_str(), 0755) == 0 || errno == EEXIST) &&
                          write_to(own + "/cgroup.procs", "0") && write_to(parts, "+memory +pids +cpu");
  if (can_divide) return ControlGroups(folder, limits);
  problem = folder + " cannot be divided: " + std::strerror(errno);
  return std::nullopt;
}

ControlGroup ControlGroups::add() {
  const std::string path = folder_ + "/worker-" + std::to_string(count_++);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return {};
  write_to(path + "/pids.max", std::to_string(limits_.processes));
  if (limits_.host_memory != 0) {
    write_to(path + "/memory.max", std::to_string(limits_.host_memory));
    write_to(path + "/memory.swap.max", "0");
    write_to(path + "/memory.oom.group", "1");
  }
  if (limits_.processor != 0) {
    const std::uint64_t time = std::uint64_t{limits_.processor} * kPeriod / 100;
    write_to(path + "/cpu.max", std::to_string(time) + " " + std::to_string(kPeriod));
  }
  return ControlGroup(path);
}

}  // namespace cleave::remote::server
