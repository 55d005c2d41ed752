// What all OpenCL objects of the simulated driver have in common.
//
// A handle that programs hold is the address of a small `Handle`, which begins with the dispatch table and
// the loader's data, as loaders expect. Handles are never freed nor used twice while their driver lives, so a
// stale or foreign handle is told apart from a live one without touching its memory.
//
// An object lives as long as there is a shared pointer to it: other objects do (a kernel its program),
// and the object itself does while the program has references to it.
//
// Threads: everything here happens under the lock of the DriverState.
#pragma once

#include <CL/cl_icd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/sim/driver/types.h"

namespace cleave::sim {

class DriverState;
class Object;

// What an OpenCL function returns in place of success. Thrown by the implementations, caught where they are
// entered.
struct Error {
  cl_int code;
};

inline void require(bool condition, cl_int otherwise) {
  if (!condition) throw Error{otherwise};
}

struct Handle {
  const cl_icd_dispatch* dispatch;
  void* dispatch_data;  // the loader's, with cl_khr_icd 2
  Object* object;       // null once the object is gone
};

class Object : public std::enable_shared_from_this<Object> {
 public:
  Object(DriverState& state, Kind kind);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // The program's references. The object holds itself while there are any.
  void retain();
  // Returns false if the program has no reference left to release.
  bool release();
  cl_uint references() const { return references_; }

  // "queue#3": stable between runs, for logs and tests.
  std::string label() const;

  DriverState& state;
  const Kind kind;
  const std::uint64_t id;  // counts from 1 within its kind
  Handle* const handle;

 private:
  cl_uint references_ = 0;
  std::shared_ptr<Object> self_;
};

// The handle of `object` as the program sees it; null for null.
template <class T>
typename T::ClHandle handle_of(const T* object) {
  return object == nullptr ? nullptr : reinterpret_cast<typename T::ClHandle>(object->handle);
}
template <class T>
typename T::ClHandle handle_of(const std::shared_ptr<T>& object) {
  return handle_of(object.get());
}

template <class T>
std::shared_ptr<T> shared(T& object) {
  return std::static_pointer_cast<T>(object.shared_from_this());
}

}  // namespace cleave::sim
