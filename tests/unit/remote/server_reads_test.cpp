// A server's session on the simulated driver: into which memory it reads, and when it returns the slots of a ring.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "remote/server/memory/shared_memory.h"
#include "remote/transport/ring_slots.h"
#include "tests/kit/eventually.h"
#include "tests/unit/remote/server_session_fixture.h"

namespace cleave::remote::server {
namespace {

// For each read, in order, whether it went into memory that the driver had been given for a buffer: 'p' or '-'.
std::string read_into_pinned;
std::byte* pinned = nullptr;
std::size_t pinned_size = 0;
std::atomic<cl_mem> pinning = nullptr;  // that buffer, until it is released
bool carries_out_within_call = false;
decltype(Table::clEnqueueReadBuffer) drivers_read = nullptr;
cl_int CL_API_CALL noting_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                               size_t size, void* to, cl_uint count, const cl_event* waits, cl_event* event) {
  auto* const begin = static_cast<std::byte*>(to);
  const bool is_pinned = pinned != nullptr && pinned <= begin && begin + size <= pinned + pinned_size;
  read_into_pinned += is_pinned ? 'p' : '-';
  EXPECT_EQ(blocking, CL_FALSE);
  return drivers_read(queue, buffer, carries_out_within_call ? CL_TRUE : CL_FALSE, offset, size, to, count,
                      waits, event);
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

// At the ends of commands; where the driver is late, the test calls back.
unsigned callbacks = 0;
bool is_late = false;
std::vector<std::function<void()>> late_callbacks;
decltype(Table::clSetEventCallback) drivers_callback = nullptr;
cl_int CL_API_CALL noting_callback(cl_event event, cl_int state,
                                   void(CL_CALLBACK* call)(cl_event, cl_int, void*), void* data) {
  ++callbacks;
  if (!is_late) return drivers_callback(event, state, call, data);
  late_callbacks.emplace_back([call, state, data] { call(nullptr, state, data); });
  return CL_SUCCESS;
}

// The device goes on when an event is queried again.
sim::Driver* simulated = nullptr;
std::mutex asked_mutex;
std::set<cl_event> asked;
decltype(Table::clGetEventInfo) drivers_event_info = nullptr;
cl_int CL_API_CALL noting_event_info(cl_event event, cl_event_info what, size_t size, void* value,
                                     size_t* needed) {
  bool is_new = false;
  {
    const std::scoped_lock lock(asked_mutex);
    is_new = asked.insert(event).second;
  }
  if (!is_new) simulated->run_until_idle();
  return drivers_event_info(event, what, size, value, needed);
}

// Events of which there is more than the first reference, and the most of them at a time.
std::mutex retained_mutex;
std::map<cl_event, int> retained;
std::size_t most_retained = 0;
decltype(Table::clRetainEvent) drivers_retain = nullptr;
cl_int CL_API_CALL noting_retain(cl_event event) {
  const std::scoped_lock lock(retained_mutex);
  ++retained[event];
  most_retained = std::max(most_retained, retained.size());
  return drivers_retain(event);
}
decltype(Table::clReleaseEvent) drivers_release_event = nullptr;
cl_int CL_API_CALL noting_release_event(cl_event event) {
  {
    const std::scoped_lock lock(retained_mutex);
    if (const auto found = retained.find(event); found != retained.end() && --found->second == 0)
      retained.erase(found);
  }
  return drivers_release_event(event);
}
// The commands before have ended by the time of the next one.
cl_int CL_API_CALL read_after_others(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                     size_t size, void* to, cl_uint count, const cl_event* waits,
                                     cl_event* event) {
  simulated->run_until_idle();
  return noting_read(queue, buffer, blocking, offset, size, to, count, waits, event);
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
    drivers_callback = table_.clSetEventCallback;
    drivers_device_info = table_.clGetDeviceInfo;
    table_.clEnqueueReadBuffer = noting_read;
    table_.clCreateBuffer = noting_create;
    drivers_release = table_.clReleaseMemObject;
    table_.clReleaseMemObject = noting_release;
    table_.clSetEventCallback = noting_callback;
    read_into_pinned.clear();
    pinned = nullptr;
    carries_out_within_call = false;
    callbacks = 0;
    is_late = false;
    late_callbacks.clear();
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

// The client's end of a read through a ring of two slots: takes what a slot has when it is returned, and names it again.
class RingClient : public MemoryStream {
 public:
  static constexpr std::uint64_t kWords = 4096;
  static constexpr std::uint64_t kSlots = 2;
  static constexpr std::uint64_t kSlice = std::uint64_t{1} << 19U;

  RingClient(const SharedMemory& memory, std::size_t slices) : memory_(memory), slices_(slices) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) give_slot(word(slot));
  }

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) override {
    if (!MemoryStream::has_data() && slices_ > kSlots) {
      simulated->run_until_idle();
      if (!take_next(std::chrono::steady_clock::now() + kPatience)) ADD_FAILURE() << "no slot came back";
    }
    return MemoryStream::read(into, size, until);
  }
  bool has_data() override {
    return MemoryStream::has_data() || (slices_ > kSlots && is_returned(word(slot())) && take_next(kNoWait));
  }

