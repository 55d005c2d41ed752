// Programs that use optional features.
#include <algorithm>
#include <array>

#include "client_program.h"

namespace cleave::fuzz::answers {

// A type without a name of its own: the server says which devices are of it, if it can.
void Program::devices_of_a_type() {
  constexpr cl_device_type kType = CL_DEVICE_TYPE_GPU | cl_device_type{1} << 20U;
  std::array<cl_device_id, 4> found{};
  cl_uint count = 0;
  if (ok(cl.clGetDeviceIDs(platform_, kType, found.size(), found.data(), &count)) == CL_SUCCESS) {
    require(count != 0, "what is found is not nothing");
    const auto end = found.begin() + std::min<std::ptrdiff_t>(count, found.size());
    std::for_each(found.begin(), end, [&](cl_device_id device) { text(device, CL_DEVICE_NAME); });
    std::sort(found.begin(), end);
    require(std::adjacent_find(found.begin(), end) == end, "each device is listed once");
  }
  cl_int error = CL_SUCCESS;
  const cl_context context = cl.clCreateContextFromType(nullptr, kType, nullptr, nullptr, &error);
  made(context, error);
}

void Program::images() {
  devices_of_a_type();
  const cl_command_queue in_order = queue(devices_[0]);
  cl_uint count = 0;
  ok(cl.clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count));
  std::vector<cl_image_format> formats(std::min(count, 16U));
  if (!formats.empty()) {
    ok(cl.clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D,
                                     static_cast<cl_uint>(formats.size()), formats.data(), nullptr));
  }
  constexpr cl_image_format kFormat{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE3D;
  desc.image_width = desc.image_height = 4;
  desc.image_depth = 2;
  cl_int error = CL_SUCCESS;
  const cl_mem image = made(cl.image(context_, kFormat, desc));
  constexpr std::array<std::size_t, 3> kZero{};
  constexpr std::array<std::size_t, 3> kBox{4, 4, 2};
  constexpr std::size_t kRow = 24;
  // The last row ends where the memory does.
  const Block block(7 * kRow + 16);
  const cl_int read = cl.clEnqueueReadImage(in_order, image, CL_TRUE, kZero.data(), kBox.data(), kRow, 0,
                                            block.data(), 0, nullptr, nullptr);
  ok(read);
  ok(cl.clEnqueueWriteImage(in_order, image, CL_TRUE, kZero.data(), kBox.data(), kRow, 0, block.data(), 0,
                            nullptr, nullptr));
  std::size_t row = 0;
  std::size_t slice = 0;
  void* const mapped =
      cl.clEnqueueMapImage(in_order, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, kZero.data(), kBox.data(),
                           &row, &slice, 0, nullptr, nullptr, &error);
  if (ok(error) == CL_SUCCESS) {
    std::memset(mapped, 1, slice * 2);
    ok(cl.unmap(in_order, image, mapped));
  }
  told([&](auto... into) { return cl.clGetImageInfo(image, CL_IMAGE_ROW_PITCH, into...); });
  const cl_sampler sampler =
      cl.clCreateSampler(context_, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_LINEAR, &error);
  made(sampler, error);
  const cl_mem pipe = cl.clCreatePipe(context_, CL_MEM_READ_WRITE, 8, 8, nullptr, &error);
  if (made(pipe, error) != nullptr)
    told([&](auto... into) { return cl.clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, into...); });
  std::array<cl_device_id, 4> parts{};
  constexpr std::array<cl_device_partition_property, 3> kHalves{CL_DEVICE_PARTITION_EQUALLY, 2, 0};
  if (ok(cl.clCreateSubDevices(devices_[0], kHalves.data(), parts.size(), parts.data(), &count)) !=
      CL_SUCCESS)
    return;
  for (cl_uint i = 0; i < std::min<cl_uint>(count, parts.size()); ++i) {
    text(parts[i], CL_DEVICE_NAME);
    made(cl.context(parts[i]));
    ok(cl.clReleaseDevice(parts[i]));
  }
}

