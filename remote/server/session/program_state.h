// What the server keeps of a client's program, besides the driver's object.
//
// Thread-safe: builds run on threads of their own. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"
#include "remote/server/session/memory_account.h"

namespace cleave::remote::server {

class ProgramState {
 public:
  // `unaffordable`: its text would have exceeded the client's memory, and the driver has no such program.
  enum class Origin : std::uint8_t { source, il, binaries, built_in, linked, unaffordable };
  // A build that the server has refused, and of which the driver knows nothing.
  struct RefusedBuild {
    std::string options;
    std::string log;
  };

  // `memory`: what its text counts for; null: nothing. `parts`: the IL, or the binaries, one for
  // each device; not every driver returns what it was given.
  explicit ProgramState(Origin origin, std::shared_ptr<MemoryHold> memory = nullptr,
                        std::vector<std::string> parts = {})
      : origin_(origin), memory_(std::move(memory)), parts_(std::move(parts)) {}

  [[nodiscard]] Origin origin() const { return origin_; }
  [[nodiscard]] std::uint64_t counted_bytes() const { return memory_ != nullptr ? memory_->size() : 0; }

  [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }

  // The latest build for these devices is refused, or is made by the driver.
  void refuse(const std::vector<cl_device_id>& devices, const RefusedBuild& build) {
    const base::MutexLock lock(mutex_);
    for (const cl_device_id device : devices) refused_[device] = build;
  }
  void accept(const std::vector<cl_device_id>& devices) {
    const base::MutexLock lock(mutex_);
    for (const cl_device_id device : devices) refused_.erase(device);
  }
  [[nodiscard]] std::optional<RefusedBuild> refused_build(cl_device_id device) const {
    const base::MutexLock lock(mutex_);
    const auto found = refused_.find(device);
    return found != refused_.end() ? std::optional(found->second) : std::nullopt;
  }
  // For how many devices.
  [[nodiscard]] std::size_t refused_count() const {
    const base::MutexLock lock(mutex_);
    return refused_.size();
  }

  // The driver has taken a value. `memory`: what it counts for.
  void set_constant(std::uint32_t id, std::string value, std::shared_ptr<MemoryHold> memory) {
    const base::MutexLock lock(mutex_);
    constants_[id] = {std::move(value), std::move(memory)};
  }
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> constants() const {
    const base::MutexLock lock(mutex_);
    std::vector<std::pair<std::uint32_t, std::string>> list;
    for (const auto& [id, constant] : constants_) list.emplace_back(id, constant.first);
    return list;
  }

  // What the options of its latest build count for.
  void hold_options(std::shared_ptr<MemoryHold> memory) {
    const base::MutexLock lock(mutex_);
    options_memory_ = std::move(memory);
  }

 private:
  const Origin origin_;
  const std::shared_ptr<MemoryHold> memory_;
  const std::vector<std::string> parts_;
  mutable base::Mutex mutex_;
  std::map<cl_device_id, RefusedBuild> refused_ CLEAVE_GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::pair<std::string, std::shared_ptr<MemoryHold>>> constants_
      CLEAVE_GUARDED_BY(mutex_);
  std::shared_ptr<MemoryHold> options_memory_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
