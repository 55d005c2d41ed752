#include "remote/server/worker/serial_driver.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/threads/mutex.h"
#include "interpose/drivers/quirks.h"
#include "opencl/function_traits.h"
#include "opencl/info.h"
#include "remote/server/worker/held_commands.h"

namespace cleave::remote::server {
namespace {

struct SerialDrivers {
  Table next{};
  std::vector<const void*> dispatch_tables;  // written before other threads call
  // Recursive: the driver's callbacks call the driver. Held during each of its calls.
  base::RecursiveMutex turn;
  std::vector<cl_command_queue> unflushed
      CLEAVE_GUARDED_BY(turn);  // clFlush would have waited for a user event
  HeldCommands held;
};
// Never destroyed: threads call until the process has ended.
SerialDrivers& drivers() {
  static SerialDrivers& made = *new SerialDrivers;
  return made;
}

const void* dispatch_of(const void* handle) {
  return handle == nullptr ? nullptr : *static_cast<const void* const*>(handle);
}

bool is_serial(const void* handle) {
  const auto& tables = drivers().dispatch_tables;
  return handle != nullptr && std::find(tables.begin(), tables.end(), dispatch_of(handle)) != tables.end();
}

template <auto One, auto Other>
constexpr bool same() {
  return std::is_same_v<std::integral_constant<decltype(One), One>,
                        std::integral_constant<decltype(Other), Other>>;
}

template <auto Entry, auto... Entries>
constexpr bool one_of() {
  return (same<Entry, Entries>() || ...);
}

// The position of the parameter that makes the call blocking, or -1.
template <auto Entry>
constexpr int blocking_at() {
  if (one_of<Entry, &Table::clEnqueueReadBuffer, &Table::clEnqueueReadBufferRect, &Table::clEnqueueReadImage,
             &Table::clEnqueueWriteBuffer, &Table::clEnqueueWriteBufferRect, &Table::clEnqueueWriteImage,
             &Table::clEnqueueMapBuffer, &Table::clEnqueueMapImage>())
    return 2;
  return one_of<Entry, &Table::clEnqueueSVMMap, &Table::clEnqueueSVMMemcpy>() ? 1 : -1;
}

template <typename Arguments, std::size_t Position>
using At = std::tuple_element_t<Position, Arguments>;

// The position of the event that an enqueued command returns, or -1.
template <typename Arguments>
constexpr int event_at() {
  constexpr std::size_t count = std::tuple_size_v<Arguments>;
  if constexpr (count < 2) {
    return -1;
  } else {
    if constexpr (!std::is_same_v<At<Arguments, 0>, cl_command_queue>) return -1;
    if constexpr (std::is_same_v<At<Arguments, count - 1>, cl_event*>) return static_cast<int>(count) - 1;
    if constexpr (std::is_same_v<At<Arguments, count - 2>, cl_event*>) return static_cast<int>(count) - 2;
    return -1;
  }
}

template <typename Arguments>
HeldCommands::Events waits_of(const Arguments& arguments) {
  constexpr int event = event_at<Arguments>();
  if constexpr (event >= 3) {
    if constexpr (std::is_same_v<At<Arguments, event - 1>, const cl_event*>) {
      const cl_event* const list = std::get<event - 1>(arguments);
      return list == nullptr ? HeldCommands::Events()
                             : HeldCommands::Events(list, std::get<event - 2>(arguments));
    }
  }
  return {};
}

// A handle of the driver that the call goes to, or null for calls without one.
template <auto Entry, typename Arguments>
const void* handle_in(const Arguments& arguments) {
  if constexpr (same<Entry, &Table::clWaitForEvents>()) {
    return std::get<0>(arguments) == 0 || std::get<1>(arguments) == nullptr ? nullptr
                                                                            : *std::get<1>(arguments);
  } else if constexpr (same<Entry, &Table::clCreateContext>()) {
    return std::get<1>(arguments) == 0 || std::get<2>(arguments) == nullptr ? nullptr
                                                                            : *std::get<2>(arguments);
  } else if constexpr (std::tuple_size_v<Arguments> != 0) {
    using First = At<Arguments, 0>;
    if constexpr (std::is_pointer_v<First> && std::is_class_v<std::remove_pointer_t<First>>)
      return std::get<0>(arguments);
  }
  return nullptr;
}

// The user events that the driver would wait for within the call.
template <auto Entry, typename Arguments>
HeldCommands::Gates gates_before(const Arguments& arguments) {
  if constexpr (same<Entry, &Table::clWaitForEvents>())
    return drivers().held.before_events({std::get<1>(arguments), std::get<0>(arguments)});
  if constexpr (same<Entry, &Table::clFinish>()) return drivers().held.before_queue(std::get<0>(arguments));
  if constexpr (blocking_at<Entry>() > 0) {
    if (std::get<blocking_at<Entry>()>(arguments) != CL_FALSE)
      return drivers().held.before_queue(std::get<0>(arguments), waits_of(arguments));
  }
  return {};
}

bool is_in_order(cl_command_queue queue) {
  const auto properties = opencl::info<cl_command_queue_properties>(drivers().next.clGetCommandQueueInfo,
                                                                    queue, CL_QUEUE_PROPERTIES);
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
}

// Whether this call is about to release the last reference.
template <auto Entry, typename Arguments>
bool ends_object(const Arguments& arguments) {
  const Table& next = drivers().next;
  if constexpr (same<Entry, &Table::clReleaseEvent>()) {
    return opencl::info<cl_uint>(next.clGetEventInfo, std::get<0>(arguments), CL_EVENT_REFERENCE_COUNT) == 1;
  } else if constexpr (same<Entry, &Table::clReleaseCommandQueue>()) {
    return opencl::info<cl_uint>(next.clGetCommandQueueInfo, std::get<0>(arguments),
                                 CL_QUEUE_REFERENCE_COUNT) == 1;
  }
  return false;
}

// clFlush need not execute anything, and the thread that reads from the client must not wait: a flush that cannot be
// made yet is made when a user event has been set.
void flush_when_possible() CLEAVE_REQUIRES(drivers().turn) {
  std::erase_if(drivers().unflushed, [](cl_command_queue queue) {
    if (!drivers().held.before_queue(queue).empty()) return false;
    drivers().next.clFlush(queue);
    return true;
  });
}

bool is_deferred_flush(cl_command_queue queue) CLEAVE_REQUIRES(drivers().turn) {
  if (drivers().held.before_queue(queue).empty()) return false;
  auto& unflushed = drivers().unflushed;
  if (std::find(unflushed.begin(), unflushed.end(), queue) == unflushed.end()) unflushed.push_back(queue);
  return true;
}

// Notes what a call that has succeeded has changed.
template <auto Entry, typename Result, typename Arguments>
void note(const Result& result, const Arguments& arguments, bool ended) CLEAVE_REQUIRES(drivers().turn) {
  HeldCommands& held = drivers().held;
  if constexpr (one_of<Entry, &Table::clCreateCommandQueue, &Table::clCreateCommandQueueWithProperties>()) {
    if (result != nullptr) held.add_queue(result, is_in_order(result));
  } else if constexpr (same<Entry, &Table::clCreateUserEvent>()) {
    if (result != nullptr) held.add_user_event(result);
  } else if constexpr (same<Entry, &Table::clSetUserEventStatus>()) {
    if (result != CL_SUCCESS) return;
    held.open(std::get<0>(arguments));
    flush_when_possible();
  } else if constexpr (one_of<Entry, &Table::clReleaseEvent, &Table::clReleaseCommandQueue>()) {
    if (!ended) return;
    held.remove(std::get<0>(arguments));
    if constexpr (same<Entry, &Table::clReleaseCommandQueue>())
      std::erase(drivers().unflushed, std::get<0>(arguments));
  } else if constexpr (event_at<Arguments>() > 0) {
    if (result != Result{} && std::is_same_v<Result, cl_int>) return;
    if (result == Result{} && std::is_pointer_v<Result>) return;
    cl_event* const event = std::get<event_at<Arguments>()>(arguments);
    held.add_command(std::get<0>(arguments), waits_of(arguments), event == nullptr ? nullptr : *event);
  }
}

template <auto Entry, typename Function = opencl::FunctionAt<Entry>>
struct Serial;

template <auto Entry, typename Result, typename... Parameters>
struct Serial<Entry, Result(CL_API_CALL*)(Parameters...)> {
  using Arguments = std::tuple<Parameters...>;

