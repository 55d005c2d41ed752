#include "kernels/facts/open_loops.h"

#include <algorithm>
#include <cstddef>

#include "kernels/facts/counted_loops.h"

namespace cleave::kernels {
namespace {

bool is_word_of_loop(const Token& token) {
  return token.is("goto") || token.is("for") || token.is("while") || token.is("do");
}

}  // namespace

bool has_open_loop(const std::vector<Token>& list, const MacroExpansion& macros) {
  const CountedLoops loops(list, macros);
  if (!loops.text().balanced()) return std::any_of(list.begin(), list.end(), is_word_of_loop);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is("goto")) return true;
    if (!loops.begins(i)) continue;
    const auto loop = loops.at(i);
    if (!loop || !loops.count_of(*loop)) return true;
  }
  return false;
}

}  // namespace cleave::kernels
