// The programs, topic by topic.
#include <algorithm>
#include <array>

#include "client_program.h"

namespace cleave::fuzz::answers {

void Program::ask_devices() {
  for (const cl_device_id device : devices_) {
    const auto ask = [&](cl_device_info name) {
      return [this, device, name](auto... into) { return cl.clGetDeviceInfo(device, name, into...); };
    };
    text(ask(CL_DEVICE_NAME));
    text(ask(CL_DEVICE_EXTENSIONS));
    told(ask(CL_DEVICE_EXTENSIONS_WITH_VERSION));
    told(ask(CL_DEVICE_MAX_WORK_ITEM_SIZES));
    told(ask(CL_DEVICE_PARTITION_PROPERTIES));
    value<cl_device_type>(ask(CL_DEVICE_TYPE));
    value<cl_bool>(ask(CL_DEVICE_AVAILABLE));
    value<cl_device_id>(ask(CL_DEVICE_PARENT_DEVICE));
  }
  cl_ulong device_time = 0;
  cl_ulong host_time = 0;
  ok(cl.clGetDeviceAndHostTimer(devices_[0], &device_time, &host_time));
  ok(cl.clGetHostTimer(devices_[0], &host_time));
}

void Program::transfers() {
  ask_devices();
  const cl_command_queue in_order = queue(devices_[0]);
  const cl_mem first = buffer(CL_MEM_READ_WRITE, 256);
  hosts_.emplace_back(64);
  const cl_mem second = buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 64, hosts_.back().data());
  if (first != nullptr) watch_end(first);
  const Block block(64);
  ok(cl.write<std::byte>(in_order, first, Blocking::yes, block.span()));
  cl_event written = nullptr;
  if (ok(cl.write<std::byte>(in_order, first, Blocking::no, block.span(), 64, {}, &written)) == CL_SUCCESS) {
    keep(written);
    watch(written, CL_RUNNING);
    watch(written, CL_COMPLETE);
  }
  read_now(in_order, first, 64);
  read_later(in_order, first, 128);
  read_and_finish(in_order, second, 64);
  ok(cl.fill(in_order, first, cl_uint{7}, 16));
  ok(cl.copy(in_order, first, second, 64));
  const cl_event gate = made(cl.user_event(context_));
  if (gate != nullptr) {
    cl_event marker = nullptr;
    if (ok(cl.marker(in_order, {gate}, &marker)) == CL_SUCCESS) keep(marker);
    watch(gate, CL_COMPLETE);
    ok(cl.clSetUserEventStatus(gate, CL_COMPLETE));
    if (marker != nullptr) wait(marker);
    ask_about_event(marker, true);
  }
  ok(cl.clEnqueueMigrateMemObjects(in_order, 1, &first, 0, 0, nullptr, nullptr));
  ok(cl.clFlush(in_order));
  ok(cl.clFinish(in_order));
  for (const cl_command_queue_info name :
       {CL_QUEUE_PROPERTIES, CL_QUEUE_REFERENCE_COUNT, CL_QUEUE_DEVICE_DEFAULT})
    told(in_order, name);
  read_and_finish(in_order, first, 256);
  reconnect();
}

