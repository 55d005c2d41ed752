// The kinds of OpenCL objects, and the error that OpenCL specifies for an invalid handle of each.
#pragma once

#include <cstdint>

#include "base/opencl.h"

namespace cleave::objects {

// `callback` is no OpenCL object, but the record of a callback that passes a handle to the program; it lives in the same
// arena.
enum class Kind : std::uint8_t {
  platform,
  device,
  context,
  queue,
  memory,
  sampler,
  program,
  kernel,
  event,
  callback,
};

// For a handle type: its kind, and the error for an invalid handle.
template <typename Handle>
struct KindOf {
  static constexpr bool is_handle = false;
};

template <Kind kKind, cl_int kInvalid>
struct HandleTraits {
  static constexpr bool is_handle = true;
  static constexpr Kind kind = kKind;
  static constexpr cl_int invalid = kInvalid;
};

template <>
struct KindOf<cl_platform_id> : HandleTraits<Kind::platform, CL_INVALID_PLATFORM> {};
template <>
struct KindOf<cl_device_id> : HandleTraits<Kind::device, CL_INVALID_DEVICE> {};
template <>
struct KindOf<cl_context> : HandleTraits<Kind::context, CL_INVALID_CONTEXT> {};
template <>
struct KindOf<cl_command_queue> : HandleTraits<Kind::queue, CL_INVALID_COMMAND_QUEUE> {};
template <>
struct KindOf<cl_mem> : HandleTraits<Kind::memory, CL_INVALID_MEM_OBJECT> {};
template <>
struct KindOf<cl_sampler> : HandleTraits<Kind::sampler, CL_INVALID_SAMPLER> {};
template <>
struct KindOf<cl_program> : HandleTraits<Kind::program, CL_INVALID_PROGRAM> {};
template <>
struct KindOf<cl_kernel> : HandleTraits<Kind::kernel, CL_INVALID_KERNEL> {};
template <>
struct KindOf<cl_event> : HandleTraits<Kind::event, CL_INVALID_EVENT> {};

template <typename Handle>
concept OpenClHandle = KindOf<Handle>::is_handle;

}  // namespace cleave::objects
