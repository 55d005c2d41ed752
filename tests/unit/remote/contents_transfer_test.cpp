// Contents on their way from one server to another, on a driver whose buffers are memory of the test's.
#include "remote/server/peers/contents_transfer.h"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "remote/protocol/limits.h"

namespace cleave::remote::server {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kTransferPatience{20};

struct FakeBuffer {
  explicit FakeBuffer(std::size_t size) : bytes(size) {}
  std::vector<std::byte> bytes;
  int references = 1;
  int maps = 0;
  cl_mem handle() { return reinterpret_cast<cl_mem>(this); }
};
FakeBuffer& buffer_of(cl_mem handle) { return *reinterpret_cast<FakeBuffer*>(handle); }

// A queue: what kind of device it is of, and which of its commands fails.
struct FakeQueue {
  cl_device_type type = CL_DEVICE_TYPE_GPU;
  int fails_at = -1;    // the number of the command whose event ends with an error
  int refuses_at = -1;  // that the driver does not accept
  unsigned slow = 0;    // how often a command's status has to be queried
  int commands = 0;
  int references = 1;
  cl_command_queue handle() { return reinterpret_cast<cl_command_queue>(this); }
};
FakeQueue& queue_of(cl_command_queue handle) { return *reinterpret_cast<FakeQueue*>(handle); }

struct FakeEvent {
  cl_int status;
  unsigned left;  // how often it is queried before it has ended
};

bool accept(cl_command_queue handle, cl_event* event) {
  FakeQueue& queue = queue_of(handle);
  const int number = queue.commands++;
  if (number == queue.refuses_at) return false;
  *event = reinterpret_cast<cl_event>(
      new FakeEvent{number == queue.fails_at ? CL_OUT_OF_RESOURCES : CL_COMPLETE, queue.slow});
  return true;
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) { return ++queue_of(queue).references, CL_SUCCESS; }
cl_int CL_API_CALL release_the_queue(cl_command_queue queue) {
  return --queue_of(queue).references, CL_SUCCESS;
}
cl_int CL_API_CALL retain_buffer(cl_mem buffer) { return ++buffer_of(buffer).references, CL_SUCCESS; }
cl_int CL_API_CALL release_buffer(cl_mem buffer) { return --buffer_of(buffer).references, CL_SUCCESS; }
cl_int CL_API_CALL queue_info(cl_command_queue queue, cl_command_queue_info, size_t, void* value, size_t*) {
  std::memcpy(value, static_cast<const void*>(&queue), sizeof queue);
  return CL_SUCCESS;
}
cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info, size_t, void* value, size_t*) {
  *static_cast<cl_device_type*>(value) = queue_of(reinterpret_cast<cl_command_queue>(device)).type;
  return CL_SUCCESS;
}
cl_int CL_API_CALL event_info(cl_event event, cl_event_info, size_t, void* value, size_t*) {
  FakeEvent& one = *reinterpret_cast<FakeEvent*>(event);
  *static_cast<cl_int*>(value) = one.left > 0 ? CL_RUNNING : one.status;
  if (one.left > 0) --one.left;
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_the_event(cl_event event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return CL_SUCCESS;
}
cl_int CL_API_CALL flush(cl_command_queue) { return CL_SUCCESS; }
cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool, size_t offset, size_t size,
                               void* to, cl_uint, const cl_event*, cl_event* event) {
  if (!accept(queue, event)) return CL_OUT_OF_HOST_MEMORY;
  std::memcpy(to, buffer_of(buffer).bytes.data() + offset, size);
  return CL_SUCCESS;
}
cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool, size_t offset, size_t size,
                                const void* from, cl_uint, const cl_event*, cl_event* event) {
  if (!accept(queue, event)) return CL_OUT_OF_HOST_MEMORY;
  std::memcpy(buffer_of(buffer).bytes.data() + offset, from, size);
  return CL_SUCCESS;
}
void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool, cl_map_flags, size_t offset,
                             size_t, cl_uint, const cl_event*, cl_event* event, cl_int* error) {
  if (!accept(queue, event)) return *error = CL_OUT_OF_HOST_MEMORY, nullptr;
  ++buffer_of(buffer).maps;
  *error = CL_SUCCESS;
  return buffer_of(buffer).bytes.data() + offset;
}
cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem buffer, void*, cl_uint, const cl_event*,
                         cl_event* event) {
  --buffer_of(buffer).maps;
  return accept(queue, event) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

Table driver() {
  Table table{};
  table.clRetainCommandQueue = &retain_queue;
  table.clReleaseCommandQueue = &release_the_queue;
  table.clRetainMemObject = &retain_buffer;
  table.clReleaseMemObject = &release_buffer;
  table.clGetCommandQueueInfo = &queue_info;
  table.clGetDeviceInfo = &device_info;
  table.clGetEventInfo = &event_info;
  table.clReleaseEvent = &release_the_event;
  table.clFlush = &flush;
  table.clEnqueueReadBuffer = &read_buffer;
  table.clEnqueueWriteBuffer = &write_buffer;
  table.clEnqueueMapBuffer = &map_buffer;
  table.clEnqueueUnmapMemObject = &unmap;
  return table;
}

constexpr std::size_t kParts = 10;
constexpr std::size_t kWhole = (kParts - 1) * kMaxContentsPart + 12'345;
constexpr std::size_t kOffset = 77;
constexpr std::size_t kPartOf = kWhole - 100;

class ContentsTransfer : public testing::Test {
 protected:
  ContentsTransfer() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    source_ = make_socket_stream(ends[0]);
    target_ = make_socket_stream(ends[1]);
    for (std::size_t i = 0; i < kWhole; ++i) from_.bytes[i] = static_cast<std::byte>(i * 7 + i / 4096);
  }
  ~ContentsTransfer() override {
    EXPECT_EQ(from_.references, 1);
    EXPECT_EQ(to_.references, 1);
    EXPECT_EQ(from_.maps, 0);
    EXPECT_EQ(to_.maps, 0);
    EXPECT_EQ(source_queue_.references, 1);
    EXPECT_EQ(target_queue_.references, 1);
    EXPECT_LE(staging_.cached_bytes(), 7U * kMaxContentsPart) << "what is in memory at a time";
  }

  [[nodiscard]] ContentsRange source_range() {
    return {table_, source_queue_.handle(), from_.handle(), kOffset, kPartOf};
  }
  [[nodiscard]] ContentsRange target_range() {
    return {table_, target_queue_.handle(), to_.handle(), kOffset, kPartOf};
  }
  bool send() {
    const bool sent = send_contents(source_range(), *source_, staging_, kTransferPatience);
    source_->shutdown();
    return sent;
  }
  bool receive(Duration silence = kTransferPatience) {
    const bool received = receive_contents(target_range(), *target_, staging_, silence);
    target_->shutdown();
    return received;
  }
  // Both at a time: what each has returned.
  std::pair<bool, bool> transfer() {
    bool sent = false;
    std::thread source([&] { sent = send(); });
    const bool received = receive();
    source.join();
    return {sent, received};
  }
  void expect_transferred() {
    std::vector<std::byte> expected(kWhole);
    std::copy_n(from_.bytes.begin() + kOffset, kPartOf, expected.begin() + kOffset);
    EXPECT_EQ(to_.bytes, expected);
  }
  void send_bytes(const std::vector<std::uint8_t>& bytes) {
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    EXPECT_TRUE(source_->write(std::span(&part, 1), kTransferPatience));
  }

  const Table table_ = driver();
  FakeBuffer from_{kWhole};
  FakeBuffer to_{kWhole};
  FakeQueue source_queue_;
  FakeQueue target_queue_;
  Staging staging_{std::size_t{1} << 30U};
  std::unique_ptr<Stream> source_;
  std::unique_ptr<Stream> target_;
};