void Program::shared_virtual_memory() {
  const cl_command_queue in_order = queue(devices_[0]);
  constexpr std::size_t kSize = 5000;
  std::array<void*, 2> blocks{};
  for (void*& one : blocks) one = cl.clSVMAlloc(context_, CL_MEM_READ_WRITE, kSize, 64);
  const cl_uint pattern = 9;
  const Block here(kSize);
  for (void* const one : blocks) {
    if (one == nullptr) continue;
    require(reinterpret_cast<std::uintptr_t>(one) % 64 == 0, "memory is aligned as it was asked for");
    std::memset(one, 3, kSize);
    ok(cl.clEnqueueSVMMemFill(in_order, one, &pattern, sizeof pattern, 4096, 0, nullptr, nullptr));
    if (ok(cl.clEnqueueSVMMap(in_order, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, one, kSize, 0, nullptr,
                              nullptr)) == CL_SUCCESS) {
      std::memset(one, 4, kSize);
      ok(cl.clEnqueueSVMUnmap(in_order, one, 0, nullptr, nullptr));
    }
    ok(cl.clEnqueueSVMMemcpy(in_order, CL_TRUE, here.data(), one, kSize, 0, nullptr, nullptr));
    ok(cl.clEnqueueSVMMemcpy(in_order, CL_FALSE, one, here.data(), kSize, 0, nullptr, nullptr));
    const void* migrated = one;
    ok(cl.clEnqueueSVMMigrateMem(in_order, 1, &migrated, nullptr, 0, 0, nullptr, nullptr));
  }
  if (blocks[0] != nullptr && blocks[1] != nullptr)
    ok(cl.clEnqueueSVMMemcpy(in_order, CL_TRUE, blocks[0], blocks[1], kSize, 0, nullptr, nullptr));
  if (blocks[0] != nullptr) {
    cl_event freed = nullptr;
    const cl_int error =
        cl.clEnqueueSVMFree(in_order, 1, blocks.data(), nullptr, nullptr, 0, nullptr, &freed);
    if (ok(error) == CL_SUCCESS) wait(keep(freed));
  }
  ok(cl.clFinish(in_order));
  if (blocks[1] != nullptr) cl.clSVMFree(context_, blocks[1]);
}

// Transfers through shared memory or a ring, where the server supports that.
void Program::large_data() {
  const cl_command_queue in_order = queue(devices_[0]);
  for (const std::size_t size : {std::size_t{100'000}, std::size_t{5'000'000}}) {
    const cl_mem memory = buffer(CL_MEM_READ_WRITE, size);
    if (memory == nullptr) continue;
    const Block block(size);
    ok(cl.write<std::byte>(in_order, memory, Blocking::yes, block.span()));
    if (ok(cl.read(in_order, memory, Blocking::yes, block.span())) == CL_SUCCESS && good_)
      require(block.is_all(kData), "what was waited for is there");
    cl_int error = CL_SUCCESS;
    auto* const mapped = static_cast<std::byte*>(cl.clEnqueueMapBuffer(
        in_order, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &error));
    if (ok(error) != CL_SUCCESS) continue;
    if (good_)
      require(std::all_of(mapped, mapped + size, [](std::byte one) { return one == std::byte{kData}; }),
              "what is mapped is there");
    mapped[size - 1] = std::byte{1};
    ok(cl.unmap(in_order, memory, mapped));
  }
  const cl_mem memory = buffer(CL_MEM_READ_WRITE, 100'000);
  const Block block(100'000);
  cl_event written = nullptr;
  if (ok(cl.write<std::byte>(in_order, memory, Blocking::no, block.span(), 0, {}, &written)) == CL_SUCCESS)
    wait(keep(written));
  read_later(in_order, memory, block.size());
  ok(cl.clFinish(in_order));
}

void Program::several_servers() {
  std::vector<cl_command_queue> queues;
  for (const cl_device_id device : devices_) queues.push_back(queue(device));
  const cl_mem memory = buffer(CL_MEM_READ_WRITE, 256);
  const cl_kernel add = kernel(false);
  if (queues.size() < 2 || memory == nullptr || add == nullptr) return;
  const Block block(256);
  ok(cl.write<std::byte>(queues[0], memory, Blocking::yes, block.span()));
  set_arguments(add, memory);
  cl_int error = CL_SUCCESS;
  const cl_event gate = made(cl.user_event(context_));
  // Copies in both directions between the servers, the second time after the user event is set.
  for (const cl_command_queue one : {queues[1], queues[0]}) {
    cl_event done = nullptr;
    const bool waits = one == queues[0] && gate != nullptr;
    const cl_int launched = cl.launch(one, add, 64, waits ? kit::Waits{gate} : kit::Waits{}, &done);
    if (waits) ok(cl.clSetUserEventStatus(gate, CL_COMPLETE));
    if (ok(launched) != CL_SUCCESS) continue;
    watch(keep(done), CL_COMPLETE);
    wait(done);
  }
  read_now(queues[1], memory, 256);
  read_later(queues[0], memory, 64);
  void* const mapped = cl.clEnqueueMapBuffer(queues[1], memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 256,
                                             0, nullptr, nullptr, &error);
  if (ok(error) == CL_SUCCESS) ok(cl.unmap(queues[1], memory, mapped));
  for (const cl_command_queue one : queues) ok(cl.clFinish(one));
}

}  // namespace cleave::fuzz::answers
