// Limits of the protocol. The receiver checks them before it allocates anything. A peer that exceeds one is broken, and the
// connection ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::remote {

// Bytes of a Hello: the client has not been authenticated yet.
inline constexpr std::uint32_t kMaxHelloSize = 4096;
// Bytes of a message without its payload. The largest are a Welcome and answers with many infos.
inline constexpr std::uint32_t kMaxMessageSize = 4U << 20U;
// Commands, or items, in one frame.
inline constexpr std::uint32_t kMaxCommands = 4096;
// A client with more unfinished commands than this many flow control windows violates the protocol. Cleave's own client
// stays a window below that.
inline constexpr std::uint64_t kMaxWindows = 16;
// All payloads of one frame together.
inline constexpr std::uint64_t kMaxPayload = std::uint64_t{1} << 40U;
// Bytes of a payload's block (feature `compression`), before compression.
inline constexpr std::size_t kMaxBlock = std::size_t{128} << 10U;
// Nesting in a message, and its tables, as FlatBuffers' verifier counts.
inline constexpr std::uint32_t kMaxDepth = 12;
inline constexpr std::uint32_t kMaxTables = 200'000;
// Addresses at which a server can be reached by others, and the bytes of one.
inline constexpr std::size_t kMaxPeerAddresses = 4;
inline constexpr std::size_t kMaxPeerAddress = 256;
// Bytes of a part of the contents that one server sends to another.
inline constexpr std::uint32_t kMaxContentsPart = 4U << 20U;
// Bytes of a token, a name.
inline constexpr std::size_t kMaxToken = 1024;
inline constexpr std::size_t kMaxName = 256;
// Bytes of a program's source, IL or binaries; build options are part of a message.
inline constexpr std::uint64_t kMaxProgram = std::uint64_t{1} << 30U;
// The files that a program includes: their number, the bytes of a path and of all paths (which are part of a message), and
// the bytes of all files. A server may accept less.
inline constexpr std::size_t kMaxIncludes = 4096;
inline constexpr std::size_t kMaxIncludePath = 4096;
inline constexpr std::size_t kMaxIncludePaths = 1U << 20U;
inline constexpr std::uint64_t kMaxIncludeBytes = std::uint64_t{64} << 20U;
// Bytes of a kernel argument's value, and of a pattern of clEnqueueFillBuffer.
inline constexpr std::size_t kMaxArgument = 64U << 10U;
inline constexpr std::size_t kMaxPattern = 128;
// Bytes of the memory that a client shares with its server.
inline constexpr std::uint64_t kMaxSharedMemory = std::uint64_t{1} << 32U;
// Of these, from the beginning, what the client never gives back to the system: the server's driver may have pinned it.
inline constexpr std::uint64_t kKeptSharedMemory = std::uint64_t{16} << 20U;
// Further ranges behind it that a client keeps (KeepShared), at a time.
inline constexpr std::size_t kMaxKeptRanges = 256;
// Rings in it: the fewest bytes of a slice, each of which is a command of the driver's, and the number of slots.
inline constexpr std::uint64_t kMinSlice = 64U << 10U;
inline constexpr unsigned kMaxSlots = 64;
// Flags in a slot byte, in addition to the slot's number.
inline constexpr std::uint8_t kCopySlotFlag = 128;
inline constexpr std::uint8_t kNoSlot = 255;

// Seconds for the Hello to arrive, and for the client to accept the answer.
inline constexpr unsigned kHelloSeconds = 5;

}  // namespace cleave::remote
