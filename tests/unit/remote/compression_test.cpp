// Payloads in blocks: which are compressed, that all arrive as they were, and that no peer can make a reader do more than
// announced.
#include <random>

#include <gtest/gtest.h>

#include "memory_stream.h"
#include "remote/transport/compression_choice.h"
#include "remote/transport/frames.h"
#include "remote/transport/payload_blocks.h"

namespace cleave::remote {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kBlock = kMaxBlock;
constexpr LinkMeasure kFastLink{2'000'000'000, true, microseconds(50)};
constexpr LinkMeasure kUnusedNearLink{1'000'000, false, microseconds(50)};
constexpr LinkMeasure kUnusedFarLink{1'000'000, false, milliseconds(20)};
constexpr CompressionChoice::Seconds kQuick{kBlock / 400e6};

TEST(CompressionChoice, NarrowLinkGetsCompressedBlocks) {
  CompressionChoice choice;
  EXPECT_EQ(choice.choose(kBlock, 0, kNarrowLink), Coding::dense);
  EXPECT_EQ(choice.choose(kBlock, 0, {12'500'000, true, milliseconds(1)}), Coding::fast);
  EXPECT_EQ(choice.choose(kBlock, 0, {0, false, milliseconds(20)}), Coding::dense)
      << "a link that was never used";
}

TEST(CompressionChoice, FastAndNearLinksGetBlocksAsTheyAre) {
  CompressionChoice choice;
  EXPECT_EQ(choice.choose(kBlock, 0, kFastLink), Coding::raw);
  EXPECT_EQ(choice.choose(kBlock, 0, kUnusedNearLink), Coding::raw);
}

TEST(CompressionChoice, SmallGainsAreLeft) {
  CompressionChoice choice;
  EXPECT_EQ(choice.choose(200, 0, kNarrowLink), Coding::raw);
  EXPECT_EQ(choice.choose(1000, 0, {12'500'000, true, milliseconds(1)}), Coding::raw);
  EXPECT_NE(choice.choose(1000, 0, kNarrowLink), Coding::raw);
}

TEST(CompressionChoice, LinkThatWasNotBusyIsLearntFromStretchesAsTheyAre) {
  CompressionChoice choice;
  unsigned raw = 0;
  unsigned first = 0;
  for (std::uint64_t at = 0; at < 64 * kBlock; at += kBlock) {
    if (choice.choose(kBlock, at, kUnusedFarLink) != Coding::raw) continue;
    if (++raw == 1) first = static_cast<unsigned>(at / kBlock);
  }
  EXPECT_EQ(raw, 32U);
  EXPECT_GT(first, 0U) << "it begins compressed";
}

TEST(CompressionChoice, DataThatCannotBeCompressedIsTriedRarely) {
  CompressionChoice choice;
  unsigned tried = 0;
  for (int i = 0; i < 1000; ++i) {
    const Coding coding = choice.choose(kBlock, 0, kNarrowLink);
    if (coding == Coding::raw) continue;
    ++tried;
    EXPECT_FALSE(choice.note(coding, kBlock, kBlock, kQuick));
  }
  EXPECT_GT(tried, 5U);
  EXPECT_LT(tried, 30U);
}

TEST(CompressionChoice, DataThatCanBeCompressedAgainIsFound) {
  CompressionChoice choice;
  for (int i = 0; i < 200; ++i) {
    const Coding coding = choice.choose(kBlock, 0, kNarrowLink);
    if (coding != Coding::raw) choice.note(coding, kBlock, kBlock, kQuick);
  }
  unsigned compressed = 0;
  for (int i = 0; i < 200; ++i) {
    const Coding coding = choice.choose(kBlock, 0, kNarrowLink);
    if (coding != Coding::raw) compressed += choice.note(coding, kBlock, kBlock / 10, kQuick) ? 1 : 0;
  }
  EXPECT_GT(compressed, 100U);
}

TEST(CompressionChoice, SlowProcessorIsWeighedAgainstTheLink) {
  CompressionChoice choice;
  const LinkMeasure link{50'000'000, true, milliseconds(1)};
  EXPECT_NE(choice.choose(kBlock, 0, link), Coding::raw);
  for (int i = 0; i < 50; ++i)
    choice.note(Coding::fast, kBlock, kBlock / 2, CompressionChoice::Seconds(kBlock / 20e6));
  EXPECT_EQ(choice.choose(kBlock, 0, link), Coding::raw);
}

Bytes random_bytes(std::size_t size) {
  std::minstd_rand random(7);
  Bytes bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

const Bytes kMessage(24, std::byte{1});

// The payload as it is read in parts of that size; empty: the reader has ended the connection.
std::optional<Bytes> payload_read(MemoryStream& stream, std::size_t part) {
  FrameReader input(stream, seconds(1));
  input.accept_blocks();
  FrameHeader header;
  if (input.next(header, Time::max()) != ReadStatus::data) return std::nullopt;
  Bytes got(header.payload);
  for (std::size_t at = 0; at < got.size(); at += part) {
    if (!input.read_payload(std::span(got).subspan(at, std::min(part, got.size() - at)))) return std::nullopt;
  }
  return got;
}

bool write_blocks(MemoryStream& stream, PayloadWriter& writer, std::span<const std::byte> payload) {
  return write_frame(stream, FrameKind::commands, kMessage, {&payload, 1}, seconds(1), &writer);
}

TEST(PayloadBlocks, PayloadsArriveAsTheyWere) {
  const Bytes zeros(300'000);
  const Bytes noise = random_bytes(300'000);
  const Bytes few(300, std::byte{5});
  Bytes whole;
  for (const Bytes* one : {&few, &zeros, &noise, &few, &zeros})
    whole.insert(whole.end(), one->begin(), one->end());
  for (const std::size_t part : {std::size_t{1000}, std::size_t{131'072}, whole.size()}) {
    MemoryStream stream;
    stream.link = kNarrowLink;
    PayloadWriter writer(stream);
    const std::array<std::span<const std::byte>, 5> payloads{few, zeros, noise, few, zeros};
    ASSERT_TRUE(write_frame(stream, FrameKind::commands, kMessage, payloads, seconds(1), &writer));
    EXPECT_LT(stream.bytes.size(), 500'000U);
    EXPECT_EQ(payload_read(stream, part), whole) << part;
  }
}

TEST(PayloadBlocks, FrameOnAFastLinkIsAsWithoutThem) {
  const Bytes zeros(300'000);
  const std::array<std::span<const std::byte>, 1> payloads{zeros};
  MemoryStream fast;
  fast.link = kFastLink;
  PayloadWriter writer(fast);
  ASSERT_TRUE(write_frame(fast, FrameKind::commands, kMessage, payloads, seconds(1), &writer));
  MemoryStream plain;
  ASSERT_TRUE(write_frame(plain, FrameKind::commands, kMessage, payloads, seconds(1)));
  EXPECT_EQ(fast.bytes, plain.bytes);
}

TEST(PayloadBlocks, SkippedPayloadIsDecompressedToo) {
  MemoryStream stream;
  stream.link = kNarrowLink;
  PayloadWriter writer(stream);
  const Bytes zeros(200'000);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(write_blocks(stream, writer, zeros));
  FrameReader input(stream, seconds(1));
  input.accept_blocks();
  FrameHeader header;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(input.next(header, Time::max()), ReadStatus::data);
    ASSERT_EQ(header.payload, zeros.size());
    ASSERT_TRUE(input.skip_payload(header.payload));
  }
  EXPECT_FALSE(input.has_more());
}

TEST(PayloadBlocks, WithoutTheFeatureTheyEndTheConnection) {
  MemoryStream stream;
  stream.link = kNarrowLink;
  PayloadWriter writer(stream);
  ASSERT_TRUE(write_blocks(stream, writer, Bytes(10'000)));
  FrameReader input(stream, seconds(1));
  FrameHeader header;
  EXPECT_EQ(input.next(header, Time::max()), ReadStatus::closed);
}

// A frame of `payload` bytes in blocks, of which one has these sizes and bytes.
Bytes frame_with(std::uint64_t payload, BlockHeader block, std::span<const std::byte> bytes) {
  Bytes all;
  const HeaderBytes header =
      encode(FrameHeader{FrameKind::commands, static_cast<std::uint32_t>(kMessage.size()), payload, true});
  const BlockHeaderBytes sizes = encode(block);
  for (const std::span<const std::byte> part :
       {std::span<const std::byte>(header), std::span<const std::byte>(kMessage),
        std::span<const std::byte>(sizes), bytes})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(PayloadBlocks, WrongSizesEndTheConnection) {
  const Bytes bytes(2 * kMaxBlock);
  const auto is_read = [&](std::uint64_t payload, BlockHeader block) {
    MemoryStream stream;
    stream.bytes = frame_with(payload, block, bytes);
    return payload_read(stream, payload).has_value();
  };
  EXPECT_TRUE(is_read(1000, {1000, 1000}));
  EXPECT_FALSE(is_read(1000, {1001, 1001})) << "more than the payload";
  EXPECT_FALSE(is_read(1000, {1000, 0}));
  EXPECT_FALSE(is_read(1000, {0, 1000}));
  EXPECT_FALSE(is_read(1000, {1001, 1000})) << "larger than without compression";
  EXPECT_FALSE(is_read(2 * kMaxBlock, {2 * kMaxBlock, 2 * kMaxBlock})) << "larger than a block";
  EXPECT_FALSE(is_read(1000, {500, 1000})) << "not zstd's";
}

// A block that holds more, or less, than it says.
TEST(PayloadBlocks, WhatABlockSaysIsWhatItHolds) {
  MemoryStream made;
  made.link = kNarrowLink;
  PayloadWriter writer(made);
  const Bytes zeros(100'000);
  ASSERT_TRUE(write_blocks(made, writer, zeros));
  const auto compressed =
      std::span<const std::byte>(made.bytes).subspan(kHeaderSize + kMessage.size() + kBlockHeaderSize);
  const auto wire = static_cast<std::uint32_t>(compressed.size());
  for (const std::uint32_t said : {99'999U, 100'000U, 100'001U, 1000U, 131'072U}) {
    MemoryStream stream;
    stream.bytes = frame_with(said, {wire, said}, compressed);
    const auto got = payload_read(stream, said);
    EXPECT_EQ(got.has_value(), said == zeros.size()) << said;
  }
}

}  // namespace
}  // namespace cleave::remote
