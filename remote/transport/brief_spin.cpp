#include "remote/transport/brief_spin.h"

#include <sched.h>

namespace cleave::remote {
namespace {

// With one processor nothing can happen while this thread polls.
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
