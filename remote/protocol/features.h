// Versions of the protocol, and its optional features: the bits of Hello.features and Welcome.features. A feature is used
// only if both peers know it.
#pragma once

#include <cstdint>

namespace cleave::remote {

// Raised by changes that a feature cannot express.
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::uint16_t kOldestVersion = 1;

enum class Feature : std::uint64_t {
  shared_memory = 1U << 0U,  // payloads through memory passed by descriptor; unix sockets only
  svm = 1U << 1U,            // coarse-grained SVM
  pipes = 1U << 2U,
  shared_ring = 1U << 3U,  // data passes through shared memory slice by slice
  includes = 1U << 4U,     // the files that a program includes come with its build
  end_answers = 1U << 6U,  // Command.at_end
  compression = 1U << 7U,  // payloads in blocks, which may be compressed
  offers = 1U << 8U,       // OfferContents: other servers may fetch contents from this one
  fetches =
      1U << 9U,  // FetchContents: this one fetches contents from the servers that its operator has listed
  kept_shared = 1U << 10U,  // KeepShared
  trials = 1U << 11U,       // Trial
  judgements = 1U << 12U,   // CreateContext.complete; queries of `devices_of_type` and `kernels_in_program`
};

inline constexpr std::uint64_t bit(Feature feature) { return static_cast<std::uint64_t>(feature); }

// Ids from here on are chosen by the server.
inline constexpr std::uint64_t kFirstServerId = std::uint64_t{1} << 63U;

// The default port of a server.
inline constexpr unsigned kPort = 27461;

}  // namespace cleave::remote
