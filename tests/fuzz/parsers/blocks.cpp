// Payloads in blocks (feature `compression`). The input is what a peer sends as a frame's payload, of which it announces as many
// bytes as its first two bytes say; and once more as a payload that is compressed honestly, arrives as it was, and is then
// changed on its way. Whatever comes, a reader gets exactly what was announced, or the connection ends.
#include <algorithm>
#include <vector>

#include "harness.h"
#include "remote/transport/frames.h"
#include "tests/unit/remote/memory_stream.h"

namespace {

using cleave::fuzz::require;
using namespace cleave::remote;  // NOLINT(google-build-using-namespace): the harness is about it

const std::vector<std::byte> kMessage(8, std::byte{1});

// Reads the payload in parts of several sizes, to blocks of exactly these. Empty: the connection has ended.
std::vector<std::byte> read_all(MemoryStream& stream) {
  FrameReader input(stream, std::chrono::seconds(1));
  input.accept_blocks();
  FrameHeader header;
  if (input.next(header, Time::max()) != ReadStatus::data) return {};
  std::vector<std::byte> all;
  for (std::size_t size = 1; all.size() < header.payload; size = size * 3 + 1) {
    std::vector<std::byte> part(std::min<std::size_t>(size, header.payload - all.size()));
    if (!input.read_payload(part)) return {};
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void read_what_a_peer_sends(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return;
  const std::size_t payload =
      std::to_integer<std::size_t>(bytes[0]) + 256 * std::to_integer<std::size_t>(bytes[1]);
  const HeaderBytes header =
      encode(FrameHeader{FrameKind::events, static_cast<std::uint32_t>(kMessage.size()), payload, true});
  MemoryStream stream;
  stream.bytes.assign(header.begin(), header.end());
  stream.bytes.insert(stream.bytes.end(), kMessage.begin(), kMessage.end());
  stream.bytes.insert(stream.bytes.end(), bytes.begin() + 2, bytes.end());
  const auto got = read_all(stream);
  require(got.empty() || got.size() == payload, "a reader gets what was announced");
}

void read_what_was_compressed(std::span<const std::byte> bytes) {
  std::vector<std::byte> payload(bytes.begin(), bytes.end());
  // Large enough to be compressed, and for several blocks.
  while (!payload.empty() && payload.size() < 200'000)
    payload.insert(payload.end(), payload.begin(), payload.end());
  MemoryStream stream;
  stream.link = kNarrowLink;
  PayloadWriter writer(stream);
  const std::array<std::span<const std::byte>, 1> payloads{payload};
  require(write_frame(stream, FrameKind::events, kMessage, payloads, std::chrono::seconds(1), &writer),
          "it is sent");
  require(payload.empty() || stream.bytes.size() < payload.size(), "it is compressed");
  const std::vector<std::byte> sent = stream.bytes;
  require(read_all(stream) == payload, "it arrives as it was");
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(bytes.size(), 16); i += 2) {
    stream.bytes = sent;
    stream.at = 0;
    const std::size_t place = kHeaderSize + std::to_integer<std::size_t>(bytes[i]) % 64;
    if (place < stream.bytes.size()) stream.bytes[place] ^= bytes[i + 1];
    const auto got = read_all(stream);
    require(got.empty() || got.size() == payload.size(), "a reader gets what was announced");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  read_what_a_peer_sends(bytes);
  read_what_was_compressed(bytes);
  return 0;
}
