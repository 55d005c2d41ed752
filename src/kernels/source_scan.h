// What a kernel's source may do with its NDRange, read from the text alone. When in doubt, the answer is the
// careful one.
//
// What a cut changes: the values of get_group_id, get_num_groups, get_global_size, get_global_offset,
// get_work_dim, get_global_linear_id and get_group_linear_id. get_global_id is right under a global offset,
// and what concerns one work-group is untouched. The prelude (kernels/prelude.h) replaces these functions by
// ones that give the whole launch's values. It does so with macros, and therefore also where the names are
// only formed by macros; where the program itself defines, undefines or tests them, it cannot.
//
// Beyond mending: device-side enqueues, whose children wait for the end of their parent's launch; compiler
// intrinsics and inline assembly, which can read the hardware's own group ids; attributes and pragmas that
// give a function the symbol of another; text that one compiler could read differently from another.
//
// Source: OpenCL C 3.0, sections 6.15.1 "Work-item functions" and 6.15.11 "Enqueuing kernels"; C99 5.1.1.2
// and 6.10.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lexer.h"

namespace cleave::kernels {

struct Scan {
  bool reads_ndrange = false;    // may read what a cut changes, through functions that the prelude replaces
  bool reads_global_id = false;  // names get_global_id, which is right in a slice, but not in one with a tag
  bool breaks_prelude = false;   // does with the names of these functions what the prelude does not survive
  bool opaque = false;           // may notice a cut in a way that nothing can mend
  // Work-groups may exchange data through global memory: atomics, volatile, fences wider than a work-group,
  // pipes. Or with the host: printf.
  bool communicates = false;
  // May depend on the size of its work-group, or on its place in it.
  bool reads_work_group = false;
  bool pastes_tokens = false;              // forms names that are not written down (##)
  bool breaks_prelude_if_pasting = false;  // meddles if anything of the program pastes
  bool has_includes = false;               // brings in other text
  bool ambiguous = false;                  // can be read in more than one way
  bool keeps_state = false;                // may keep data in variables of its own that outlive a launch

  // Nothing is known: everything may be.
  static Scan worst_case() { return {true, true, true, true, true, true, true, true, true, true, true}; }

  friend bool operator==(const Scan&, const Scan&) = default;
};

// What holds of either holds of both together.
Scan merge(const Scan& a, const Scan& b);

// Scans text that has no line splices. Includes are not followed, and pasted names not formed.
Scan scan_text(std::string_view text);

// What may come of names that are pasted together from the names and numbers in all of `texts` and in
// `options`, which is what options_as_directive() gives.
Scan scan_pasted_names(const std::vector<std::string_view>& texts, std::string_view options);

// The build options as the text of a directive that says the same: their macros' definitions are read as it
// is. Drivers strip quotes and backslashes in ways of their own, so it holds them with and without.
std::string options_as_directive(std::string_view options);

// What the options say for themselves: text that they bring in, functions that they define.
Scan scan_options(std::string_view options);

// The operands of -I and of the macros they define or undefine, without quotes.
struct Options {
  std::vector<std::string> folders;
  std::vector<std::string> macros;  // names only
  bool quotes = false;  // there are quotes or backslashes, which drivers take in ways of their own
  bool cpp = false;     // the text is C++ for OpenCL, where functions are called without being named
};
Options parse_options(std::string_view options);

// What #include names: the text between quotes or angle brackets, empty if it is formed by a macro.
std::vector<std::string> includes_of(std::string_view text);

// Calls visit(name) for every name in `text`, which has no line splices. Not in comments and strings.
template <typename Visit>
void for_each_name(std::string_view text, Visit visit) {
  for (const Token& token : tokens_of(text).list) {
    if (token.kind == Token::Kind::name) visit(token.text);
  }
}

}  // namespace cleave::kernels
