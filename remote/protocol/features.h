// What of the protocol not every peer need know: versions, and the bits of Hello.features and
// Welcome.features. What not both know is not used.
#pragma once

#include <cstdint>

namespace cleave::remote {

// Raised when something changes that a feature cannot express.
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::uint16_t kOldestVersion = 1;

enum class Feature : std::uint64_t {
  shared_memory = 1U << 0U,  // payloads through memory passed by descriptor; unix sockets only
  svm = 1U << 1U,            // coarse-grained SVM
  pipes = 1U << 2U,
  shared_ring = 1U << 3U,  // data passes through it slice by slice
  includes = 1U << 4U,     // files that a program includes come with its build
  end_answers = 1U << 6U,  // Command.at_end
};

inline constexpr std::uint64_t bit(Feature feature) { return static_cast<std::uint64_t>(feature); }

// Ids from here on are the server's.
inline constexpr std::uint64_t kFirstServerId = std::uint64_t{1} << 63U;

// Where a server listens unless told otherwise.
inline constexpr unsigned kPort = 27461;

}  // namespace cleave::remote
