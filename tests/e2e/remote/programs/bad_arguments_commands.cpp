// Commands.
#include "bad_arguments.h"

namespace bad {
namespace {

constexpr std::size_t kNone[3] = {0, 0, 0};
constexpr std::size_t kSmall[3] = {4, 4, 1};
constexpr std::size_t kTwoSlices[3] = {4, 4, 2};
const cl_event* const kNoWaits = nullptr;

void transfer(Rig& rig) {
  vary(rig, "clEnqueueReadBuffer", clEnqueueReadBuffer,
       "queue buffer blocking offset size pointer waits list event", rig.queue, rig.buffer, CL_TRUE, 0, 64,
       rig.host, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueWriteBuffer", clEnqueueWriteBuffer,
       "queue buffer blocking offset size pointer waits list event", rig.queue, rig.buffer, CL_FALSE, 0, 64,
       rig.host, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueReadBufferRect", clEnqueueReadBufferRect,
       "queue buffer blocking origin host_origin region row slice host_row host_slice pointer waits list "
       "event",
       rig.queue, rig.buffer, CL_FALSE, kNone, kNone, kTwoSlices, 0, 0, 0, 0, rig.host, 0, kNoWaits,
       &rig.event);
  vary(rig, "clEnqueueWriteBufferRect", clEnqueueWriteBufferRect,
       "queue buffer blocking origin host_origin region row slice host_row host_slice pointer waits list "
       "event",
       rig.queue, rig.buffer, CL_TRUE, kNone, kNone, kTwoSlices, 0, 0, 0, 0, rig.host, 0, kNoWaits,
       &rig.event);
  if (rig.image == nullptr) return;
  vary(rig, "clEnqueueReadImage", clEnqueueReadImage,
       "queue image blocking origin region row slice pointer waits list event", rig.queue, rig.image, CL_TRUE,
       kNone, kSmall, 0, 0, rig.host, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueWriteImage", clEnqueueWriteImage,
       "queue image blocking origin region row slice pointer waits list event", rig.queue, rig.image,
       CL_FALSE, kNone, kSmall, 0, 0, rig.host, 0, kNoWaits, &rig.event);
}

void map(Rig& rig) {
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    vary_and(
        rig, blocking == CL_TRUE ? "clEnqueueMapBuffer" : "clEnqueueMapBuffer (not blocking)",
        clEnqueueMapBuffer, "queue buffer blocking flags offset size waits list event error",
        [&](Word result) {
          void* const mapped = from_word<void*>(result);
          clFinish(rig.queue);
          // Whichever it is.
          for (cl_mem memory : {rig.buffer, rig.sub_buffer, rig.write_only, rig.read_only, rig.no_access}) {
            if (mapped == nullptr ||
                clEnqueueUnmapMemObject(rig.queue, memory, mapped, 0, nullptr, nullptr) == 0)
              break;
          }
        },
        rig.queue, rig.buffer, blocking, CL_MAP_READ, 0, 64, 0, kNoWaits, &rig.event, &rig.error);
  }
  vary(rig, "clEnqueueUnmapMemObject", clEnqueueUnmapMemObject, "queue memory pointer waits list event",
       rig.queue, rig.buffer, rig.host, 0, kNoWaits, &rig.event);
  if (rig.image == nullptr) return;
  vary_and(
      rig, "clEnqueueMapImage", clEnqueueMapImage,
      "queue image blocking flags origin region row slice waits list event error",
      [&](Word result) {
        void* const mapped = from_word<void*>(result);
        if (mapped != nullptr) clEnqueueUnmapMemObject(rig.queue, rig.image, mapped, 0, nullptr, nullptr);
      },
      rig.queue, rig.image, CL_TRUE, CL_MAP_READ, kNone, kSmall, rig.values.data(), rig.values.data() + 1, 0,
      kNoWaits, &rig.event, &rig.error);
}

void copy(Rig& rig) {
  vary(rig, "clEnqueueCopyBuffer", clEnqueueCopyBuffer, "queue source target from to size waits list event",
       rig.queue, rig.buffer, rig.second, 0, 0, 64, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueCopyBuffer (within one)", clEnqueueCopyBuffer,
       "queue source target from to size waits list event", rig.queue, rig.buffer, rig.buffer, 0, 128, 64, 0,
       kNoWaits, &rig.event);
  vary(rig, "clEnqueueCopyBufferRect", clEnqueueCopyBufferRect,
       "queue source target source_origin target_origin region row slice target_row target_slice waits list "
       "event",
       rig.queue, rig.buffer, rig.second, kNone, kNone, kTwoSlices, 0, 0, 0, 0, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueFillBuffer", clEnqueueFillBuffer,
       "queue buffer pattern pattern_size offset size waits list event", rig.queue, rig.buffer, rig.host, 4,
       0, 64, 0, kNoWaits, &rig.event);
  const cl_mem objects[8] = {rig.buffer, rig.second};
  vary(rig, "clEnqueueMigrateMemObjects", clEnqueueMigrateMemObjects,
       "queue count objects flags waits list event", rig.queue, 1, objects, 0, 0, kNoWaits, &rig.event);
  if (rig.image == nullptr) return;
  vary(rig, "clEnqueueCopyImage", clEnqueueCopyImage,
       "queue source target source_origin target_origin region waits list event", rig.queue, rig.image,
       rig.image, kNone, kSmall, kSmall, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueCopyImageToBuffer", clEnqueueCopyImageToBuffer,
       "queue image buffer origin region offset waits list event", rig.queue, rig.image, rig.buffer, kNone,
       kSmall, 0, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueCopyBufferToImage", clEnqueueCopyBufferToImage,
       "queue buffer image offset origin region waits list event", rig.queue, rig.buffer, rig.image, 0, kNone,
       kSmall, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueFillImage", clEnqueueFillImage, "queue image color origin region waits list event",
       rig.queue, rig.image, rig.host, kNone, kSmall, 0, kNoWaits, &rig.event);
}

void launch(Rig& rig) {
  static constexpr std::size_t kGlobal[3] = {16, 1, 1};
  static constexpr std::size_t kLocal[3] = {4, 1, 1};
  vary(rig, "clEnqueueNDRangeKernel", clEnqueueNDRangeKernel,
       "queue kernel dims offset global local waits list event", rig.queue, rig.kernel, 1, nullptr, kGlobal,
       kLocal, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueTask", clEnqueueTask, "queue kernel waits list event", rig.queue, rig.kernel, 0,
       kNoWaits, &rig.event);
}

void use_svm(Rig& rig) {
  if (rig.svm == nullptr) return;
  auto* const middle = static_cast<std::byte*>(rig.svm) + kSize / 2;
  vary(rig, "clEnqueueSVMMemcpy", clEnqueueSVMMemcpy, "queue blocking target source size waits list event",
       rig.queue, CL_TRUE, rig.svm, middle, 64, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueSVMMemcpy (to the device)", clEnqueueSVMMemcpy,
       "queue blocking target source size waits list event", rig.queue, CL_FALSE, rig.svm, rig.host, 64, 0,
       kNoWaits, &rig.event);
  vary(rig, "clEnqueueSVMMemcpy (from the device)", clEnqueueSVMMemcpy,
       "queue blocking target source size waits list event", rig.queue, CL_TRUE, rig.host, rig.svm, 64, 0,
       kNoWaits, &rig.event);
  vary(rig, "clEnqueueSVMMemFill", clEnqueueSVMMemFill,
       "queue target pattern pattern_size size waits list event", rig.queue, rig.svm, rig.host, 4, 64, 0,
       kNoWaits, &rig.event);
  vary_and(
      rig, "clEnqueueSVMMap", clEnqueueSVMMap, "queue blocking flags pointer size waits list event",
      [&](Word result) {
        if (from_word<cl_int>(result) == CL_SUCCESS)
          clEnqueueSVMUnmap(rig.queue, rig.svm, 0, nullptr, nullptr);
      },
      rig.queue, CL_TRUE, CL_MAP_READ, rig.svm, 64, 0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueSVMUnmap", clEnqueueSVMUnmap, "queue pointer waits list event", rig.queue, rig.svm, 0,
       kNoWaits, &rig.event);
  const void* pointers[8] = {rig.svm};
  std::size_t sizes[8] = {64};
  vary(rig, "clEnqueueSVMMigrateMem", clEnqueueSVMMigrateMem,
       "queue count pointers sizes flags waits list event", rig.queue, 1, pointers, sizes, 0, 0, kNoWaits,
       &rig.event);
  void* none[8] = {};
  vary(rig, "clEnqueueSVMFree", clEnqueueSVMFree, "queue count pointers function data waits list event",
       rig.queue, 0, none, nullptr, nullptr, 0, kNoWaits, &rig.event);
}

}  // namespace

void call_commands(Rig& rig) {
  transfer(rig);
  map(rig);
  copy(rig);
  launch(rig);
  use_svm(rig);
  vary(rig, "clEnqueueMarker", clEnqueueMarker, "queue event", rig.queue, &rig.event);
  vary(rig, "clEnqueueBarrier", clEnqueueBarrier, "queue", rig.queue);
  vary(rig, "clEnqueueMarkerWithWaitList", clEnqueueMarkerWithWaitList, "queue waits list event", rig.queue,
       0, kNoWaits, &rig.event);
  vary(rig, "clEnqueueBarrierWithWaitList", clEnqueueBarrierWithWaitList, "queue waits list event", rig.queue,
       0, kNoWaits, &rig.event);
  const cl_event list[8] = {rig.ended};
  vary(rig, "clEnqueueWaitForEvents", clEnqueueWaitForEvents, "queue waits list", rig.queue, 1, list);
  vary(rig, "clWaitForEvents", clWaitForEvents, "waits list", 1, list);
  vary(rig, "clFlush", clFlush, "queue", rig.queue);
  vary(rig, "clFinish", clFinish, "queue", rig.queue);
}

}  // namespace bad
