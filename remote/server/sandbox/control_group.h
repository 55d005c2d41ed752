// Limits that the kernel keeps by control groups (cgroup v2), one group for each worker below the server's own. Without such a
// group of the server's, or the right to make others below it, there are none.
//
// Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/files/file_descriptor.h"
#include "remote/server/sandbox/settings.h"

namespace cleave::remote::server {

// One worker's; removed by the destructor, with all processes that are still in it.
class ControlGroup {
 public:
  ControlGroup() = default;
  explicit ControlGroup(std::string path);
  ControlGroup(ControlGroup&& other) noexcept
      : path_(std::move(other.path_)), entry_(std::move(other.entry_)) {
    other.path_.clear();
  }
  ControlGroup& operator=(ControlGroup&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~ControlGroup();

  // A process that writes "0" to it is in the group from then on; -1: there is no group.
  [[nodiscard]] int entry() const { return entry_.get(); }
  // Whether the system can do that, and has.
  bool kill() const;

 private:
  std::string path_;
  base::FileDescriptor entry_;
};

class ControlGroups {
 public:
  // Below `folder`, which is the server's own group and gets a group for the server's processes. `problem` says what is missing
  // where the result is empty.
  static std::optional<ControlGroups> make(const std::string& folder, const SandboxSettings& limits,
                                           std::string& problem);

  // For one worker, with the limits; without a group where it cannot be made.
  ControlGroup add();

 private:
  ControlGroups(std::string folder, const SandboxSettings& limits)
      : folder_(std::move(folder)), limits_(limits) {}

  std::string folder_;
  SandboxSettings limits_;
  unsigned count_ = 0;
};

// The folder of this process's group, from the texts of /proc/self/cgroup and /proc/self/mountinfo; empty: none. Pure.
std::string own_group_folder(const std::string& groups, const std::string& mounts);

}  // namespace cleave::remote::server