void Program::boxes_and_maps() {
  const cl_command_queue any_order =
      queue(devices_[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  hosts_.emplace_back(256);
  const cl_mem memory = buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 256, hosts_.back().data());
  const cl_mem plain = buffer(CL_MEM_READ_WRITE, 256);
  cl_int error = CL_SUCCESS;
  const cl_mem low = made(cl.sub_buffer(plain, 0, 128, CL_MEM_READ_WRITE));
  constexpr std::array<std::size_t, 3> kZero{};
  constexpr std::array<std::size_t, 3> kBox{4, 4, 2};
  // The last row of the last slice ends where the memory does.
  const Block block(64 + 3 * 8 + 4);
  ok(cl.clEnqueueReadBufferRect(any_order, memory, CL_TRUE, kZero.data(), kZero.data(), kBox.data(), 8, 64, 8,
                                64, block.data(), 0, nullptr, nullptr));
  ok(cl.clEnqueueWriteBufferRect(any_order, memory, CL_TRUE, kZero.data(), kZero.data(), kBox.data(), 8, 64,
                                 8, 64, block.data(), 0, nullptr, nullptr));
  ok(cl.clEnqueueCopyBufferRect(any_order, memory, plain, kZero.data(), kZero.data(), kBox.data(), 8, 64, 8,
                                64, 0, nullptr, nullptr));
  for (const cl_mem one : {memory, plain, low}) {
    void* const mapped = cl.clEnqueueMapBuffer(any_order, one, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 128, 0,
                                               nullptr, nullptr, &error);
    if (ok(error) != CL_SUCCESS) continue;
    std::memset(mapped, 1, 128);
    ok(cl.unmap(any_order, one, mapped));
  }
  cl_event is_mapped = nullptr;
  void* const later = cl.clEnqueueMapBuffer(any_order, plain, CL_FALSE, CL_MAP_READ, 128, 128, 0, nullptr,
                                            &is_mapped, &error);
  if (ok(error) == CL_SUCCESS) {
    wait(keep(is_mapped));
    ok(cl.unmap(any_order, plain, later, {is_mapped}));
  }
  void* const whole = cl.clEnqueueMapBuffer(any_order, plain, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 256,
                                            0, nullptr, nullptr, &error);
  if (ok(error) == CL_SUCCESS) {
    std::memset(whole, 2, 256);
    ok(cl.unmap(any_order, plain, whole));
  }
  ok(cl.barrier(any_order));
  read_later(any_order, plain, 64);
  value<std::size_t>(plain, CL_MEM_SIZE);
  ok(cl.clFinish(any_order));
}

cl_kernel Program::kernel(bool with_callback) {
  const cl_program program =
      made(cl.program(context_, "kernel void add(global uint* out, uint n, local uint* some) {}"));
  if (program == nullptr) return nullptr;
  if (with_callback) {
    Call* const call = expect_callback();
    const cl_int built = cl.clBuildProgram(
        program, 1, devices_.data(), "-w", [](cl_program, void* data) { ++static_cast<Call*>(data)->times; },
        call);
    // A build that did not finish calls no callback.
    call->is_expected = ok(built) == CL_SUCCESS || built == CL_BUILD_PROGRAM_FAILURE ||
                        built == CL_COMPILE_PROGRAM_FAILURE || built == CL_LINK_PROGRAM_FAILURE;
  } else {
    ok(cl.clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr));
  }
  for (const cl_program_build_info name : {CL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_OPTIONS})
    text([&](auto... into) { return cl.clGetProgramBuildInfo(program, devices_[0], name, into...); });
  value<cl_build_status>([&](auto... into) {
    return cl.clGetProgramBuildInfo(program, devices_[0], CL_PROGRAM_BUILD_STATUS, into...);
  });
  return made(cl.kernel(program, "add"));
}

