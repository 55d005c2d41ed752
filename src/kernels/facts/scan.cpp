#include "kernels/facts/scan.h"

namespace cleave::kernels {

Scan merge(const Scan& a, const Scan& b) {
  Scan all = a;
  all.reads_ndrange |= b.reads_ndrange;
  all.reads_global_id |= b.reads_global_id;
  all.breaks_prelude |= b.breaks_prelude;
  all.opaque |= b.opaque;
  all.assembly |= b.assembly;
  all.communicates |= b.communicates;
  all.reads_work_group |= b.reads_work_group;
  all.pastes_tokens |= b.pastes_tokens;
  all.breaks_prelude_if_pasting |= b.breaks_prelude_if_pasting;
  all.has_includes |= b.has_includes;
  all.ambiguous |= b.ambiguous;
  all.keeps_state |= b.keeps_state;
  all.loops |= b.loops;
  all.adds_to_global |= b.adds_to_global;
  all.fences_global |= b.fences_global;
  all.open_loops |= b.open_loops;
  all.shares_stores |= b.shares_stores;
  all.may_wait |= b.may_wait;
  return all;
}

}  // namespace cleave::kernels
