// Finds out from a kernel's source what the kernel may do with its NDRange. Conservative: in doubt, it reports more.
//
// A cut changes the values of get_group_id, get_num_groups, get_global_size, get_global_offset, get_work_dim,
// get_global_linear_id and get_group_linear_id. get_global_id is right under a global offset, and everything
// about a single work-group is unaffected. The prelude (kernels/prelude.h) replaces these functions by ones
// that return the whole launch's values. It does so with macros, so it also works for names that macros form,
// but not in programs that define, undefine or test these names.
//
// What cannot be compensated: device-side enqueues, whose children wait for the end of their parent's launch;
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

#include "kernels/lexer.h"

namespace cleave::kernels {

struct Scan {
  bool reads_ndrange = false;    // may read a value that a cut changes and the prelude replaces
  bool reads_global_id = false;  // uses get_global_id, which is right in a slice, but not in one with a tag
  bool breaks_prelude =
      false;            // uses the names of these functions in a way that the prelude does not support
  bool opaque = false;  // may notice a cut in a way that cannot be compensated
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

  // Nothing is known: everything is assumed.
  static Scan worst_case() { return {true, true, true, true, true, true, true, true, true, true, true}; }

  friend bool operator==(const Scan&, const Scan&) = default;
};

// What may happen if both texts belong to one program.
Scan merge(const Scan& a, const Scan& b);

// Scans text without line splices. Includes are not followed, and pasted names are not formed.
Scan scan_text(std::string_view text);

// What names may do that are pasted together from the names and numbers in `texts` and in `options`, the result
// of options_as_directive().
Scan scan_pasted_names(const std::vector<std::string_view>& texts, std::string_view options);

// The build options as the text of a directive, so that the macro definitions in them are scanned like text.
// Drivers strip quotes and backslashes in different ways, so it holds the options with and without them.
std::string options_as_directive(std::string_view options);

// What the options themselves may do: text that they include, functions that they define.
Scan scan_options(std::string_view options);

// The operands of -I, and the names of the macros that are defined or undefined, without quotes.
struct Options {
  std::vector<std::string> folders;
  std::vector<std::string> macros;  // names only
  bool quotes = false;              // there are quotes or backslashes, which drivers treat in different ways
  bool cpp = false;                 // C++ for OpenCL, where functions are called without being named
};
Options parse_options(std::string_view options);

// The headers that #include names: the text between quotes or angle brackets, empty if a macro forms it.
std::vector<std::string> includes_of(std::string_view text);

// Calls visit(name) for every name in `text`, which has no line splices, outside of comments and strings.
template <typename Visit>
void for_each_name(std::string_view text, Visit visit) {
  for (const Token& token : tokens_of(text).list) {
    if (token.kind == Token::Kind::name) visit(token.text);
  }
}

}  // namespace cleave::kernels
