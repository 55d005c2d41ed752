// What Cleave knows of a program's binary for one device, and the text in which it is kept between processes.
//
// Thread-safe: values and pure functions. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/opencl.h"
#include "interpose/state/records.h"
#include "kernels/facts/source_scan.h"

namespace cleave::interpose {

struct BinaryFacts {
  struct Scans {
    kernels::Scan whole;  // of the whole program, and of kernels that are not listed
    std::map<std::string, kernels::Scan> kernels;
    // By kernel, of "" the whole program's: what led to that, in the source. May be incomplete.
    std::map<std::string, kernels::Causes> causes = {};

    friend bool operator==(const Scans&, const Scans&) = default;
  };

  // Null: nothing is known, and slices may be wrong, with or without tags.
  std::shared_ptr<const Scans> scans;
  bool tagged = false;            // built with the prelude enabled
  bool may_have_prelude = false;  // some of its code may contain the prelude
  std::uint64_t origin = 0;       // identity of its source and options, for measured costs; 0: unknown
  NoPrelude no_prelude = NoPrelude::unneeded;  // why it is not tagged
};
bool operator==(const BinaryFacts& a, const BinaryFacts& b);

// What is known of the program's binary for `device`. `kernel_names` are those of the program; none if it is not
// executable.
BinaryFacts facts_of(const ProgramRecord& program, cl_device_id device,
                     const std::vector<std::string>& kernel_names);

// What holds whichever of the two is right.
BinaryFacts merge(const BinaryFacts& a, const BinaryFacts& b);

// Whether slices with tags are right for all its kernels.
bool is_correct_in_slices(const BinaryFacts& facts);

// A text for each value, without the causes for which it would become too long. from_text() is empty for what is not such a
// text.
std::string to_text(const BinaryFacts& facts);
std::optional<BinaryFacts> from_text(std::string_view text);

}  // namespace cleave::interpose
