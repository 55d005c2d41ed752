// What tests pass to and get from OpenCL: objects that release themselves, sizes, ranges, and lines of the test.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace kit {

// A line of the test. (std::source_location is not in every compiler that builds this.)
struct Where {
  static constexpr Where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file;
  unsigned line;
};

// What becomes of an error in a checked call: a failed test, an exception, the end of the program.
using Failure = void (*)(const char* call, cl_int error, const Where& where);

// One reference to an OpenCL object, released once. Converts to the plain handle.
template <class H>
class Handle {
 public:
  using Release = cl_int(CL_API_CALL*)(H);

  Handle() = default;
  Handle(H object, Release release) : object_(object), release_(release) {}
  Handle(Handle&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      object_ = std::exchange(other.object_, nullptr);
      release_ = other.release_;
    }
    return *this;
  }
  ~Handle() { reset(); }

  // The status of the release; success where there was nothing to release.
  cl_int reset() { return object_ == nullptr ? CL_SUCCESS : release_(std::exchange(object_, nullptr)); }
  // Gives the reference away.
  [[nodiscard]] H detach() { return std::exchange(object_, nullptr); }

  [[nodiscard]] H get() const { return object_; }
  operator H() const { return object_; }  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return object_ != nullptr; }
  // For arguments that are lists of one, such as a wait list.
  [[nodiscard]] const H* list() const { return &object_; }
  // For functions that hand the object out. Releases what was there.
  [[nodiscard]] H* out() {
    reset();
    return &object_;
  }

 private:
  H object_ = nullptr;
  Release release_ = nullptr;
};

using Context = Handle<cl_context>;
using Queue = Handle<cl_command_queue>;
using Memory = Handle<cl_mem>;
using Buffer = Memory;
using Image = Memory;
using Sampler = Handle<cl_sampler>;
using Program = Handle<cl_program>;
using Kernel = Handle<cl_kernel>;
using Event = Handle<cl_event>;

// One to three sizes or offsets.
struct Sizes {
  Sizes() = default;
  Sizes(std::size_t x) : dims(1), values{x, 1, 1} {}  // NOLINT(google-explicit-constructor)
  Sizes(std::size_t x, std::size_t y) : dims(2), values{x, y, 1} {}
  Sizes(std::size_t x, std::size_t y, std::size_t z) : dims(3), values{x, y, z} {}

  // As OpenCL takes it: NULL if nothing is given.
  [[nodiscard]] const std::size_t* or_null() const { return dims == 0 ? nullptr : values.data(); }

  cl_uint dims = 0;
  std::array<std::size_t, 3> values{};
};

// An NDRange: {4096}, {4096, 16}, {{64, 32}, {8, 8}}. Without a local size it is left to the driver.
struct Range {
  Range(std::size_t items) : global(items) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Range(Sizes the_global, Sizes the_local = {}, Sizes the_offset = {})
      : global(the_global), local(the_local), offset(the_offset) {}

  Sizes global;
  Sizes local;
  Sizes offset;
};

// Events to wait for: {}, {a, b}.
using Waits = std::vector<cl_event>;

// Of a blocking argument.
enum class Blocking : bool { no, yes };

// The size of a kernel's local argument, in bytes.
struct Local {
  std::size_t bytes;
};

// A name together with the place in the test that gave it.
struct Name {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Name(const char* the_text, const Where& the_place = Where::current()) : text(the_text), where(the_place) {}
  const char* text;
  Where where;
};

}  // namespace kit
