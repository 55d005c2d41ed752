// References that keep an object for as long as they exist. Thread-safe like the object table.
#pragma once

#include <utility>

#include "remote/client/api/api.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client::multi_server {

class HeldObject {
 public:
  explicit HeldObject(Object& object) : object_(&object) { client.objects.hold(object); }
  HeldObject(HeldObject&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  HeldObject& operator=(HeldObject&&) = delete;
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  ~HeldObject() {
    if (object_ != nullptr) client.objects.drop(*object_);
  }
  [[nodiscard]] Object& operator*() const { return *object_; }

 private:
  Object* object_;
};

// A memory object of which only the handle is known. Null if there is none any more.
class HeldMemory {
 public:
  explicit HeldMemory(cl_mem memory)
      : memory_(memory != nullptr && client::clRetainMemObject(memory) == CL_SUCCESS ? memory : nullptr) {}
  HeldMemory(HeldMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  HeldMemory& operator=(HeldMemory&&) = delete;
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() {
    if (memory_ != nullptr) client::clReleaseMemObject(memory_);
  }
  [[nodiscard]] const Object* object() const { return memory_ == nullptr ? nullptr : find(memory_); }

 private:
  cl_mem memory_;
};

}  // namespace cleave::remote::client::multi_server
