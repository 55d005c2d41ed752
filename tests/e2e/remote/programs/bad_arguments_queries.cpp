// Queries. Each parameter, and some that there are not, is asked with room that is enough, too little and none.
#include "bad_arguments.h"

namespace bad {
namespace {

struct Range {
  cl_uint first;
  cl_uint last;
};

// A query of an object. Values are pointers or texts that differ: only how much of them is
// written is printed.
using Get = std::function<cl_int(cl_uint name, std::size_t size, void* value, std::size_t* size_ret)>;
void query(Rig& rig, const std::string& function, std::initializer_list<Range> ranges, const Get& get) {
  if (!rig.released.empty()) return;
  for (const Range range : ranges) {
    for (cl_uint name = range.first; name <= range.last; ++name) {
      for (const std::size_t size :
           {rig.values.size() * sizeof rig.values[0], std::size_t{1}, std::size_t{0}}) {
        for (void* value : {static_cast<void*>(rig.values.data()), static_cast<void*>(nullptr)}) {
          for (std::size_t* size_ret : {&rig.size, static_cast<std::size_t*>(nullptr)}) {
            char what[64];
            std::snprintf(what, sizeof what, " %#x%s%s%s", name,
                          size == 0   ? " size=0"
                          : size == 1 ? " size=1"
                                      : "",
                          value == nullptr ? " value=null" : "", size_ret == nullptr ? " size_ret=null" : "");
            run_case(function + what, [&] {
              rig.outputs();
              const cl_int error = get(name, size, value, size_ret);
              return std::to_string(error) + rig.outputs();
            });
          }
        }
      }
    }
  }
}

template <typename Handle>
void query_object(Rig& rig, const char* function,
                  cl_int(CL_API_CALL* get)(Handle, cl_uint, std::size_t, void*, std::size_t*), Handle object,
                  std::initializer_list<Range> ranges) {
  if (rig.released.contains(type_of<Handle>())) {
    return vary(rig, function, get, "object name size value size_ret", object, ranges.begin()->first,
                sizeof rig.values, rig.values.data(), &rig.size);
  }
  query(rig, function, ranges, [&](auto... rest) { return get(object, rest...); });
  query(rig, std::string(function) + " (null)", {*ranges.begin()},
        [&](auto... rest) { return get(nullptr, rest...); });
}

void query_programs(Rig& rig) {
  query_object(rig, "clGetProgramInfo", clGetProgramInfo, rig.program,
               {{0x1160, 0x1163}, {0x1165, 0x1165}, {0x1167, 0x116C}});
  query_object(rig, "clGetProgramInfo (unbuilt)", clGetProgramInfo, rig.unbuilt,
               {{0x1160, 0x1165}, {0x1167, 0x116C}});
  for (const auto& [program, name] : {std::pair{rig.program, "built"}, {rig.unbuilt, "unbuilt"}}) {
    for (const auto& [device, of] :
         {std::pair{rig.device, ""}, {static_cast<cl_device_id>(nullptr), " no device"}}) {
      query(
          rig, std::string("clGetProgramBuildInfo ") + name + of, {{0x1180, 0x1186}},
          [&, one = program, on = device](auto... rest) { return clGetProgramBuildInfo(one, on, rest...); });
    }
  }
}

void query_kernels(Rig& rig) {
  query_object(rig, "clGetKernelInfo", clGetKernelInfo, rig.kernel, {{0x118F, 0x1196}});
  for (cl_uint index = 0; index < 5; ++index) {
    query(rig, "clGetKernelArgInfo " + std::to_string(index), {{0x1195, 0x119B}},
          [&](auto... rest) { return clGetKernelArgInfo(rig.kernel, index, rest...); });
  }
  for (const auto& [device, of] :
       {std::pair{rig.device, ""}, {static_cast<cl_device_id>(nullptr), " no device"}}) {
    query(rig, std::string("clGetKernelWorkGroupInfo") + of, {{0x11AF, 0x11B6}},
          [&, on = device](auto... rest) { return clGetKernelWorkGroupInfo(rig.kernel, on, rest...); });
    const std::size_t input[4] = {16};
    for (const std::size_t input_size : {sizeof input[0], std::size_t{0}, sizeof input}) {
      const std::string how = input_size == 0 ? " no input" : input_size == sizeof input ? " long input" : "";
      query(rig, std::string("clGetKernelSubGroupInfo") + of + how, {{0x2033, 0x2035}, {0x11B8, 0x11BA}},
            [&, on = device](cl_uint name, auto... rest) {
              return clGetKernelSubGroupInfo(rig.kernel, on, name, input_size,
                                             input_size == 0 ? nullptr : input, rest...);
            });
    }
  }
}

void query_events(Rig& rig) {
  query_object(rig, "clGetEventInfo", clGetEventInfo, rig.ended, {{0x11D0, 0x11D5}});
  query_object(rig, "clGetEventProfilingInfo (user event)", clGetEventProfilingInfo, rig.ended,
               {{0x127F, 0x1285}});
  cl_command_queue timed = clCreateCommandQueue(rig.context, rig.device, CL_QUEUE_PROFILING_ENABLE, nullptr);
  for (cl_command_queue queue : {rig.queue, timed}) {
    cl_event event = nullptr;
    clEnqueueFillBuffer(queue, rig.buffer, rig.host, 4, 0, 64, 0, nullptr, &event);
    clFinish(queue);
    query_object(rig, queue == timed ? "clGetEventProfilingInfo" : "clGetEventProfilingInfo (without)",
                 clGetEventProfilingInfo, event, {{0x127F, 0x1285}});
    query_object(rig, "clGetEventInfo (command)", clGetEventInfo, event, {{0x11D0, 0x11D5}});
    clReleaseEvent(event);
  }
  clReleaseCommandQueue(timed);
}

}  // namespace

void call_queries(Rig& rig) {
  query_object(rig, "clGetPlatformInfo", clGetPlatformInfo, rig.platform,
               {{0x08FF, 0x0903}, {0x0905, 0x0908}});
  query_object(rig, "clGetDeviceInfo", clGetDeviceInfo, rig.device,
               {{0x0FFF, 0x1003}, {0x1010, 0x1040}, {0x7777, 0x7777}});
  query_object(rig, "clGetContextInfo", clGetContextInfo, rig.context, {{0x107F, 0x1085}});
  query_object(rig, "clGetCommandQueueInfo", clGetCommandQueueInfo, rig.queue, {{0x108F, 0x1099}});
  query_object(rig, "clGetMemObjectInfo", clGetMemObjectInfo, rig.buffer, {{0x10FF, 0x110B}});
  query_object(rig, "clGetMemObjectInfo (sub-buffer)", clGetMemObjectInfo, rig.sub_buffer,
               {{0x10FF, 0x110B}});
  query_object(rig, "clGetImageInfo (buffer)", clGetImageInfo, rig.buffer, {{0x110F, 0x111B}});
  if (rig.image != nullptr) {
    query_object(rig, "clGetImageInfo", clGetImageInfo, rig.image, {{0x110F, 0x111B}});
    query_object(rig, "clGetMemObjectInfo (image)", clGetMemObjectInfo, rig.image, {{0x10FF, 0x110B}});
  }
  query_object(rig, "clGetSamplerInfo", clGetSamplerInfo, rig.sampler, {{0x114F, 0x1159}});
  query_programs(rig);
  query_kernels(rig);
  query_events(rig);
  cl_image_format formats[64];
  vary(rig, "clGetSupportedImageFormats", clGetSupportedImageFormats,
       "context flags type entries formats number", rig.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 64,
       formats, &rig.number);
  vary(rig, "clGetSupportedImageFormats (of a buffer)", clGetSupportedImageFormats,
       "context flags type entries formats number", rig.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_BUFFER, 64,
       formats, &rig.number);
  cl_device_id devices[8];
  vary(rig, "clGetDeviceIDs", clGetDeviceIDs, "platform type entries devices number", rig.platform,
       CL_DEVICE_TYPE_ALL, 8, devices, &rig.number);
  cl_platform_id platforms[8];
  vary(rig, "clGetPlatformIDs", clGetPlatformIDs, "entries platforms number", 8, platforms, &rig.number);
  for (const cl_device_partition_property first :
       {CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS, 0x7777, 0}) {
    for (const cl_device_partition_property second : {0, 1, 1000}) {
      const cl_device_partition_property list[8] = {first, second, 0};
      const std::string name =
          "clCreateSubDevices (" + std::to_string(first) + " " + std::to_string(second) + ")";
      vary(rig, name, clCreateSubDevices, "device list entries devices number", rig.device, list, 8, devices,
           &rig.number);
    }
  }
  cl_ulong times[2];
  vary(rig, "clGetDeviceAndHostTimer", clGetDeviceAndHostTimer, "device device_time host_time", rig.device,
       times, times + 1);
  vary(rig, "clGetHostTimer", clGetHostTimer, "device host_time", rig.device, times);
}

}  // namespace bad
