// Payloads in blocks, each of which is compressed (zstd) or not: what the feature `compression` adds to frames.
//
//   0  u32  bytes of the block on the wire, 1 to 4
//   4  u32  bytes of the payload that it holds: 1 to kMaxBlock, and no more than are left of the frame's payload
//   8       the bytes themselves where both sizes are equal, else a zstd frame
//
// The sizes of payloads are those without compression, and are checked as without it. A block can neither make its
// receiver allocate anything (it has room for one block, always the same) nor write more than the block's stated size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "remote/protocol/frame.h"
#include "remote/transport/compression_choice.h"
#include "remote/transport/stream.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace cleave::remote {

inline constexpr std::size_t kBlockHeaderSize = 8;
using BlockHeaderBytes = std::array<std::byte, kBlockHeaderSize>;

struct BlockHeader {
  std::uint32_t wire = 0;
  std::uint32_t payload = 0;
  [[nodiscard]] bool is_compressed() const { return wire != payload; }
};

BlockHeaderBytes encode(const BlockHeader& header);
// Empty: it exceeds a limit, or the `left` bytes of the payload that have not come.
std::optional<BlockHeader> decode_block(const BlockHeaderBytes& bytes, std::uint64_t left);

// Decompresses blocks. Not thread-safe.
class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  // False: this is no zstd frame that holds exactly the bytes of `into`.
  bool decode(std::span<const std::byte> block, std::span<std::byte> into);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

// Writes frames whose payload is compressed where that pays. Not thread-safe.
class PayloadWriter {
 public:
  explicit PayloadWriter(Stream& stream);
  ~PayloadWriter();

  // Whether to send the payload of the next frame in blocks; otherwise the frame is as without this class.
  [[nodiscard]] bool wants(std::uint64_t payload);

  // A frame in blocks: begin, then its payload in parts, then end. False: the connection is closed, or has accepted no data
  // for `stall_timeout`. The message is sent with the first block.
  void begin(FrameHeader header, std::span<const std::byte> message, Duration stall_timeout,
             WhileBlocked while_blocked = {});
  bool add(std::span<const std::byte> part);
  bool end();

 private:
  bool send(std::span<const std::byte> block);
  std::span<const std::byte> compress(std::span<const std::byte> block, Coding coding);

  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  Stream& stream_;
  CompressionChoice choice_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<std::byte> message_;     // with its header; until it is sent
  std::vector<std::byte> gathered_;    // parts that are less than a block
  std::vector<std::byte> compressed_;  // room for one block
  std::uint64_t at_ = 0;               // of the payload that has been sent
  Duration stall_timeout_{};
  WhileBlocked while_blocked_;
};

}  // namespace cleave::remote
