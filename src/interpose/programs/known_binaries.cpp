#include "interpose/programs/known_binaries.h"

#include <algorithm>
#include <sstream>

#include "interpose/state/cache_folder.h"

namespace cleave::interpose {
namespace {

// One line per binary: the version of this format, the mark, and the binary's hash.
constexpr const char* kBinariesFormat = "1";
constexpr const char* kBinariesFile = "binaries";
constexpr std::size_t kMaxBinariesFileSize = std::size_t{1} << 28U;

std::string entry_for(KnownBinaries::Mark mark, Binary binary) {
  return (mark == KnownBinaries::Mark::unsplittable ? "refused " : "dressed ") + key_of(binary);
}

}  // namespace

void KnownBinaries::note(Mark mark, Binary binary) {
  if (has(mark, binary)) return;
  const std::string entry = entry_for(mark, binary);
  const base::MutexLock lock(mutex_);
  known_.insert(entry);
  if (!folder_.empty())
    append_line(folder_, kBinariesFile, std::string(kBinariesFormat) + " " + entry + "\n");
}

bool KnownBinaries::has(Mark mark, Binary binary) {
  const std::string entry = entry_for(mark, binary);
  const base::MutexLock lock(mutex_);
  if (known_.contains(entry)) return true;
  if (folder_.empty()) return false;
  const std::string wanted_line = std::string(kBinariesFormat) + " " + entry;
  std::istringstream file(read_file(folder_, kBinariesFile, kMaxBinariesFileSize));
  for (std::string line; std::getline(file, line);) {
    if (line == wanted_line) return true;
  }
  return false;
}

bool has_prelude_for(const ProgramRecord& program, cl_device_id device) {
  return std::find(program.tagged.begin(), program.tagged.end(), device) != program.tagged.end();
}

bool is_correct_in_slices(const ProgramRecord& program, cl_device_id device) {
  if (program.trusted) return true;
  if (!program.scan) return false;
  const kernels::Scan& scan = program.scan->whole();
  const bool tagged = std::find(program.tagged.begin(), program.tagged.end(), device) != program.tagged.end();
  return !scan.opaque && (tagged || (!scan.reads_ndrange && !scan.reads_global_id));
}

}  // namespace cleave::interpose
