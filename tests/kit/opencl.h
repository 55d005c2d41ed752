// OpenCL for tests and benchmarks: objects that release themselves (handles.h), and the calls that tests make all the time in
// one line each.
//
//   const kit::Api cl(driver.table(), kit::fail_test);      // or kit::linked_table(), tests/kit/linked.h
//   const kit::Context context = cl.context(device);
//   const kit::Queue queue = cl.queue(context, device);
//   const kit::Buffer buffer = cl.buffer(context, std::vector<cl_int>(4096));
//   const kit::Program program = cl.build(context, source);
//   const kit::Kernel kernel = cl.kernel(program, "add", buffer, cl_int{1});
//   EXPECT_EQ(cl.launch(queue, kernel, {4096, 16}), CL_SUCCESS);
//   EXPECT_EQ(cl.read<cl_int>(queue, buffer, 4096), std::vector<cl_int>(4096, 1));
//
// An `Api` is a table of OpenCL's functions, with verbs. It makes no difference where the table comes from: the
// simulated driver, the functions that a program is linked with, a library that was opened. Every function is still
// there under its own name (`cl.clFlush(queue)`) for what no verb covers.
//
// Errors. Verbs that return `cl_int` enqueue, wait or set, and return the function's status. Verbs that return an
// object or a value check it: an error goes to the Api's `Failure` with the line of the test, and what comes back is
// empty.
//
// Threads: as OpenCL. An Api does not change; it must outlive its objects' verbs, but not the objects.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/kit/handles.h"

namespace kit {

class Api : public cl_icd_dispatch {
 public:
  Api(const cl_icd_dispatch& table, Failure failure) : cl_icd_dispatch(table), failure_(failure) {}

  void check(const char* call, cl_int error, const Where& where = Where::current()) const {
    if (error != CL_SUCCESS) failure_(call, error, where);
  }

  // Takes one reference over.
  [[nodiscard]] Context own(cl_context object) const { return {object, clReleaseContext}; }
  [[nodiscard]] Queue own(cl_command_queue object) const { return {object, clReleaseCommandQueue}; }
  [[nodiscard]] Memory own(cl_mem object) const { return {object, clReleaseMemObject}; }
  [[nodiscard]] Sampler own(cl_sampler object) const { return {object, clReleaseSampler}; }
  [[nodiscard]] Program own(cl_program object) const { return {object, clReleaseProgram}; }
  [[nodiscard]] Kernel own(cl_kernel object) const { return {object, clReleaseKernel}; }
  [[nodiscard]] Event own(cl_event object) const { return {object, clReleaseEvent}; }
  // None yet: for a verb's last argument, `event.out()`.
  [[nodiscard]] Event event() const { return own(cl_event{}); }

  // Devices.
  [[nodiscard]] std::vector<cl_platform_id> platforms(const Where& where = Where::current()) const {
    cl_uint count = 0;
    check("clGetPlatformIDs", clGetPlatformIDs(0, nullptr, &count), where);
    std::vector<cl_platform_id> found(count);
    if (count > 0) check("clGetPlatformIDs", clGetPlatformIDs(count, found.data(), nullptr), where);
    return found;
  }
  // Empty if there are none of that type.
  [[nodiscard]] std::vector<cl_device_id> devices(cl_platform_id platform,
                                                  cl_device_type type = CL_DEVICE_TYPE_ALL,
                                                  const Where& where = Where::current()) const {
    cl_uint count = 0;
    const cl_int error = clGetDeviceIDs(platform, type, 0, nullptr, &count);
    if (error == CL_DEVICE_NOT_FOUND) return {};
    check("clGetDeviceIDs", error, where);
    std::vector<cl_device_id> found(count);
    if (count > 0)
      check("clGetDeviceIDs", clGetDeviceIDs(platform, type, count, found.data(), nullptr), where);
    return found;
  }
  // The first device of that type of the first platform with `name` in its name that has one, or null.
  [[nodiscard]] cl_device_id device_of(const std::string& name = "", cl_device_type type = CL_DEVICE_TYPE_ALL,
                                       const Where& where = Where::current()) const {
    for (const cl_platform_id platform : platforms(where)) {
      if (text(platform, CL_PLATFORM_NAME, where).find(name) == std::string::npos) continue;
      const std::vector<cl_device_id> found = devices(platform, type, where);
      if (!found.empty()) return found.front();
    }
    return nullptr;
  }