  static Result CL_API_CALL call(Parameters... parameters) {
    const Arguments arguments(parameters...);
    if (!is_serial(handle_in<Entry>(arguments))) return (drivers().next.*Entry)(parameters...);
    while (true) {
      HeldCommands::Gates gates;
      {
        const base::RecursiveMutexLock lock(drivers().turn);
        gates = gates_before<Entry>(arguments);
        if (gates.empty()) return call_in_turn(arguments);
      }
      drivers().held.wait_until_open(gates);
    }
  }

 private:
  static Result call_in_turn(const Arguments& arguments) CLEAVE_REQUIRES(drivers().turn) {
    if constexpr (same<Entry, &Table::clFlush>()) {
      if (is_deferred_flush(std::get<0>(arguments))) return CL_SUCCESS;
    }
    if constexpr (std::is_void_v<Result>) {
      std::apply(drivers().next.*Entry, arguments);
    } else {
      const bool ends = ends_object<Entry>(arguments);
      const Result result = std::apply(drivers().next.*Entry, arguments);
      note<Entry>(result, arguments, ends);
      return result;
    }
  }
};

bool needs_serial_calls(const Table& table, cl_platform_id platform) {
  cl_device_id device = nullptr;
  return table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS &&
         device != nullptr && interpose::quirks_of(table, device).needs_serial_calls;
}

std::vector<const void*> find_serial_drivers(const Table& table) {
  cl_uint count = 0;
  if (table.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  if (table.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return {};
  std::vector<const void*> serial;
  std::vector<const void*> others;
  for (const cl_platform_id platform : platforms)
    (needs_serial_calls(table, platform) ? serial : others).push_back(dispatch_of(platform));
  std::erase_if(serial, [&](const void* dispatch) {
    return std::find(others.begin(), others.end(), dispatch) != others.end();
  });
  return serial;
}

}  // namespace

void serialise_where_needed(Table& table) {
  drivers().dispatch_tables = find_serial_drivers(table);
  if (drivers().dispatch_tables.empty()) return;
  drivers().next = table;
#define CL_FUNCTION(version, name, ...) table.name = Serial<&Table::name>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

}  // namespace cleave::remote::server