TEST_F(ContentsTransfer, CopiesAreTransferred) {
  EXPECT_EQ(transfer(), std::pair(true, true));
  expect_transferred();
}

TEST_F(ContentsTransfer, MapsAreTransferred) {
  source_queue_.type = target_queue_.type = CL_DEVICE_TYPE_CPU;
  source_queue_.slow = target_queue_.slow = 3;
  EXPECT_EQ(transfer(), std::pair(true, true));
  expect_transferred();
}

TEST_F(ContentsTransfer, DriverThatFailsAtTheSourceEndsIt) {
  for (const bool refuses : {false, true}) {
    for (const auto type : {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU}) {
      FakeQueue queue{.type = static_cast<cl_device_type>(type)};
      (refuses ? queue.refuses_at : queue.fails_at) = 2;
      EXPECT_FALSE(
          send_contents({table_, queue.handle(), from_.handle(), 0, kWhole}, *source_, staging_, 1ms));
      EXPECT_EQ(queue.references, 1);
    }
  }
}

TEST_F(ContentsTransfer, DriverThatFailsAtTheTargetIsNoSuccess) {
  target_queue_.fails_at = kParts - 1;  // the last write
  EXPECT_FALSE(transfer().second);
}

TEST_F(ContentsTransfer, DriverThatRefusesAtTheTargetIsNoSuccess) {
  target_queue_.type = CL_DEVICE_TYPE_CPU;
  target_queue_.refuses_at = 5;
  EXPECT_FALSE(transfer().second);
}

TEST_F(ContentsTransfer, SourceThatEndsEarlyIsNoSuccess) {
  send_bytes({3, 0, 0, 0, 1, 2, 3});
  source_->shutdown();
  EXPECT_FALSE(receive());
}

TEST_F(ContentsTransfer, SourceThatFallsSilentIsNoSuccess) {
  send_bytes({3, 0, 0, 0, 1, 2});
  EXPECT_FALSE(receive(50ms));
}

TEST_F(ContentsTransfer, PartThatIsTooLargeIsNoSuccess) {
  send_bytes({1, 0, 64, 0});  // 4 MiB and a byte
  EXPECT_FALSE(receive());
}

TEST_F(ContentsTransfer, MoreThanAllIsNoSuccess) {
  const ContentsRange few(table_, target_queue_.handle(), to_.handle(), 0, 2);
  send_bytes({0, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3});
  EXPECT_FALSE(receive_contents(few, *target_, staging_, kTransferPatience));
}

TEST_F(ContentsTransfer, SignsOfLifeAndSmallPartsAreNoContents) {
  const ContentsRange few(table_, target_queue_.handle(), to_.handle(), 5, 3);
  send_bytes({0, 0, 0, 0, 1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 12, 13});
  EXPECT_TRUE(receive_contents(few, *target_, staging_, kTransferPatience));
  EXPECT_EQ(
      (std::vector<std::byte>(to_.bytes.begin() + 4, to_.bytes.begin() + 9)),
      (std::vector<std::byte>{std::byte{0}, std::byte{11}, std::byte{12}, std::byte{13}, std::byte{0}}));
}

TEST_F(ContentsTransfer, NoMemoryIsNoSuccess) {
  Staging none(1000);
  EXPECT_FALSE(send_contents(source_range(), *source_, none, kTransferPatience));
  EXPECT_FALSE(receive_contents(target_range(), *target_, none, kTransferPatience));
}

}  // namespace
}  // namespace cleave::remote::server