  // Objects.
  [[nodiscard]] Context context(std::span<const cl_device_id> devices,
                                const Where& where = Where::current()) const {
    return made("clCreateContext", where, [&](cl_int* error) {
      return clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr,
                             error);
    });
  }
  [[nodiscard]] Context context(cl_device_id device, const Where& where = Where::current()) const {
    return context(std::span(&device, 1), where);
  }
  [[nodiscard]] Queue queue(cl_context context, cl_device_id device,
                            cl_command_queue_properties properties = 0,
                            const Where& where = Where::current()) const {
    return made("clCreateCommandQueue", where,
                [&](cl_int* error) { return clCreateCommandQueue(context, device, properties, error); });
  }
  [[nodiscard]] Queue queue(cl_context context, cl_device_id device,
                            std::initializer_list<cl_queue_properties> properties,  // ends in 0
                            const Where& where = Where::current()) const {
    return made("clCreateCommandQueueWithProperties", where, [&](cl_int* error) {
      return clCreateCommandQueueWithProperties(context, device, properties.begin(), error);
    });
  }
  [[nodiscard]] Buffer buffer(cl_context context, std::size_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE,
                              void* host = nullptr, const Where& where = Where::current()) const {
    return made("clCreateBuffer", where,
                [&](cl_int* error) { return clCreateBuffer(context, flags, bytes, host, error); });
  }
  template <class T>
  [[nodiscard]] Buffer buffer(cl_context context, const std::vector<T>& contents,
                              cl_mem_flags flags = CL_MEM_READ_WRITE,
                              const Where& where = Where::current()) const {
    return buffer(context, contents.size() * sizeof(T), flags | CL_MEM_COPY_HOST_PTR,
                  const_cast<T*>(contents.data()), where);
  }
  [[nodiscard]] Buffer sub_buffer(cl_mem parent, std::size_t origin, std::size_t bytes,
                                  cl_mem_flags flags = 0, const Where& where = Where::current()) const {
    const cl_buffer_region region{origin, bytes};
    return made("clCreateSubBuffer", where, [&](cl_int* error) {
      return clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, error);
    });
  }
  [[nodiscard]] Image image(cl_context context, const cl_image_format& format, const cl_image_desc& shape,
                            cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr,
                            const Where& where = Where::current()) const {
    return made("clCreateImage", where,
                [&](cl_int* error) { return clCreateImage(context, flags, &format, &shape, host, error); });
  }
  // Not built yet.
  [[nodiscard]] Program program(cl_context context, const std::string& source,
                                const Where& where = Where::current()) const {
    const char* text = source.c_str();
    return made("clCreateProgramWithSource", where,
                [&](cl_int* error) { return clCreateProgramWithSource(context, 1, &text, nullptr, error); });
  }
  cl_int build(cl_program program, const char* options = "") const {
    return clBuildProgram(program, 0, nullptr, options, nullptr, nullptr);
  }
  // Of a program without headers.
  cl_int compile(cl_program program, const char* options = "") const {
    return clCompileProgram(program, 0, nullptr, options, 0, nullptr, nullptr, nullptr, nullptr);
  }
  [[nodiscard]] Program link(cl_context context, const std::vector<cl_program>& inputs,
                             const Where& where = Where::current()) const {
    return made("clLinkProgram", where, [&](cl_int* error) {
      return clLinkProgram(context, 0, nullptr, "", static_cast<cl_uint>(inputs.size()), inputs.data(),
                           nullptr, nullptr, error);
    });
  }
  // Of a program for one device.
  [[nodiscard]] std::vector<unsigned char> binary(cl_program program,
                                                  const Where& where = Where::current()) const {
    std::vector<unsigned char> contents(info<std::size_t>(program, CL_PROGRAM_BINARY_SIZES, where));
    unsigned char* to = contents.data();
    check("clGetProgramInfo", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr), where);
    return contents;
  }
  // Not built yet.
  [[nodiscard]] Program program(cl_context context, cl_device_id device,
                                const std::vector<unsigned char>& binary,
                                const Where& where = Where::current()) const {
    const unsigned char* from = binary.data();
    const std::size_t size = binary.size();
    return made("clCreateProgramWithBinary", where, [&](cl_int* error) {
      return clCreateProgramWithBinary(context, 1, &device, &size, &from, nullptr, error);
    });
  }
  // Made from source and built.
  [[nodiscard]] Program build(cl_context context, const std::string& source, const char* options = "",
                              const Where& where = Where::current()) const {
    Program made = program(context, source, where);
    check("clBuildProgram", build(made, options), where);
    return made;
  }
  // With its first arguments set, if any are given: handles, plain values, and a `Local`.
  template <class... A>
  [[nodiscard]] Kernel kernel(cl_program program, const Name& name, const A&... arguments) const {
    Kernel made_kernel = made("clCreateKernel", name.where,
                              [&](cl_int* error) { return clCreateKernel(program, name.text, error); });
    if (made_kernel) check("clSetKernelArg", set_arguments(made_kernel, arguments...), name.where);
    return made_kernel;
  }
  // All arguments from the first on; the first error, if there are any.
  template <class... A>
  cl_int set_arguments(cl_kernel kernel, const A&... arguments) const {
    cl_uint index = 0;
    cl_int error = CL_SUCCESS;
    [[maybe_unused]] const auto set = [&](const auto& argument) {  // unused where there are no arguments
      const cl_int status = set_argument(kernel, index++, argument);
      if (error == CL_SUCCESS) error = status;
    };
    (set(arguments), ...);
    return error;
  }
  cl_int set_argument(cl_kernel kernel, cl_uint index, const Local& local) const {
    return clSetKernelArg(kernel, index, local.bytes, nullptr);
  }
  template <class H>
  cl_int set_argument(cl_kernel kernel, cl_uint index, const Handle<H>& object) const {
    return clSetKernelArg(kernel, index, sizeof(H), object.list());
  }
  template <class T>
  cl_int set_argument(cl_kernel kernel, cl_uint index, const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return clSetKernelArg(kernel, index, sizeof value, &value);
  }
  [[nodiscard]] Event user_event(cl_context context, const Where& where = Where::current()) const {
    return made("clCreateUserEvent", where, [&](cl_int* error) { return clCreateUserEvent(context, error); });
  }

  // Commands. The wait list and the event come last, and may be left out.
  cl_int launch(cl_command_queue queue, cl_kernel kernel, const Range& range, const Waits& waits = {},
                cl_event* event = nullptr) const {
    return clEnqueueNDRangeKernel(queue, kernel, range.global.dims, range.offset.or_null(),
                                  range.global.or_null(), range.local.or_null(), count(waits), list(waits),
                                  event);
  }
  // A launch's event, checked.
  [[nodiscard]] Event launch_event(cl_command_queue queue, cl_kernel kernel, const Range& range,
                                   const Waits& waits = {}, const Where& where = Where::current()) const {
    Event made_event = event();
    check("clEnqueueNDRangeKernel", launch(queue, kernel, range, waits, made_event.out()), where);
    return made_event;
  }

  template <class T>
  cl_int read(cl_command_queue queue, cl_mem buffer, Blocking blocking, std::span<T> to,
              std::size_t offset = 0, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueReadBuffer(queue, buffer, as_bool(blocking), offset, to.size_bytes(), to.data(),
                               count(waits), list(waits), event);
  }
  // The first `items` of a buffer, when they are there. Checked.
  template <class T>
  [[nodiscard]] std::vector<T> read(cl_command_queue queue, cl_mem buffer, std::size_t items,
                                    std::size_t offset = 0, const Waits& waits = {},
                                    const Where& where = Where::current()) const {
    std::vector<T> contents(items);
    check("clEnqueueReadBuffer", read(queue, buffer, Blocking::yes, std::span(contents), offset, waits),
          where);
    return contents;
  }
  template <class T>
  cl_int write(cl_command_queue queue, cl_mem buffer, Blocking blocking, std::span<const T> from,
               std::size_t offset = 0, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueWriteBuffer(queue, buffer, as_bool(blocking), offset, from.size_bytes(), from.data(),
                                count(waits), list(waits), event);
  }
  // Waits until it is there.
  template <class T>
  cl_int write(cl_command_queue queue, cl_mem buffer, const std::vector<T>& from, std::size_t offset = 0,
               const Waits& waits = {}, cl_event* event = nullptr) const {
    return write(queue, buffer, Blocking::yes, std::span<const T>(from), offset, waits, event);
  }
  // `items` times the pattern. `offset` in bytes.
  template <class T>
  cl_int fill(cl_command_queue queue, cl_mem buffer, const T& pattern, std::size_t items,
              std::size_t offset = 0, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueFillBuffer(queue, buffer, &pattern, sizeof pattern, offset, items * sizeof pattern,
                               count(waits), list(waits), event);
  }
  cl_int copy(cl_command_queue queue, cl_mem from, cl_mem to, std::size_t bytes, std::size_t from_offset = 0,
              std::size_t to_offset = 0, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, count(waits), list(waits),
                               event);
  }
  // Part of a buffer, mapped until it is unmapped. Checked; null if it failed.
  template <class T>
  [[nodiscard]] T* map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, std::size_t items,
                       std::size_t offset = 0, const Waits& waits = {}, cl_event* event = nullptr,
                       const Where& where = Where::current()) const {
    cl_int error = CL_SUCCESS;
    void* const mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, offset, items * sizeof(T),
                                            count(waits), list(waits), event, &error);
    check("clEnqueueMapBuffer", error, where);
    return static_cast<T*>(mapped);
  }
  cl_int unmap(cl_command_queue queue, cl_mem memory, const void* mapped, const Waits& waits = {},
               cl_event* event = nullptr) const {
    return clEnqueueUnmapMemObject(queue, memory, const_cast<void*>(mapped), count(waits), list(waits),
                                   event);
  }
  cl_int marker(cl_command_queue queue, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueMarkerWithWaitList(queue, count(waits), list(waits), event);
  }
  [[nodiscard]] Event marker_event(cl_command_queue queue, const Waits& waits = {},
                                   const Where& where = Where::current()) const {
    Event made_event = event();
    check("clEnqueueMarkerWithWaitList", marker(queue, waits, made_event.out()), where);
    return made_event;
  }
  cl_int barrier(cl_command_queue queue, const Waits& waits = {}, cl_event* event = nullptr) const {
    return clEnqueueBarrierWithWaitList(queue, count(waits), list(waits), event);
  }
  cl_int wait(const Waits& events) const { return clWaitForEvents(count(events), list(events)); }

  // What answers queries about that kind of object.
  auto info_function(cl_platform_id) const { return clGetPlatformInfo; }
  auto info_function(cl_device_id) const { return clGetDeviceInfo; }
  auto info_function(cl_context) const { return clGetContextInfo; }
  auto info_function(cl_command_queue) const { return clGetCommandQueueInfo; }
  auto info_function(cl_mem) const { return clGetMemObjectInfo; }
  auto info_function(cl_sampler) const { return clGetSamplerInfo; }
  auto info_function(cl_program) const { return clGetProgramInfo; }
  auto info_function(cl_kernel) const { return clGetKernelInfo; }
  auto info_function(cl_event) const { return clGetEventInfo; }
  // The status of a query of whatever kind of object.
  template <class H>
  cl_int query(const H& object, cl_uint name, std::size_t size, void* value, std::size_t* needed) const {
    return info_function(object)(object, name, size, value, needed);
  }

  // Queries, checked: a value, a list or a text.
  template <class T, class H>
  [[nodiscard]] T info(const H& object, cl_uint name, const Where& where = Where::current()) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::size_t size = 0;
    check("clGet...Info", query(object, name, sizeof value, &value, &size), where);
    if (size != sizeof value) failure_("clGet...Info: a value of another size", CL_INVALID_VALUE, where);
    return value;
  }
  template <class T, class H>
  [[nodiscard]] std::vector<T> info_list(const H& object, cl_uint name,
                                         const Where& where = Where::current()) const {
    return info_of_size<std::vector<T>>(
        [&](std::size_t size, void* value, std::size_t* needed) {
          return query(object, name, size, value, needed);
        },
        where);
  }
  template <class H>
  [[nodiscard]] std::string text(const H& object, cl_uint name, const Where& where = Where::current()) const {
    return without_zero(info_of_size<std::string>(
        [&](std::size_t size, void* value, std::size_t* needed) {
          return query(object, name, size, value, needed);
        },
        where));
  }
  [[nodiscard]] std::string build_text(cl_program program, cl_device_id device, cl_program_build_info name,
                                       const Where& where = Where::current()) const {
    return without_zero(info_of_size<std::string>(
        [&](std::size_t size, void* value, std::size_t* needed) {
          return clGetProgramBuildInfo(program, device, name, size, value, needed);
        },
        where));
  }
  [[nodiscard]] std::string build_log(cl_program program, cl_device_id device,
                                      const Where& where = Where::current()) const {
    return build_text(program, device, CL_PROGRAM_BUILD_LOG, where);
  }
  [[nodiscard]] cl_int status(cl_event event, const Where& where = Where::current()) const {
    return info<cl_int>(event, CL_EVENT_COMMAND_EXECUTION_STATUS, where);
  }
  // In nanoseconds.
  [[nodiscard]] cl_ulong profiled(cl_event event, cl_profiling_info name,
                                  const Where& where = Where::current()) const {
    cl_ulong time = 0;
    check("clGetEventProfilingInfo", clGetEventProfilingInfo(event, name, sizeof time, &time, nullptr),
          where);
    return time;
  }

  [[nodiscard]] static cl_uint count(const Waits& events) { return static_cast<cl_uint>(events.size()); }
  [[nodiscard]] static const cl_event* list(const Waits& events) {
    return events.empty() ? nullptr : events.data();
  }

 private:
  static cl_bool as_bool(Blocking blocking) { return blocking == Blocking::yes ? CL_TRUE : CL_FALSE; }

  template <class Create>
  Handle<std::invoke_result_t<Create, cl_int*>> made(const char* call, const Where& where,
                                                     Create create) const {
    cl_int error = CL_SUCCESS;
    auto object = own(create(&error));
    check(call, error, where);
    return object;
  }

  template <class Container, class Query>
  Container info_of_size(Query query_size, const Where& where) const {
    std::size_t bytes = 0;
    check("clGet...Info", query_size(0, nullptr, &bytes), where);
    Container contents(bytes / sizeof(typename Container::value_type), {});
    if (bytes > 0) check("clGet...Info", query_size(bytes, contents.data(), nullptr), where);
    return contents;
  }
  static std::string without_zero(std::string text) {
    if (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  Failure failure_;
};

}  // namespace kit
