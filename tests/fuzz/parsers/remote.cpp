// Arbitrary messages of a client: the server's session executes them on a mock driver that accesses all the memory that it
// is given, as a driver would, and accepts everything else.
//
// An input is a sequence of frames: two bytes of the message's size, two of the payload's, and the message; the payload is
// generated. The sizes in the frame's header are correct; wrong ones are tested in tests/e2e/server.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "harness.h"
#include "opencl/missing_functions.h"
#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"
#include "remote/server/session/platforms.h"
#include "remote/server/worker/client_session.h"

namespace {

using cleave::Table;
using cleave::fuzz::require;
using namespace cleave::remote;  // NOLINT(google-build-using-namespace): the harness is about it

std::atomic<std::size_t> next_handle{0x1000};

template <typename Handle>
Handle made(cl_int* error = nullptr) {
  if (error != nullptr) *error = CL_SUCCESS;
  return reinterpret_cast<Handle>(next_handle.fetch_add(16));
}

volatile unsigned char seen;

void look_at(const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) seen = bytes[i];
}

// The SVM blocks that the client has not freed.
std::map<void*, std::unique_ptr<std::byte[]>> svm;

cl_int enqueued(cl_event* event) {
  if (event != nullptr) *event = made<cl_event>();
  return CL_SUCCESS;
}

template <typename Value>
cl_int tell(Value value, std::size_t size, void* into, std::size_t* size_ret) {
  if (size_ret != nullptr) *size_ret = sizeof value;
  if (into == nullptr) return CL_SUCCESS;
  if (size < sizeof value) return CL_INVALID_VALUE;
  std::memcpy(into, &value, sizeof value);
  return CL_SUCCESS;
}

constexpr std::size_t kElement = 4;

std::size_t volume(const std::size_t* region) { return region[0] * region[1] * region[2]; }

cl_device_id the_device() { return reinterpret_cast<cl_device_id>(0x20); }