void Program::programs() {
  cl_int error = CL_SUCCESS;
  const cl_kernel one = kernel(true);
  if (one == nullptr) return;
  const auto program = value<cl_program>(one, CL_KERNEL_PROGRAM);
  text(program, CL_PROGRAM_KERNEL_NAMES);
  text(program, CL_PROGRAM_SOURCE);
  value<std::size_t>(program, CL_PROGRAM_NUM_KERNELS);
  // Memory of the size that the query returned.
  const auto size = value<std::size_t>(program, CL_PROGRAM_BINARY_SIZES);
  const Block binary(std::min<std::size_t>(size, 4096));
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (size != 0 && size <= binary.size())
    ok(cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr));
  const Block given(16);
  const std::size_t length = given.size();
  const auto* const content = reinterpret_cast<const unsigned char*>(given.data());
  cl_int status = CL_SUCCESS;
  const cl_program from_binary = cl.clCreateProgramWithBinary(
      context_, 1, devices_.data(), &length, const_cast<const unsigned char**>(&content), &status, &error);
  made(from_binary, error);
  ok(status);
  const cl_program from_il = cl.clCreateProgramWithIL(context_, given.data(), given.size(), &error);
  if (made(from_il, error) != nullptr) {
    const cl_uint constant = 3;
    ok(cl.clSetProgramSpecializationConstant(from_il, 0, sizeof constant, &constant));
    ok(cl.clCompileProgram(from_il, 0, nullptr, "-w", 0, nullptr, nullptr, nullptr, nullptr));
    const cl_program linked =
        cl.clLinkProgram(context_, 0, nullptr, "", 1, &from_il, nullptr, nullptr, &error);
    ok(error);
    keep(linked);
  }
  std::array<cl_kernel, 4> all{};
  cl_uint count = 0;
  if (ok(cl.clCreateKernelsInProgram(program, all.size(), all.data(), &count)) == CL_SUCCESS) {
    for (cl_uint i = 0; i < count; ++i) ok(cl.clReleaseKernel(all[i]));
  }
  const cl_program built_in =
      cl.clCreateProgramWithBuiltInKernels(context_, 1, devices_.data(), "add", &error);
  made(built_in, error);
}

void Program::set_arguments(cl_kernel add, cl_mem memory) const {
  ok(cl.set_argument(add, 0, memory));
  ok(cl.set_argument(add, 1, cl_uint{64}));
  ok(cl.set_argument(add, 2, kit::Local{64}));
}

void Program::launches() {
  const cl_command_queue in_order = queue(devices_[0]);
  const cl_mem memory = buffer(CL_MEM_READ_WRITE, 256);
  const cl_kernel first = kernel(false);
  if (first == nullptr) return;
  cl_int error = CL_SUCCESS;
  const cl_kernel clone = cl.clCloneKernel(first, &error);
  made(clone, error);
  text(first, CL_KERNEL_FUNCTION_NAME);
  value<cl_uint>(first, CL_KERNEL_NUM_ARGS);
  text([&](auto... into) { return cl.clGetKernelArgInfo(first, 0, CL_KERNEL_ARG_TYPE_NAME, into...); });
  text([&](auto... into) { return cl.clGetKernelArgInfo(first, 0, CL_KERNEL_ARG_NAME, into...); });
  for (const cl_kernel_work_group_info name :
       {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_LOCAL_MEM_SIZE})
    told([&](auto... into) { return cl.clGetKernelWorkGroupInfo(first, devices_[0], name, into...); });
  constexpr std::array<std::size_t, 3> kLocal{16, 1, 1};
  told([&](auto... into) {
    return cl.clGetKernelSubGroupInfo(first, devices_[0], CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                      sizeof(std::size_t), kLocal.data(), into...);
  });
  // In the second round the client does not ask again about what the server has accepted.
  for (int time = 0; time < 2; ++time) {
    for (const cl_kernel kernel : {first, clone}) {
      if (kernel == nullptr) continue;
      set_arguments(kernel, memory);
      cl_event done = nullptr;
      if (ok(cl.launch(in_order, kernel, {64, 16}, {}, &done)) != CL_SUCCESS) continue;
      watch(keep(done), CL_SUBMITTED);
      watch(done, CL_COMPLETE);
      wait(done);
      ask_about_event(done, false);
    }
  }
  ok(cl.clEnqueueTask(in_order, first, 0, nullptr, nullptr));
  ok(cl.clFinish(in_order));
}

void Program::reconnect() {
  // A context for which the client reconnects if necessary. It fails if the server's devices have changed.
  cl_int error = CL_SUCCESS;
  const cl_context another = cl.clCreateContext(nullptr, 1, devices_.data(), nullptr, nullptr, &error);
  made(another, error);
  if (another == nullptr) return;
  const cl_command_queue queue = cl.clCreateCommandQueueWithProperties(another, devices_[0], nullptr, &error);
  if (made(queue, error) != nullptr) ok(cl.clFinish(queue));
}

}  // namespace cleave::fuzz::answers
