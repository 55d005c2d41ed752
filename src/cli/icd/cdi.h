// `cleave icd cdi`: how containers get Cleave, as a file for the Container Device Interface (CDI), which container engines and
// Kubernetes read: github.com/cncf-tags/container-device-interface, version 0.5.0 of its SPEC.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cleave::cli {

struct CdiRequest {
  std::string kind = "cleave.local/gpu";  // VENDOR/CLASS, by which containers request it
  unsigned shards = 1;                    // of a GPU: a device for each number of them
  std::string memory;                     // of a GPU, in the words of CLEAVE_MEMORY_LIMIT; empty: no limits
  std::filesystem::path registry = "/dev/shm/cleave";
};

// Writes the file to standard output. Returns the exit status: 1, with one line on standard error, if Cleave's libraries are
// missing.
int icd_cdi(const CdiRequest& request);

}  // namespace cleave::cli
