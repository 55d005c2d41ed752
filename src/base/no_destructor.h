// An object that is never destroyed. Programs call OpenCL from static destructors and from threads that outlive
// main(), so the state that those calls use must outlive both.
//
// Constant-initialised where T's constructor allows it. A reference to the object always is, so code that runs before
// the object's constructor, such as a fork handler, meets a valid reference:
//
//   constinit NoDestructor<State> storage;
//   constinit State& state = *storage;
#pragma once

#include <memory>
#include <utility>

namespace cleave::base {

template <typename T>
union NoDestructor {
 public:
  template <typename... Args>
  constexpr explicit NoDestructor(Args&&... args) : value_(std::forward<Args>(args)...) {}
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  constexpr ~NoDestructor() {}  // NOLINT(modernize-use-equals-default): a member's would make it deleted

  constexpr T& operator*() { return value_; }
  constexpr T* operator->() { return std::addressof(value_); }

 private:
  T value_;
};

}  // namespace cleave::base
