// An object that is never destroyed. Programs call OpenCL from static destructors and from threads that outlive
// main(), so the state that those calls use must outlive both.
#pragma once

#include <new>
#include <utility>

namespace cleave::base {

template <typename T>
class NoDestructor {
 public:
  template <typename... Args>
  explicit NoDestructor(Args&&... args) {
    new (storage_) T(std::forward<Args>(args)...);
  }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;

  T& operator*() { return *get(); }
  T* operator->() { return get(); }

 private:
  T* get() { return std::launder(reinterpret_cast<T*>(storage_)); }

  alignas(T) unsigned char storage_[sizeof(T)];
};

}  // namespace cleave::base
