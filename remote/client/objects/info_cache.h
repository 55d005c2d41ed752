// Results of info queries (clGet...Info), as the server has answered them.
//
// Thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"

namespace cleave::remote::client {

class InfoCache {
 public:
  struct Key {
    cl_uint what = 0;  // wire::InfoSubject
    cl_uint param = 0;
    cl_uint index = 0;
    std::uint64_t device = 0;  // its id
    // NOLINTNEXTLINE(modernize-use-nullptr): a zero in compiler-generated code
    auto operator<=>(const Key&) const = default;
  };
  struct Info {
    cl_int error = CL_SUCCESS;
    std::vector<std::byte> bytes;
  };

  void put(const Key& key, Info info) {
    const base::MutexLock lock(mutex_);
    infos_.insert_or_assign(key, std::move(info));
  }
  // The result stays valid until clear(), or until the same key is put again.
  [[nodiscard]] const Info* find(const Key& key) const {
    const base::MutexLock lock(mutex_);
    const auto found = infos_.find(key);
    return found == infos_.end() ? nullptr : &found->second;
  }
  void clear() {
    const base::MutexLock lock(mutex_);
    infos_.clear();
  }
  void copy_from(const InfoCache& other) {
    auto infos = other.all();
    const base::MutexLock lock(mutex_);
    infos_ = std::move(infos);
  }

  // Around fork().
  void lock() CLEAVE_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK(mutex_) { mutex_.unlock(); }

 private:
  using Infos = std::map<Key, Info>;
  [[nodiscard]] Infos all() const {
    const base::MutexLock lock(mutex_);
    return infos_;
  }

  mutable base::Mutex mutex_;
  Infos infos_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::client
