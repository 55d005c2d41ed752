// Finds out from a kernel's source what the kernel may do with its NDRange. Conservative: in doubt, it reports more.
//
// A cut changes the values of get_group_id, get_num_groups, get_global_size, get_global_offset, get_work_dim,
// get_global_linear_id and get_group_linear_id. get_global_id is right under a global offset, and everything
// about a single work-group is unaffected. The prelude (kernels/prelude/prelude.h) replaces these functions by ones
// that return the whole launch's values. It does so with macros, so it also works for names that macros form,
// but not in programs that define, undefine or test these names.
//
// What cannot be hidden: device-side enqueues, whose children wait for the end of their parent's launch;
// compiler intrinsics and inline assembly, which can read the hardware's group ids; attributes and pragmas that
// give a function another's symbol; text that compilers could read in different ways.
//
// Source: OpenCL C 3.0, sections 6.15.1 "Work-item functions" and 6.15.11 "Enqueuing kernels"; C99 5.1.1.2 and
// 6.10.
//
// Thread-safe: pure functions. They may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/facts/cause.h"
#include "kernels/facts/harmless_atomics.h"
#include "kernels/facts/scan.h"
#include "kernels/text/lexer.h"

namespace cleave::kernels {

// The fence of barriers that order accesses to local memory only.
inline constexpr std::string_view kLocalFence = "CLK_LOCAL_MEM_FENCE";

// What a text may do, and the first cause of each finding.
struct Findings {
  Scan scan;
  Causes causes;

  // What may happen if the text belongs to one program with another one.
  void add(const Findings& other) {
    scan = merge(scan, other.scan);
    causes.add(other.causes.list());
  }
};

// Adds what follows from findings of which each alone is harmless: they communicate together with a loop that may wait. And what
// may do anything may wait.
void conclude(Findings& found);

// Scans the tokens of text without line splices. Includes are not followed, and pasted names are not formed.
Scan scan_tokens(const Tokens& tokens, const CauseNotes& notes = {});
// The same with its causes, of tokens of `text`.
Findings findings_in(const Tokens& tokens, const JoinedText& text);
// The same for one function, of which some tokens are known not to communicate, and some to be words of register_assembly.h,
// which counts as communication, no more.
Scan scan_function(const Tokens& tokens, const HarmlessAtomics& harmless,
                   const std::vector<bool>& register_assembly, const CauseNotes& notes);
Scan scan_text(std::string_view text);

// What the build's options themselves may do: text that they include, functions that they define.
Scan scan_options(std::string_view options, Causes* causes = nullptr);

// What names may do that are pasted together from the names and numbers in `texts` and in `options`, those of the result
// of options_as_directive(). The causes are noted at the place of the first "##".
Scan scan_pasted_names(const std::vector<const Tokens*>& texts, const Tokens& options,
                       Causes* causes = nullptr);

}  // namespace cleave::kernels
