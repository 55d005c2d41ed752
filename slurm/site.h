// What a site wants of the plugin: the words after its path in plugstack.conf, as NAME=VALUE (docs/slurm.md has their table).
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::slurm {

// In the order of rank, lowest first; in the words of CLEAVE_PRIORITY.
enum class Priority : std::uint8_t { idle, background, normal, high };

std::optional<Priority> parse_priority(std::string_view text);
const char* name(Priority priority);

struct Site {
  enum class Cap : std::uint8_t { off, borrow, hard };
  // How Cleave gets into the job's programs: by variables of the environment, or it is registered on the node as the driver
  // of all programs (`cleave icd install`).
  enum class Face : std::uint8_t { preload, registered };

  unsigned shards = 0;       // into which one GPU is divided; from 1 on
  std::uint64_t memory = 0;  // of one GPU, in bytes; 0: shards do not limit memory
  Cap cap = Cap::off;
  Face face = Face::preload;
  bool turns_everywhere = false;           // also on devices that are processors
  bool user_may_override = false;          // the user's own CLEAVE_... are kept
  bool user_may_switch_off = false;        // --cleave=off is obeyed
  Priority highest = Priority::normal;     // that a user may request
  bool accounting = true;                  // what a job has used is written into its record
  std::string registry;                    // the folder of CLEAVE_REGISTRY; empty: its default
  std::string libraries;                   // the folder of Cleave's libraries; empty: the plugin's
  std::string jobs = "/run/cleave/slurm";  // a folder for each job's files
};

struct ParsedSite {
  Site site;
  std::string problem;  // one line that names the word and what is expected; empty if there is none
};

// The first mistake counts; `site` is not to be used then.
ParsedSite parse_site(const std::vector<std::string_view>& words);

}  // namespace cleave::slurm
