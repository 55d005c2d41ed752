// Transfers through a ring of slots in memory that client and server share.
#include <cstdlib>
#include <fcntl.h>
#include <numeric>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/opencl.h"
#include "remote/transport/ring_slots.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::uint64_t kSliceSize = 256U << 10U;
constexpr unsigned kSlotCount = 3;
constexpr std::uint64_t kWordsAt = 64;
constexpr std::uint64_t kSlotsAt = 4096;
constexpr std::uint64_t kSharedSize = kSlotsAt + kSlotCount * kSliceSize;
constexpr std::uint64_t kDataSize = (std::uint64_t{3} << 19U) + 17;  // six slices, and a seventh of 17 bytes
constexpr unsigned kSliceCount = 7;

class Rings : public testing::Test {
 protected:
  Rings() {
    memory_ = ::memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(::ftruncate(memory_, kSharedSize), 0);
    EXPECT_EQ(::fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    shared_ =
        static_cast<std::byte*>(::mmap(nullptr, kSharedSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0));
    data_.resize(kDataSize);
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<std::byte>(i * 7 + i / 4096);
  }
  ~Rings() override {
    EXPECT_EQ(server_.log().find("crashed"), std::string::npos) << server_.log();
    ::munmap(shared_, kSharedSize);
    ::close(memory_);
  }

  std::unique_ptr<RawClient> ready() {
    auto client = std::make_unique<RawClient>(server_.endpoint());
    EXPECT_TRUE(
        client->send_hello_with_descriptor(memory_, bit(Feature::shared_memory) | bit(Feature::shared_ring)));
    const auto* const welcome = client->await_welcome();
    EXPECT_NE(welcome, nullptr);
    EXPECT_NE(welcome->features() & bit(Feature::shared_ring), 0U);
    client->create_objects(2 * kDataSize);
    return client;
  }

  static RawClient::Options in_ring(std::uint64_t payload) {
    return {.queue = kQueue,
            .payload = payload,
            .shared = wire::Shared(kSlotsAt, kSlotCount * kSliceSize),
            .ring = wire::Ring(kWordsAt, kSliceSize)};
  }
  std::uint32_t& word(unsigned slot) {
    return *reinterpret_cast<std::uint32_t*>(shared_ + kWordsAt + slot * sizeof(std::uint32_t));
  }
  std::byte* slot(unsigned number) { return shared_ + kSlotsAt + number * kSliceSize; }
  static std::uint64_t length(unsigned slice) { return std::min(kSliceSize, kDataSize - slice * kSliceSize); }
  bool await(unsigned number) { return wait_for_slot(word(number), RawClient::deadline()); }

  // Writes one slice into a slot that the client holds.
  void write_slice(RawClient& client, unsigned slice, unsigned number, std::uint8_t flag = 0) {
    std::memcpy(slot(number), data_.data() + slice * kSliceSize, length(slice));
    give_slot(word(number));
    const auto byte = static_cast<std::uint8_t>(number | flag);
    ASSERT_TRUE(client.send_bytes(&byte, 1));
  }
  // Sends the frame of one command; its payload follows.
  static void send_head(RawClient& client, std::uint64_t payload) {
    auto& b = client.builder;
    b.Finish(wire::CreateCommands(b, b.CreateVector(client.commands)));
    const HeaderBytes header = encode({FrameKind::commands, b.GetSize(), payload});
    ASSERT_TRUE(client.send_bytes(header.data(), header.size()));
    ASSERT_TRUE(client.send_bytes(b.GetBufferPointer(), b.GetSize()));
    b.Clear();
    client.commands.clear();
  }

  const kit::TemporaryFolder folder_;
  ServerProcess server_{{}, "unix:" + folder_.file("socket")};
  int memory_ = -1;
  std::byte* shared_ = nullptr;
  std::vector<std::byte> data_;
};

TEST_F(Rings, LargeTransfersReuseTheSlots) {
  const auto client = ready();
  ASSERT_TRUE(client->send());
  auto write = in_ring(kSliceCount);
  write.event = 20;
  client->add(write, wire::CreateWriteBuffer(client->builder, kBuffer, 5, kDataSize));
  send_head(*client, kSliceCount);
  for (unsigned slice = 0; slice < kSliceCount; ++slice) {
    ASSERT_TRUE(await(slice % kSlotCount)) << slice;
    write_slice(*client, slice, slice % kSlotCount, slice % 4 == 3 ? kCopySlotFlag : 0);
  }
  ASSERT_TRUE(client->await_completion(20));
  EXPECT_EQ(client->received.completions[20], CL_COMPLETE);
  EXPECT_EQ(client->received.bytes_ended, kSliceCount);
  for (unsigned number = 0; number < kSlotCount; ++number) EXPECT_TRUE(await(number));

  // Read it back, the last slice but one over the socket.
  auto read = in_ring(kSliceCount - kSlotCount);
  read.request = 3;
  for (unsigned number = 0; number < kSlotCount; ++number) give_slot(word(number));
  client->add(read, wire::CreateReadBuffer(client->builder, kBuffer, 5, kDataSize));
  send_head(*client, kSliceCount - kSlotCount);
  std::vector<std::byte> back(kDataSize);
  const auto take_out = [&](unsigned slice, unsigned number) {
    ASSERT_TRUE(await(number)) << slice;
    std::memcpy(back.data() + slice * kSliceSize, slot(number), length(slice));
  };
  for (unsigned slice = 0; slice < kSlotCount; ++slice) {
    take_out(slice, slice);
    const bool last_but_one = slice + kSlotCount == kSliceCount - 2;
    if (!last_but_one) give_slot(word(slice));
    const std::uint8_t byte = last_but_one ? kNoSlot : static_cast<std::uint8_t>(slice);
    ASSERT_TRUE(client->send_bytes(&byte, 1));
  }
  take_out(3, 0);
  give_slot(word(0));
  const std::uint8_t last = 0;
  ASSERT_TRUE(client->send_bytes(&last, 1));
  take_out(4, 1);
  take_out(6, 0);
  ASSERT_EQ(client->error_of(3), CL_SUCCESS);
  const auto& parts = client->received.data[3];
  ASSERT_EQ(parts.size(), 6 * kSliceSize);
  std::memcpy(back.data() + 5 * kSliceSize, parts.data() + 5 * kSliceSize, kSliceSize);
  EXPECT_EQ(back, data_);
}

// A slot in use by a waiting command is not returned; one that the server has copied is.
TEST_F(Rings, CopiedSlotsAreReturnedWhileTheQueueWaits) {
  const auto client = ready();
  client->add({}, wire::CreateCreateUserEvent(client->builder, 30, kContext));
  ASSERT_TRUE(client->send());
  auto write = in_ring(kSliceCount);
  write.event = 20;
  write.waits = {30};
  client->add(write, wire::CreateWriteBuffer(client->builder, kBuffer, 0, kDataSize));
  send_head(*client, kSliceCount);
  write_slice(*client, 0, 0);
  for (unsigned slice = 1; slice < kSliceCount; ++slice) {
    write_slice(*client, slice, 1, kCopySlotFlag);
    ASSERT_TRUE(await(1)) << slice;
  }
  EXPECT_FALSE(is_returned(word(0)));
  client->add({}, wire::CreateSetUserEventStatus(client->builder, 30, CL_COMPLETE));
  ASSERT_EQ(client->read(4, kDataSize), CL_SUCCESS);
  EXPECT_EQ(client->received.data[4], data_);
  EXPECT_EQ(client->received.completions.at(20), CL_COMPLETE);
  EXPECT_TRUE(await(0));
}

TEST_F(Rings, FailedCommandReturnsItsSlots) {
  const auto client = ready();
  ASSERT_TRUE(client->send());
  for (const bool beyond : {false, true}) {
    const std::uint64_t event = beyond ? 22 : 21;
    auto write = in_ring(kSliceCount);
    write.event = event;
    client->add(write, wire::CreateWriteBuffer(client->builder, beyond ? kBuffer : kContext,
                                               beyond ? 2 * kDataSize - 5 : 0, kDataSize));
    send_head(*client, kSliceCount);
    for (unsigned slice = 0; slice < kSliceCount; ++slice) {
      ASSERT_TRUE(await(slice % kSlotCount)) << slice;
      write_slice(*client, slice, slice % kSlotCount);
    }
    ASSERT_TRUE(client->await_completion(event));
    EXPECT_EQ(client->received.completions[event], beyond ? CL_INVALID_VALUE : CL_INVALID_MEM_OBJECT);
    for (unsigned number = 0; number < kSlotCount; ++number) EXPECT_TRUE(await(number));
  }
  auto read = in_ring(kSliceCount - kSlotCount);
  read.request = 3;
  for (unsigned number = 0; number < kSlotCount; ++number) give_slot(word(number));
  client->add(read, wire::CreateReadBuffer(client->builder, kQueue, 0, kDataSize));
  const std::vector<std::byte> none(kSliceCount - kSlotCount, std::byte{kNoSlot});
  ASSERT_TRUE(client->send({none}));
  ASSERT_EQ(client->error_of(3), CL_INVALID_MEM_OBJECT);
  for (unsigned number = 0; number < kSlotCount; ++number) EXPECT_TRUE(await(number));
  EXPECT_EQ(client->received.bytes_ended, 3 * kSliceCount - kSlotCount);
}

TEST_F(Rings, InvalidRingsEndTheConnection) {
  const auto expect_violation = [&](const char* what, const RawClient::Options& options, const auto& body,
                                    std::uint8_t byte = 0) {
    const auto client = ready();
    client->add(options, body(client->builder));
    const std::vector<std::byte> bytes(options.payload, std::byte{byte});
    EXPECT_TRUE(client->is_rejected({bytes})) << what;
  };
  const auto write = [](auto& b) { return wire::CreateWriteBuffer(b, kBuffer, 0, kDataSize); };
  const auto read = [](auto& b) { return wire::CreateReadBuffer(b, kBuffer, 0, kDataSize); };
  RawClient::Options options = in_ring(kSliceCount);
  expect_violation("no such slot in the ring", options, write, kSlotCount);
  expect_violation("a copy of a slot that does not exist", options, write, kSlotCount | kCopySlotFlag);
  expect_violation("no slot for a write", options, write, kNoSlot);
  options.shared = wire::Shared(kSlotsAt + 1, kSlotCount * kSliceSize);
  expect_violation("slots that end outside", options, write);
  options.shared = wire::Shared(UINT64_MAX - 1, kSlotCount * kSliceSize);
  expect_violation("slots that begin outside", options, write);
  options.shared = wire::Shared(0, kSliceSize - 1);
  expect_violation("memory smaller than a slot", options, write);
  options.shared.reset();
  expect_violation("no shared memory", options, write);
  options = in_ring(kSliceCount);
  for (const std::uint64_t words : {kSharedSize - 8, kSharedSize, UINT64_MAX - 3, kWordsAt + 1}) {
    options.ring = wire::Ring(words, kSliceSize);
    expect_violation("words outside, or not aligned", options, write);
  }
  for (const std::uint64_t slice : {std::uint64_t{0}, std::uint64_t{kMinSlice - 1}, UINT64_MAX}) {
    options.ring = wire::Ring(kWordsAt, slice);
    expect_violation("slices too small or too large", options, write);
  }
  expect_violation("payload too short", in_ring(kSliceCount - 1), write);
  expect_violation("a payload that is too long", in_ring(kSliceCount + 1), write);
  expect_violation("a ring for a small transfer", in_ring(1),
                   [](auto& b) { return wire::CreateWriteBuffer(b, kBuffer, 0, kSliceSize); });
  options = in_ring(kSliceCount - kSlotCount);
  options.request = 5;
  expect_violation("a read into a slot that does not exist", options, read, kSlotCount);
  expect_violation("a read with a copy", options, read, kCopySlotFlag);
  options.payload = kSliceCount;
  expect_violation("a read's payload that is too long", options, read);
  const wire::Size3 origin(0, 0, 0);
  const wire::Size3 region(kDataSize, 1, 1);
  expect_violation("a ring for a rectangle", in_ring(kSliceCount),
                   [&](auto& b) { return wire::CreateWriteBufferRect(b, kBuffer, &origin, &region); });
}

}  // namespace
}  // namespace cleave::remote