Table make_table() {
  Table t{};
  t.clCreateContext = [](auto, auto, auto, auto, auto, cl_int* error) { return made<cl_context>(error); };
  t.clCreateCommandQueue = [](auto, auto, auto, cl_int* error) { return made<cl_command_queue>(error); };
  t.clCreateCommandQueueWithProperties = [](auto, auto, const cl_queue_properties* list, cl_int* error) {
    for (; *list != 0; list += 2) seen = static_cast<unsigned char>(list[1]);
    return made<cl_command_queue>(error);
  };
  t.clCreateBuffer = [](auto, auto, std::size_t size, void* data, cl_int* error) {
    if (data != nullptr) look_at(data, size);
    return made<cl_mem>(error);
  };
  t.clCreateImage = [](auto, auto, auto, const cl_image_desc* desc, void* data, cl_int* error) {
    const auto one = [](std::size_t size) { return std::max<std::size_t>(size, 1); };
    if (data != nullptr)
      look_at(data, kElement * one(desc->image_width) * one(desc->image_height) * one(desc->image_depth));
    return made<cl_mem>(error);
  };
  t.clCreateSubBuffer = [](auto, auto, auto, auto, cl_int* error) { return made<cl_mem>(error); };
  t.clCreatePipe = [](auto, auto, auto, auto, auto, cl_int* error) { return made<cl_mem>(error); };
  t.clCreateSampler = [](auto, auto, auto, auto, cl_int* error) { return made<cl_sampler>(error); };
  t.clCreateSamplerWithProperties = [](auto, const cl_sampler_properties* list, cl_int* error) {
    for (; *list != 0; list += 2) seen = static_cast<unsigned char>(list[1]);
    return made<cl_sampler>(error);
  };
  t.clCreateUserEvent = [](auto, cl_int* error) { return made<cl_event>(error); };
  t.clCreateProgramWithSource = [](auto, auto, const char** texts, const std::size_t* sizes, cl_int* error) {
    look_at(texts[0], sizes[0]);
    return made<cl_program>(error);
  };
  t.clCreateProgramWithIL = [](auto, const void* il, std::size_t size, cl_int* error) {
    look_at(il, size);
    return made<cl_program>(error);
  };
  t.clCreateProgramWithBinary = [](auto, cl_uint count, auto, const std::size_t* sizes,
                                   const unsigned char** binaries, cl_int* statuses, cl_int* error) {
    for (cl_uint i = 0; i < count; ++i) {
      look_at(binaries[i], sizes[i]);
      statuses[i] = CL_SUCCESS;
    }
    return made<cl_program>(error);
  };
  t.clBuildProgram = [](auto, auto, auto, const char* options, auto, auto) {
    look_at(options, std::strlen(options) + 1);
    return CL_SUCCESS;
  };
  t.clCompileProgram = [](auto, auto, auto, auto, cl_uint count, auto, const char** names, auto, auto) {
    for (cl_uint i = 0; i < count; ++i) look_at(names[i], std::strlen(names[i]) + 1);
    return CL_SUCCESS;
  };
  t.clLinkProgram = [](auto, auto, auto, auto, auto, auto, auto, auto, cl_int* error) {
    return made<cl_program>(error);
  };
  t.clCreateKernel = [](auto, const char* name, cl_int* error) {
    look_at(name, std::strlen(name) + 1);
    return made<cl_kernel>(error);
  };
  t.clCloneKernel = [](auto, cl_int* error) { return made<cl_kernel>(error); };
  t.clSetKernelArg = [](auto, auto, std::size_t size, const void* value) {
    if (value != nullptr) look_at(value, size);
    return CL_SUCCESS;
  };
  t.clSetKernelArgSVMPointer = [](auto, auto, auto) { return CL_SUCCESS; };
  t.clSetKernelExecInfo = [](auto, auto, std::size_t size, const void* value) {
    look_at(value, size);
    return CL_SUCCESS;
  };
  t.clReleaseContext = t.clRetainContext = [](auto) { return CL_SUCCESS; };
  t.clReleaseCommandQueue = [](auto) { return CL_SUCCESS; };
  t.clReleaseMemObject = [](auto) { return CL_SUCCESS; };
  t.clReleaseSampler = [](auto) { return CL_SUCCESS; };
  t.clReleaseProgram = t.clRetainProgram = [](auto) { return CL_SUCCESS; };
  t.clReleaseKernel = [](auto) { return CL_SUCCESS; };
  t.clReleaseEvent = t.clRetainEvent = [](auto) { return CL_SUCCESS; };
  t.clReleaseDevice = [](auto) { return CL_SUCCESS; };
  t.clFlush = [](auto) { return CL_SUCCESS; };
  t.clSetUserEventStatus = [](auto, auto) { return CL_SUCCESS; };
  t.clWaitForEvents = [](auto, auto) { return CL_SUCCESS; };
  t.clSetEventCallback = [](cl_event event, cl_int status, void(CL_CALLBACK * call)(cl_event, cl_int, void*),
                            void* data) {
    call(event, status, data);
    return CL_SUCCESS;
  };
  t.clSetMemObjectDestructorCallback = [](cl_mem memory, void(CL_CALLBACK * call)(cl_mem, void*),
                                          void* data) {
    call(memory, data);
    return CL_SUCCESS;
  };
  t.clGetEventInfo = [](auto, auto, std::size_t size, void* into, std::size_t* size_ret) {
    return tell(cl_int{CL_COMPLETE}, size, into, size_ret);
  };
  t.clGetImageInfo = [](auto, auto, std::size_t size, void* into, std::size_t* size_ret) {
    return tell(kElement, size, into, size_ret);
  };
  t.clGetProgramInfo = [](auto, cl_program_info what, std::size_t size, void* into, std::size_t* size_ret) {
    if (what == CL_PROGRAM_DEVICES) return tell(the_device(), size, into, size_ret);
    if (what == CL_PROGRAM_BINARY_SIZES) return tell(std::size_t{7}, size, into, size_ret);
    if (what == CL_PROGRAM_BINARIES) {
      std::memset(*static_cast<unsigned char**>(into), 1, 7);
      return CL_SUCCESS;
    }
    return tell(cl_uint{1}, size, into, size_ret);
  };
  t.clGetKernelInfo = [](auto, auto, std::size_t size, void* into, std::size_t* size_ret) {
    return tell(cl_uint{2}, std::max(size, sizeof(cl_uint)), into, size_ret);
  };
  t.clGetKernelArgInfo = [](auto, cl_uint index, cl_kernel_arg_info what, std::size_t size, void* into,
                            std::size_t* size_ret) {
    if (what != CL_KERNEL_ARG_ADDRESS_QUALIFIER) return tell('x', size, into, size_ret);
    return tell(cl_uint{CL_KERNEL_ARG_ADDRESS_GLOBAL} + index, size, into, size_ret);
  };
  t.clEnqueueNDRangeKernel = [](auto, auto, cl_uint dims, const std::size_t* offset,
                                const std::size_t* global, const std::size_t* local, auto, auto,
                                cl_event* event) {
    for (const std::size_t* sizes : {offset, global, local}) {
      if (sizes != nullptr) look_at(sizes, dims * sizeof(std::size_t));
    }
    return enqueued(event);
  };
  t.clEnqueueReadBuffer = [](auto, auto, auto, auto, std::size_t size, void* data, auto, auto,
                             cl_event* event) {
    std::memset(data, 1, size);
    return enqueued(event);
  };
  t.clEnqueueWriteBuffer = [](auto, auto, auto, auto, std::size_t size, const void* data, auto, auto,
                              cl_event* event) {
    look_at(data, size);
    return enqueued(event);
  };
  t.clEnqueueReadBufferRect = [](auto, auto, auto, auto, auto, const std::size_t* region, auto, auto, auto,
                                 auto, void* data, auto, auto, cl_event* event) {
    std::memset(data, 1, volume(region));
    return enqueued(event);
  };
  t.clEnqueueWriteBufferRect = [](auto, auto, auto, auto, auto, const std::size_t* region, auto, auto, auto,
                                  auto, const void* data, auto, auto, cl_event* event) {
    look_at(data, volume(region));
    return enqueued(event);
  };
  t.clEnqueueReadImage = [](auto, auto, auto, auto, const std::size_t* region, auto, auto, void* data, auto,
                            auto, cl_event* event) {
    std::memset(data, 1, kElement * volume(region));
    return enqueued(event);
  };
  t.clEnqueueWriteImage = [](auto, auto, auto, auto, const std::size_t* region, auto, auto, const void* data,
                             auto, auto, cl_event* event) {
    look_at(data, kElement * volume(region));
    return enqueued(event);
  };
  t.clEnqueueFillBuffer = [](auto, auto, const void* pattern, std::size_t size, auto, auto, auto, auto,
                             cl_event* event) {
    look_at(pattern, size);
    return enqueued(event);
  };
  t.clEnqueueFillImage = [](auto, auto, const void* color, auto, auto, auto, auto, cl_event* event) {
    look_at(color, 16);
    return enqueued(event);
  };
  t.clEnqueueMarkerWithWaitList = [](auto, cl_uint count, const cl_event* waits, cl_event* event) {
    look_at(waits, count * sizeof(cl_event));
    return enqueued(event);
  };
  t.clEnqueueBarrierWithWaitList = t.clEnqueueMarkerWithWaitList;
  t.clEnqueueMarker = [](auto, cl_event* event) { return enqueued(event); };
  t.clSVMAlloc = [](auto, auto, std::size_t size, auto) {
    auto memory = std::make_unique<std::byte[]>(size);
    void* const address = memory.get();
    svm[address] = std::move(memory);
    return address;
  };
  t.clSVMFree = [](auto, void* memory) { svm.erase(memory); };
  t.clEnqueueSVMFree = [](auto, cl_uint count, void** memory, auto, auto, auto, auto, cl_event* event) {
    for (cl_uint i = 0; i < count; ++i) svm.erase(memory[i]);
    return enqueued(event);
  };
  t.clEnqueueSVMMemcpy = [](auto, auto, void* to, const void* from, std::size_t size, auto, auto,
                            cl_event* event) {
    std::memmove(to, from, size);
    return enqueued(event);
  };
  t.clEnqueueSVMMemFill = [](auto, void* to, const void* pattern, std::size_t size, std::size_t whole, auto,
                             auto, cl_event* event) {
    look_at(pattern, size);
    std::memset(to, 1, whole);
    return enqueued(event);
  };
  cleave::opencl::fill_missing_functions(t);
  return t;
}

