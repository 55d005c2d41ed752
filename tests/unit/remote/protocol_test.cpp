// Frames and the check of messages: what is good passes, and nothing else.
#include <random>

#include <gtest/gtest.h>

#include "remote/protocol/features.h"
#include "remote/protocol/frame.h"
#include "remote/protocol/numbers.h"
#include "remote/protocol/verify.h"

namespace cleave::remote {
namespace {

std::vector<std::uint64_t> aligned(const flatbuffers::FlatBufferBuilder& builder) {
  std::vector<std::uint64_t> words((builder.GetSize() + 7) / 8);
  std::memcpy(words.data(), builder.GetBufferPointer(), builder.GetSize());
  return words;
}

std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words, std::size_t size) {
  return std::as_bytes(std::span(words)).first(size);
}

TEST(Frame, RoundTrips) {
  for (const FrameHeader& header :
       {FrameHeader{FrameKind::hello, kMaxHelloSize, 0}, FrameHeader{FrameKind::welcome, 1, 0},
        FrameHeader{FrameKind::commands, kMaxMessageSize, kMaxPayload},
        FrameHeader{FrameKind::events, 77, 0x123456789a, true}}) {
    EXPECT_EQ(decode(encode(header)), header);
  }
}

TEST(Frame, IsLittleEndian) {
  const HeaderBytes bytes = encode({FrameKind::commands, 0x010203, 0x0a0b0c0d0e});
  const std::array<unsigned, kHeaderSize> expected{3, 2, 1, 0, 3, 0, 0, 0, 0xe, 0xd, 0xc, 0xb, 0xa, 0, 0, 0};
  for (std::size_t i = 0; i < kHeaderSize; ++i)
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << i;
}

TEST(Frame, BeyondTheLimitsIsRejected) {
  const auto is_refused = [](const FrameHeader& header) { return !decode(encode(header)); };
  EXPECT_TRUE(is_refused({FrameKind::hello, kMaxHelloSize + 1, 0}));
  EXPECT_TRUE(is_refused({FrameKind::hello, 64, 1}));
  EXPECT_TRUE(is_refused({FrameKind::welcome, 64, 1}));
  EXPECT_TRUE(is_refused({FrameKind::commands, 0, 0}));
  EXPECT_TRUE(is_refused({FrameKind::commands, kMaxMessageSize + 1, 0}));
  EXPECT_TRUE(is_refused({FrameKind::commands, 64, kMaxPayload + 1}));
  EXPECT_TRUE(is_refused({static_cast<FrameKind>(0), 64, 0}));
  EXPECT_TRUE(is_refused({FrameKind::peer, kMaxHelloSize + 1, 0}));
  EXPECT_TRUE(is_refused({FrameKind::peer, 64, 1}));
  EXPECT_TRUE(is_refused({static_cast<FrameKind>(6), 64, 0}));
  EXPECT_TRUE(is_refused({FrameKind::welcome, 64, 0, true}));
  HeaderBytes reserved = encode({FrameKind::commands, 64, 0});
  reserved[6] = std::byte{2};
  EXPECT_FALSE(decode(reserved));
}

TEST(Hello, TokenSizeIsLimited) {
  for (const std::size_t size : {kMaxToken, kMaxToken + 1}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto token = builder.CreateString(std::string(size, 'x'));
    builder.Finish(wire::CreateHello(builder, kVersion, kVersion, 0, wire::ByteOrder::little, token));
    const auto words = aligned(builder);
    EXPECT_EQ(verified_hello(bytes_of(words, builder.GetSize())) != nullptr, size == kMaxToken);
  }
}

// A frame of `count` writes, each with its declared payload.
struct Writes {
  explicit Writes(std::size_t count, std::uint64_t payload = 0) {
    std::vector<flatbuffers::Offset<wire::Command>> commands;
    for (std::size_t i = 0; i < count; ++i) {
      const auto body = wire::CreateWriteBuffer(builder, 3, 0, payload);
      commands.push_back(
          wire::CreateCommand(builder, 0, 2, 0, 0, payload, nullptr, wire::Body::WriteBuffer, body.Union()));
    }
    builder.Finish(wire::CreateCommands(builder, builder.CreateVector(commands)));
    words = aligned(builder);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_of(words, builder.GetSize()); }

  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::uint64_t> words;
};

TEST(Commands, PayloadsAddUp) {
  const Writes writes(3, 100);
  EXPECT_NE(verified_commands(writes.bytes(), 300), nullptr);
  EXPECT_EQ(verified_commands(writes.bytes(), 299), nullptr);
  EXPECT_EQ(verified_commands(writes.bytes(), 301), nullptr);
  const Writes overflowing(3, UINT64_MAX / 3 + 1);
  EXPECT_EQ(verified_commands(overflowing.bytes(), 2), nullptr);
}

TEST(Commands, CountIsLimited) {
  EXPECT_NE(verified_commands(Writes(kMaxCommands).bytes(), 0), nullptr);
  EXPECT_EQ(verified_commands(Writes(kMaxCommands + 1).bytes(), 0), nullptr);
}

TEST(Commands, WithoutABodyOrOfAnUnknownKindAreRejected) {
  for (const int kind : {0, static_cast<int>(wire::Body::MAX) + 1, 255}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::CreatePing(builder, 1);
    wire::CommandBuilder command(builder);
    command.add_body_type(static_cast<wire::Body>(kind));
    if (kind != 0) command.add_body(body.Union());
    const auto made = command.Finish();
    builder.Finish(wire::CreateCommands(builder, builder.CreateVector(&made, 1)));
    const auto words = aligned(builder);
    EXPECT_EQ(verified_commands(bytes_of(words, builder.GetSize()), 0), nullptr) << kind;
  }
}

// Under AddressSanitizer this is what the verifier is for: a message that passes can be read through.
TEST(Commands, CorruptedBytesAreRejectedOrHarmless) {
  const Writes writes(4, 16);
  std::mt19937 random(7);
  std::size_t passed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::uint64_t> words = writes.words;
    const auto size = static_cast<std::size_t>(writes.builder.GetSize());
    auto spoilt = std::as_writable_bytes(std::span(words)).first(size);
    for (int i = 0; i < 3; ++i) spoilt[random() % size] = static_cast<std::byte>(random());
    const auto* const commands = verified_commands(spoilt, 64);
    if (commands == nullptr) continue;
    ++passed;
    std::uint64_t sum = 0;
    for (const auto* const command : *commands->commands()) {
      sum += command->payload();
      for (const std::uint64_t wait : numbers(command->waits())) sum += wait & 0U;
    }
    EXPECT_EQ(sum, 64U);
  }
  EXPECT_GT(passed, 0U);
  EXPECT_LT(passed, 20'000U);
}

TEST(Events, PayloadsAddUp) {
  flatbuffers::FlatBufferBuilder builder;
  const auto answer = wire::CreateAnswer(builder, 1);
  const auto item = wire::CreateItem(builder, 10, wire::Event::Answer, answer.Union());
  builder.Finish(wire::CreateEvents(builder, builder.CreateVector(&item, 1), 1, 2));
  const auto words = aligned(builder);
  EXPECT_NE(verified_events(bytes_of(words, builder.GetSize()), 10), nullptr);
  EXPECT_EQ(verified_events(bytes_of(words, builder.GetSize()), 11), nullptr);
}

}  // namespace
}  // namespace cleave::remote
