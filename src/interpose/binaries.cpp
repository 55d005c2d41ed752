#include "interpose/binaries.h"

#include <algorithm>
#include <fstream>

#include "interpose/cache_folder.h"

namespace cleave::interpose {
namespace {

// One line for each binary: the version of this format and a hash of it.
constexpr const char* kFormat = "1";
constexpr const char* kFile = "binaries";

}  // namespace

void Binaries::refuse(Binary binary) {
  if (is_refused(binary)) return;
  const std::string key = key_of(binary);
  const std::scoped_lock lock(mutex_);
  refused_.insert(key);
  if (!folder_.empty()) append_line(folder_, kFile, std::string(kFormat) + " " + key + "\n");
}

bool Binaries::is_refused(Binary binary) {
  const std::string key = key_of(binary);
  const std::scoped_lock lock(mutex_);
  if (refused_.contains(key)) return true;
  if (folder_.empty()) return false;
  std::ifstream file(folder_ + "/" + kFile);
  std::string format;
  std::string known;
  while (file >> format >> known) {
    if (format == kFormat && known == key) return true;
  }
  return false;
}

bool is_right_in_slices(const ProgramRecord& program, cl_device_id device) {
  if (program.trusted) return true;
  if (!program.scan) return false;
  const kernels::Scan& scan = program.scan->whole();
  const bool tagged = std::find(program.tagged.begin(), program.tagged.end(), device) != program.tagged.end();
  return !scan.opaque && (tagged || (!scan.sees && !scan.ids));
}

}  // namespace cleave::interpose
