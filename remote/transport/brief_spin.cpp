#include "remote/transport/brief_spin.h"

#include <sched.h>

namespace cleave::remote {
namespace {

// Where there is one processor, what is looked for cannot come while somebody looks.
bool has_several_processors() {
  cpu_set_t ours;
  return ::sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) > 1;
}

}  // namespace

bool BriefSpin::is_worthwhile() {
  static const bool several = has_several_processors();
  if (!several) return false;
  if (misses_ < kMaxMisses) return true;
  if (++skipped_ < kMaxSkipped) return false;
  skipped_ = 0;
  return true;
}

}  // namespace cleave::remote