// The client's end: it sends from memory, and checks that what it receives is valid.
class Client final : public Stream {
 public:
  Client(const std::uint8_t* data, std::size_t size) {
    while (size >= 4) {
      const std::size_t message = std::min<std::size_t>(data[0] + 256U * data[1], size - 4);
      const std::size_t payload = data[2] + 256U * data[3];
      const HeaderBytes header = encode({FrameKind::commands, static_cast<std::uint32_t>(message), payload});
      said_.insert(said_.end(), header.begin(), header.end());
      const auto* const bytes = reinterpret_cast<const std::byte*>(data + 4);
      said_.insert(said_.end(), bytes, bytes + message);
      said_.resize(said_.size() + payload, std::byte{0x5a});
      data += 4 + message;
      size -= 4 + message;
    }
  }

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time) override {
    size = std::min(into.size(), said_.size() - at_);
    if (size == 0) return ReadStatus::closed;
    std::memcpy(into.data(), said_.data() + at_, size);
    at_ += size;
    return ReadStatus::data;
  }

  bool write(std::span<iovec> parts, Duration, const WhileBlocked&) override {
    std::vector<std::uint64_t> message((parts[1].iov_len + 7) / 8);
    std::memcpy(message.data(), parts[1].iov_base, parts[1].iov_len);
    std::uint64_t payload = 0;
    for (const iovec& part : parts.subspan(2)) {
      look_at(part.iov_base, part.iov_len);
      payload += part.iov_len;
    }
    const auto bytes = std::as_bytes(std::span(message)).first(parts[1].iov_len);
    require(verified_events(bytes, payload) != nullptr, "what the server says can be read");
    return true;
  }

  bool has_data() override { return at_ < said_.size(); }
  void shutdown() override {}
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  std::vector<std::byte> said_;
  std::size_t at_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Table table = make_table();
  static server::KernelOutput printed;  // always empty: it has no pipe
  Client client(data, size);
  FrameReader input(client, std::chrono::seconds(1));
  server::Outbox outbox(client, printed, std::chrono::seconds(1), [] {});
  server::ObjectTable objects;
  server::register_platforms(
      {{kFirstServerId, reinterpret_cast<cl_platform_id>(0x10), {{kFirstServerId + 1, the_device()}}}},
      objects);
  server::ClientLimits limits;
  limits.memory = limits.staging = 8U << 20U;
  limits.program = 1U << 20U;
  limits.window_commands = 64;
  server::ClientSession session(table, table, input, outbox, objects, limits, nullptr, nullptr);
  session.run();
  svm.clear();
  return 0;
}
