// What a program, a kernel or a text may do with its NDRange.
//
// Thread-safe: values and pure functions.
#pragma once

namespace cleave::kernels {

struct Scan {
  bool reads_ndrange = false;    // may read a value that a cut changes and the prelude replaces
  bool reads_global_id = false;  // uses get_global_id, which is right in a slice, but not in one with a tag
  bool breaks_prelude =
      false;              // uses the names of these functions in a way that the prelude does not support
  bool opaque = false;    // may notice a cut in a way that the prelude cannot hide
  bool assembly = false;  // has inline assembly, of which nothing is known
  // Work-groups may exchange data through global memory (atomics, volatile, fences wider than a work-group,
  // pipes), or with the host (printf).
  bool communicates = false;
  // May depend on the size of its work-group, or on its position in it.
  bool reads_work_group = false;
  bool pastes_tokens = false;              // forms names with ##
  bool breaks_prelude_if_pasting = false;  // breaks the prelude if anything in the program pastes tokens
  bool has_includes = false;               // includes other text
  bool ambiguous = false;                  // compilers could read it in different ways
  bool keeps_state = false;                // may keep data from launch to launch in variables of its own
  bool loops = false;                      // may do something more than once
  bool adds_to_global =
      false;  // has operations that communicate only if it loops (kernels/facts/harmless_atomics.h)
  // Has barriers of global memory, or volatile variables of its own, which communicate only if it has open loops.
  bool fences_global = false;
  bool open_loops = false;  // has loops that may wait for another work-group (kernels/facts/loops.h)
  // A work-group may read or overwrite what another one stores by plain accesses (kernels/facts/shared_stores.h). With open
  // loops that is communication.
  bool shares_stores = false;
  // Has a loop that could go on until something else has changed memory (kernels/facts/loops.h), or waits for the host. Says
  // something of kernels that communicate.
  bool may_wait = false;

  // Nothing is known: everything is assumed.
  static Scan worst_case() {
    return {true, true, true, true, true, true, true, true, true,
            true, true, true, true, true, true, true, true, true};
  }

  friend bool operator==(const Scan&, const Scan&) = default;
};

// What may happen if both texts belong to one program.
Scan merge(const Scan& a, const Scan& b);

}  // namespace cleave::kernels
