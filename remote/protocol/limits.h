// How large things may be. Checked by whoever receives, before it allocates anything; what is beyond is a
// broken peer, and the connection ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::remote {

// Until the server knows who the client is.
inline constexpr std::uint32_t kMaxHelloSize = 4096;
// A message without its payload. The largest are a Welcome and the answers with many infos.
inline constexpr std::uint32_t kMaxMessageSize = 4U << 20U;
// Commands in one frame, and items.
inline constexpr std::uint32_t kMaxCommands = 4096;
// Windows of unfinished commands, beyond which a client is sent away. One of ours stays a window below that.
inline constexpr std::uint64_t kMaxWindows = 16;
// All payloads of one frame together.
inline constexpr std::uint64_t kMaxPayload = std::uint64_t{1} << 40U;
// Nesting in a message, and its tables, as FlatBuffers' verifier counts.
inline constexpr std::uint32_t kMaxDepth = 12;
inline constexpr std::uint32_t kMaxTables = 200'000;
// A token, a name.
inline constexpr std::size_t kMaxToken = 1024;
inline constexpr std::size_t kMaxName = 256;
// A program's text, IL or binaries; options are part of a message.
inline constexpr std::uint64_t kMaxProgram = std::uint64_t{1} << 30U;
// The files that a program includes: how many, the path of each and all of them, as they are part of a
// message, and the bytes of all files. A server may take less.
inline constexpr std::size_t kMaxIncludes = 4096;
inline constexpr std::size_t kMaxIncludePath = 4096;
inline constexpr std::size_t kMaxIncludePaths = 1U << 20U;
inline constexpr std::uint64_t kMaxIncludeBytes = std::uint64_t{64} << 20U;
// A kernel argument's value, a pattern of clEnqueueFillBuffer.
inline constexpr std::size_t kMaxArgument = 64U << 10U;
inline constexpr std::size_t kMaxPattern = 128;
// The memory that a client shares with its server.
inline constexpr std::uint64_t kMaxSharedMemory = std::uint64_t{1} << 32U;
// What passes through it in a ring: each slice is a command of the driver's.
inline constexpr std::uint64_t kMinSlice = 64U << 10U;
inline constexpr unsigned kMaxSlots = 64;
// What the client says of a slot beside its number.
inline constexpr std::uint8_t kCopySlotFlag = 128;
inline constexpr std::uint8_t kNoSlot = 255;

// Seconds: to say Hello, to take what is sent to it.
inline constexpr unsigned kHelloSeconds = 5;

}  // namespace cleave::remote