  // When the read has ended: all of its data.
  std::vector<std::byte> data() {
    while (slices_ != 0) {
      if (!take_next(std::chrono::steady_clock::now() + kPatience)) break;
    }
    return data_;
  }

 private:
  static constexpr std::chrono::seconds kPatience{20};

  [[nodiscard]] std::size_t slot() const { return data_.size() / kSlice % kSlots; }
  [[nodiscard]] std::uint32_t& word(std::size_t slot) const {
    return reinterpret_cast<std::uint32_t*>(memory_.at(0, kWords))[slot];
  }
  bool take_next(Time until) {
    const std::size_t from = slot();
    if (!is_returned(word(from)) && !wait_for_slot(word(from), until)) return false;
    const std::byte* const begin = memory_.at(kWords + from * kSlice, kSlice);
    data_.insert(data_.end(), begin, begin + kSlice);
    if (slices_-- <= kSlots) return true;
    give_slot(word(from));
    bytes.push_back(static_cast<std::byte>(from));
    return true;
  }

  const SharedMemory& memory_;
  std::size_t slices_;  // that are still to come
  std::vector<std::byte> data_;
};

class ServerRings : public ServerReads {
 protected:
  static constexpr std::uint64_t kSlice = RingClient::kSlice;
  static constexpr std::uint64_t kSlices = 4;

  ServerRings() {
    const int descriptor = memfd_create("slots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(descriptor, RingClient::kWords + RingClient::kSlots * kSlice), 0);
    EXPECT_EQ(fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    memory_ = SharedMemory::map(descriptor);
    shared_ = memory_.get();
    simulated = &driver;
    asked.clear();
    drivers_event_info = table_.clGetEventInfo;
    table_.clGetEventInfo = noting_event_info;
  }
  [[nodiscard]] std::uint32_t& word(std::size_t slot) const {
    return reinterpret_cast<std::uint32_t*>(memory_->at(0, RingClient::kWords))[slot];
  }
  void expect_read() {
    CommandsFrame frame;
    frame.read_through_ring(kSlices * kSlice, {RingClient::kWords, RingClient::kSlots * kSlice}, kSlice,
                            kSlices - RingClient::kSlots);
    RingClient client(*memory_, kSlices);
    const Report report = run({frame}, client);
    EXPECT_EQ(report.finishes, Errors{CL_SUCCESS});
    const std::vector<std::byte> data = client.data();
    ASSERT_EQ(data.size(), kSlices * kSlice);
    EXPECT_EQ(std::memcmp(data.data(), contents_.data(), data.size()), 0);
  }

  std::unique_ptr<SharedMemory> memory_;
};

TEST_F(ServerRings, SlotsAreReturnedByTheDriversCallbacks) {
  expect_read();
  EXPECT_EQ(callbacks, kSlices);
}

TEST_F(ServerRings, SlotsOfSlicesThatHaveEndedNeedNoCallback) {
  pretend_to_pin();
  carries_out_within_call = true;
  expect_read();
  EXPECT_EQ(callbacks, 0U);
}

// The client may have given the slots to the server again by the time of the callbacks.
TEST_F(ServerRings, SlotsAreReturnedOnceThoughTheDriverCallsBackLate) {
  if (std::thread::hardware_concurrency() == 1) GTEST_SKIP() << "there is no polling on one processor";
  pretend_to_pin();
  is_late = true;
  expect_read();
  EXPECT_EQ(callbacks, kSlices);
  for (std::size_t slot = 0; slot < RingClient::kSlots; ++slot) give_slot(word(slot));
  for (const auto& call : late_callbacks) call();
  for (std::size_t slot = 0; slot < RingClient::kSlots; ++slot) EXPECT_FALSE(is_returned(word(slot)));
}

// A client that is always ahead, so that nothing is polled: the driver's callbacks return the slots.
TEST_F(ServerRings, LongTransferKeepsNoEventsOfSlicesThatHaveEnded) {
  pretend_to_pin();
  table_.clEnqueueReadBuffer = read_after_others;
  retained.clear();
  most_retained = 0;
  drivers_retain = table_.clRetainEvent;
  drivers_release_event = table_.clReleaseEvent;
  table_.clRetainEvent = noting_retain;
  table_.clReleaseEvent = noting_release_event;
  constexpr std::uint64_t kMany = 32;
  const std::uint64_t slice = contents_.size() * sizeof(cl_int) / kMany;
  CommandsFrame frame;
  frame.read_through_ring(kMany * slice, {RingClient::kWords, RingClient::kSlots * slice}, slice,
                          kMany - RingClient::kSlots);
  MemoryStream client;
  frame.write_to(client);
  for (std::uint64_t i = RingClient::kSlots; i < kMany; ++i)
    client.bytes.push_back(static_cast<std::byte>(i % RingClient::kSlots));
  EXPECT_EQ(run(Frames{}, client).finishes, Errors{CL_SUCCESS});
  EXPECT_EQ(callbacks, kMany);
  EXPECT_LE(most_retained, 4U);
}

}  // namespace
}  // namespace cleave::remote::server
