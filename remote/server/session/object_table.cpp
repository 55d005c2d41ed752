#include "remote/server/session/object_table.h"

#include <utility>

#include "remote/protocol/features.h"
#include "remote/server/session/memory_account.h"

namespace cleave::remote::server {

bool ObjectTable::add(std::uint64_t id, Object object) {
  return id != 0 && id < kFirstServerId && insert(id, std::move(object));
}

bool ObjectTable::add_server_object(std::uint64_t id, Object object) {
  return id >= kFirstServerId && insert(id, std::move(object));
}

void ObjectTable::set_place(cl_device_id device, DevicePlace place) {
  const base::MutexLock lock(mutex_);
  places_[device] = place;
}

std::optional<DevicePlace> ObjectTable::place_of(cl_device_id device) const {
  const base::MutexLock lock(mutex_);
  const auto found = places_.find(device);
  return found != places_.end() ? std::optional(found->second) : std::nullopt;
}

bool ObjectTable::insert(std::uint64_t id, Object object) {
  const base::MutexLock lock(mutex_);
  if (object.kind == Kind::device) devices_[object.handle] = id;
  const std::uint64_t overhead = object.overhead;
  if (!map_.emplace(id, std::move(object)).second) return false;
  overhead_ += overhead;
  return true;
}

std::uint64_t ObjectTable::id_of(cl_device_id device) const {
  const base::MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  return found != devices_.end() ? found->second : 0;
}

std::optional<Object> ObjectTable::find(std::uint64_t id) const {
  const base::MutexLock lock(mutex_);
  const auto found = map_.find(id);
  return found != map_.end() ? std::optional(found->second) : std::nullopt;
}

bool ObjectTable::complete(std::uint64_t id, void* handle) {
  const base::MutexLock lock(mutex_);
  const auto found = map_.find(id);
  if (found == map_.end()) return false;
  found->second.handle = handle;
  return true;
}

void ObjectTable::set_watched(std::uint64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = map_.find(id);
  if (found == map_.end() || std::exchange(found->second.watched, true)) return;
  found->second.overhead += kOverheadOfWatch;
  overhead_ += kOverheadOfWatch;
}

std::uint64_t ObjectTable::overhead_of_launch(std::uint64_t kernel) const {
  const base::MutexLock lock(mutex_);
  const auto found = map_.find(kernel);
  if (found == map_.end() || found->second.kernel == nullptr) return 0;
  std::uint64_t bytes =
      (found->second.overhead - overhead_of(Kind::kernel)) / kOverheadOfArgument * kOverheadOfListed;
  for (const auto& [index, memory] : found->second.kernel->arguments_memory) bytes += memory->size();
  return bytes;
}

std::vector<std::shared_ptr<Queue>> ObjectTable::queues() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Queue>> queues;
  for (const auto& [id, object] : map_) {
    if (object.queue) queues.push_back(object.queue);
  }
  return queues;
}

std::optional<Object> ObjectTable::remove(std::uint64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = map_.find(id);
  if (found == map_.end() || id >= kFirstServerId) return std::nullopt;
  Object object = std::move(found->second);
  map_.erase(found);
  overhead_ -= object.overhead;
  if (object.kind == Kind::device) devices_.erase(object.handle);
  return object;
}

}  // namespace cleave::remote::server
