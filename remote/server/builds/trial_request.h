// A worker's request to its trial process (build_trials.h): make one build, to show that it ends within the limits.
//
// Thread-safe: plain values. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::remote::server {

// A device by its order among those that are offered, which is the same in all processes of one server.
struct DevicePlace {
  std::uint32_t platform = 0;
  std::uint32_t device = 0;
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

struct SpecializationConstant {
  std::uint32_t id = 0;
  std::string value;
};

// A program as its client has made it.
struct TrialProgram {
  enum class Origin : std::uint32_t { source, il, binaries };

  Origin origin = Origin::source;
  std::vector<std::string> texts;  // one; of binaries one for each device of the request
  std::vector<SpecializationConstant> constants;
};

struct TrialRequest {
  enum class Work : std::uint32_t { build, compile, link };

  Work work = Work::build;
  std::vector<DevicePlace> devices;
  std::string folder;  // the current folder of the build; empty: any
  std::string options;
  std::vector<TrialProgram> programs;  // what is built, then the headers of a compilation; or what is linked
  std::vector<std::string> names;      // of the headers
  std::uint8_t has_options = 1;        // 0: null, which some drivers distinguish from an empty text
};

// How a trial has ended, if its process has not ended with it.
enum class TrialAnswer : char {
  ended = 'e',       // the build, with whatever result
  impossible = 'i',  // the driver does not make such a program here
  memory = 'm',      // the build has failed for want of memory
  output = 'o',      // the build wanted to write a file that is too large
};

std::string encode(const TrialRequest& request);
bool decode(std::string_view text, TrialRequest& request);

}  // namespace cleave::remote::server
