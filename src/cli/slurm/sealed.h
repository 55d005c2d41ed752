// Texts that only the same user can read and write, on all nodes of the cluster: MUNGE's credentials, with which Slurm itself
// authenticates its users. So they may be sent over Slurm's network, which is not encrypted, or through files.
//
// Throws std::runtime_error with a line for the user.
#pragma once

#include <string>

namespace cleave::cli {

// A line without spaces.
std::string seal(const std::string& text);

// Refuses texts that another user has sealed, or that are older than MUNGE allows (five minutes). Each task of a job may read the
// same text.
std::string unseal(const std::string& sealed);

}  // namespace cleave::cli
