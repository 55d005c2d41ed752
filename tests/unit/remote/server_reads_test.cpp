// A server's session on the simulated driver: into which memory it reads.
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kit/eventually.h"
#include "tests/unit/remote/server_session_fixture.h"

namespace cleave::remote::server {
namespace {

// For each read, in order, whether it went into memory that the driver had been given for a buffer: 'p' or '-'.
std::string read_into_pinned;
std::byte* pinned = nullptr;
std::size_t pinned_size = 0;
std::atomic<cl_mem> pinning = nullptr;  // that buffer, until it is released
decltype(Table::clEnqueueReadBuffer) drivers_read = nullptr;
cl_int CL_API_CALL noting_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                               size_t size, void* to, cl_uint count, const cl_event* waits, cl_event* event) {
  auto* const begin = static_cast<std::byte*>(to);
  const bool is_pinned = pinned != nullptr && pinned <= begin && begin + size <= pinned + pinned_size;
  read_into_pinned += is_pinned ? 'p' : '-';
  return drivers_read(queue, buffer, blocking, offset, size, to, count, waits, event);
}
decltype(Table::clCreateBuffer) drivers_create = nullptr;
cl_mem CL_API_CALL noting_create(cl_context context, cl_mem_flags flags, size_t size, void* memory,
                                 cl_int* error) {
  const cl_mem made = drivers_create(context, flags, size, memory, error);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    EXPECT_EQ(pinned, nullptr) << "once";
    pinned = static_cast<std::byte*>(memory);
    pinned_size = size;
    pinning = made;
  }
  return made;
}
decltype(Table::clReleaseMemObject) drivers_release = nullptr;
cl_int CL_API_CALL noting_release(cl_mem memory) {
  const cl_int released = drivers_release(memory);
  if (memory == pinning) pinning = nullptr;
  return released;
}

// What the driver says of itself where it is to pass for one that pins.
decltype(Table::clGetDeviceInfo) drivers_device_info = nullptr;
cl_int CL_API_CALL device_info_of_gpu(cl_device_id device, cl_device_info what, size_t size, void* value,
                                      size_t* needed) {
  if (what != CL_DEVICE_TYPE) return drivers_device_info(device, what, size, value, needed);
  *static_cast<cl_device_type*>(value) = CL_DEVICE_TYPE_GPU;
  return CL_SUCCESS;
}
cl_int CL_API_CALL platform_name_of_nvidia(cl_platform_id, cl_platform_info, size_t size, void* value,
                                           size_t*) {
  constexpr std::string_view kName = "NVIDIA CUDA";
  EXPECT_GT(size, kName.size());
  std::memcpy(value, kName.data(), kName.size());
  return CL_SUCCESS;
}

class ServerReads : public ServerSession {
 protected:
  ServerReads() {
    drivers_read = table_.clEnqueueReadBuffer;
    drivers_create = table_.clCreateBuffer;
    drivers_device_info = table_.clGetDeviceInfo;
    table_.clEnqueueReadBuffer = noting_read;
    table_.clCreateBuffer = noting_create;
    drivers_release = table_.clReleaseMemObject;
    table_.clReleaseMemObject = noting_release;
    read_into_pinned.clear();
    pinned = nullptr;
    for (std::size_t i = 0; i < contents_.size(); ++i) contents_[i] = static_cast<cl_int>(i);
    contents_buffer_ = make_buffer(contents_);
  }

  // A queue's thread may be the last that has it.
  ~ServerReads() override {
    EXPECT_TRUE(kit::eventually([] { return pinning == nullptr; }));
  }

  void register_more(ObjectTable& objects) override {
    EXPECT_TRUE(objects.add(kBufferId, {Kind::memory, contents_buffer_, contents_.size() * sizeof(cl_int)}));
  }
  void pretend_to_pin() {
    table_.clGetDeviceInfo = device_info_of_gpu;
    table_.clGetPlatformInfo = platform_name_of_nvidia;
  }

  std::vector<cl_int> contents_ = std::vector<cl_int>((std::size_t{2} << 20U) / sizeof(cl_int));
  cl_mem contents_buffer_ = nullptr;
};

// The first reads are not worth pinning anything.
TEST_F(ServerReads, SmallReadsGoIntoPinnedMemoryWhereThatGains) {
  pretend_to_pin();
  CommandsFrame frame;
  for (std::size_t i = 0; i < 7; ++i) frame.read(i);
  const Report report = run(frame);
  EXPECT_EQ(read_into_pinned, "---pppp");
  EXPECT_EQ(report.elements, (std::vector<cl_int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(report.finishes, Errors(7, CL_SUCCESS));
  EXPECT_EQ(report.ended, 7U);
}

TEST_F(ServerReads, PinnedMemoryIsForLaterReadsAgain) {
  pretend_to_pin();
  std::vector<CommandsFrame> frames(8);
  std::vector<std::reference_wrapper<CommandsFrame>> all;
  for (CommandsFrame& frame : frames) {
    for (std::size_t i = 0; i < 4; ++i) frame.read(i);
    frame.finish();
    all.emplace_back(frame);
  }
  const Report report = run(all);
  EXPECT_EQ(read_into_pinned.substr(0, 7), "---pppp");
  EXPECT_EQ(report.elements.size(), 32U);
}

TEST_F(ServerReads, ReadThatIsRefusedFailsAlone) {
  pretend_to_pin();
  driver.fail("clEnqueueReadBuffer", 4, CL_OUT_OF_RESOURCES);
  CommandsFrame frame;
  for (std::size_t i = 0; i < 7; ++i) frame.read(i);
  const Report report = run(frame);
  EXPECT_EQ(read_into_pinned, "---pppp");
  EXPECT_EQ(report.elements, (std::vector<cl_int>{0, 1, 2, 4, 5, 6}));
}

TEST_F(ServerReads, OtherReadsGoIntoOrdinaryMemory) {
  CommandsFrame frame;
  for (std::size_t i = 0; i < 7; ++i) frame.read(i);
  EXPECT_EQ(run(frame).elements.size(), 7U);
  pretend_to_pin();
  CommandsFrame unordered;
  for (std::size_t i = 0; i < 7; ++i) unordered.read(i, kUnorderedQueueId);
  EXPECT_EQ(run(unordered).elements.size(), 7U);
  EXPECT_EQ(read_into_pinned, std::string(14, '-'));
  EXPECT_EQ(pinned, nullptr);
}

}  // namespace
}  // namespace cleave::remote::server
