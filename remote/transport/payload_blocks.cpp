#include "remote/transport/payload_blocks.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <zstd.h>

namespace cleave::remote {
namespace {

constexpr int kFastLevel = 1;
constexpr int kDenseLevel = 3;

void put_word(std::byte* to, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t get_word(const std::byte* from) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(from[i]) << (8 * i);
  return value;
}

iovec part_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

BlockHeaderBytes encode(const BlockHeader& header) {
  BlockHeaderBytes bytes{};
  put_word(bytes.data(), header.wire);
  put_word(bytes.data() + 4, header.payload);
  return bytes;
}

std::optional<BlockHeader> decode_block(const BlockHeaderBytes& bytes, std::uint64_t left) {
  const BlockHeader header{get_word(bytes.data()), get_word(bytes.data() + 4)};
  const bool fits = header.payload != 0 && header.payload <= kMaxBlock && header.payload <= left;
  if (!fits || header.wire == 0 || header.wire > header.payload) return std::nullopt;
  return header;
}

void BlockDecoder::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }
BlockDecoder::BlockDecoder() : context_(ZSTD_createDCtx()) {}
BlockDecoder::~BlockDecoder() = default;

bool BlockDecoder::decode(std::span<const std::byte> block, std::span<std::byte> into) {
  if (!context_) return false;
  return ZSTD_decompressDCtx(context_.get(), into.data(), into.size(), block.data(), block.size()) ==
         into.size();
}

void PayloadWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
PayloadWriter::PayloadWriter(Stream& stream) : stream_(stream) {}
PayloadWriter::~PayloadWriter() = default;

bool PayloadWriter::wants(std::uint64_t payload) {
  if (payload < kMinCompressed) return false;
  const auto link = stream_.measure();
  if (!link || choice_.choose(std::min<std::uint64_t>(payload, kMaxBlock), 0, *link) == Coding::raw)
    return false;
  if (!context_) context_.reset(ZSTD_createCCtx());
  return context_ != nullptr;
}

void PayloadWriter::begin(FrameHeader header, std::span<const std::byte> message, Duration stall_timeout,
                          WhileBlocked while_blocked) {
  header.in_blocks = true;
  const HeaderBytes bytes = encode(header);
  message_.assign(bytes.begin(), bytes.end());
  message_.insert(message_.end(), message.begin(), message.end());
  gathered_.clear();
  at_ = 0;
  stall_timeout_ = stall_timeout;
  while_blocked_ = std::move(while_blocked);
}

bool PayloadWriter::add(std::span<const std::byte> part) {
  while (!part.empty()) {
    const std::size_t now = std::min(part.size(), kMaxBlock - gathered_.size());
    const auto first = part.first(now);
    part = part.subspan(now);
    if (now == kMaxBlock) {
      if (!send(first)) return false;
      continue;
    }
    gathered_.insert(gathered_.end(), first.begin(), first.end());
    if (gathered_.size() < kMaxBlock) continue;
    if (!send(gathered_)) return false;
    gathered_.clear();
  }
  return true;
}

bool PayloadWriter::end() {
  const bool sent = gathered_.empty() || send(gathered_);
  gathered_.clear();
  while_blocked_ = {};
  return sent;
}

bool PayloadWriter::send(std::span<const std::byte> block) {
  const auto link = stream_.measure();
  const Coding coding = link ? choice_.choose(block.size(), at_, *link) : Coding::raw;
  const std::span<const std::byte> bytes = coding == Coding::raw ? block : compress(block, coding);
  at_ += block.size();
  const BlockHeaderBytes header =
      encode(BlockHeader{static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(block.size())});
  std::array<iovec, 3> parts{part_of(message_), part_of(header), part_of(bytes)};
  const bool sent = stream_.write(message_.empty() ? std::span(parts).subspan(1) : std::span(parts),
                                  stall_timeout_, while_blocked_);
  message_.clear();
  return sent;
}

// The block itself if that does not become smaller.
std::span<const std::byte> PayloadWriter::compress(std::span<const std::byte> block, Coding coding) {
  compressed_.resize(ZSTD_COMPRESSBOUND(kMaxBlock));
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), compressed_.data(), compressed_.size(), block.data(), block.size(),
                        coding == Coding::dense ? kDenseLevel : kFastLevel);
  if (ZSTD_isError(size) != 0) return block;
  const bool is_smaller = choice_.note(coding, block.size(), size, std::chrono::steady_clock::now() - begin);
  return is_smaller && size < block.size() ? std::span<const std::byte>(compressed_).first(size) : block;
}

}  // namespace cleave::remote
