// What a kernel's source may do with its NDRange, read from the text alone. When in doubt, the answer is the
// careful one: a kernel is splittable only if nothing in its source could make it notice a cut.
//
// Not splittable:
//   - any mention, also inside longer names, comments and texts, of a built-in function whose value a cut
//   changes:
//     get_group_id, get_num_groups, get_global_size, get_global_offset, get_work_dim, get_global_linear_id,
//     get_group_linear_id. get_global_id is right under a global offset, and what concerns one work-group is
//     untouched;
//   - a directive that brings in text we do not see (#include and every directive unknown here), and the ways
//   to spell
//     a name without writing it: ## and %:%:, trigraphs, universal character names. Line splices are undone
//     first;
//   - device-side enqueues, whose children wait for the end of their parent's launch;
//   - compiler intrinsics and inline assembly, which can read the hardware's own group ids, and the
//   attributes and pragmas
//     that give a function the symbol of another.
//
// Source: OpenCL C 3.0, sections 6.12.1 "Work-item functions" and 6.15.11 "Enqueuing kernels"; C99 5.1.1.2
// and 6.10.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cleave::kernels {

struct Scan {
  bool splittable = true;
  // Work-groups may exchange data through global memory: atomics, volatile, fences wider than a work-group,
  // pipes.
  bool talks = false;
};

// The source without its line splices, as the compiler's translation phase 2 leaves it.
std::string without_splices(std::string_view source);

// Scans text that has no line splices.
Scan scan_text(std::string_view text);

// Scans the whole text of a program.
inline Scan scan_source(std::string_view source) { return scan_text(without_splices(source)); }

// Calls visit(name) for everything in `text` that looks like a name, also in comments and texts.
template <typename Visit>
void for_each_name(std::string_view text, Visit visit) {
  const auto starts = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && (starts(text[i]) || (i != begin && text[i] >= '0' && text[i] <= '9'))) ++i;
    if (i == begin) {
      ++i;
    } else {
      visit(text.substr(begin, i - begin));
    }
  }
}

// The options without quotes and backslashes, which drivers strip in ways of their own.
std::string without_quotes(std::string_view options);

// Scans build options: they can define macros and, with some compilers, bring in files.
Scan scan_options(std::string_view options);

// Both at once: splittable if both are, talks if either does.
Scan both(const Scan& a, const Scan& b);

}  // namespace cleave::kernels
