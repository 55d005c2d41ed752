#include "kernels/facts/group_order.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "kernels/facts/loops.h"
#include "kernels/facts/shared_stores.h"
#include "kernels/facts/store_reader.h"

namespace cleave::kernels {
namespace {

// Whether a macro that is not expanded could have a loop.
bool hides_loop(const std::vector<Token>& text, const MacroExpansion& macros) {
  return std::any_of(text.begin(), text.end(), [&](const Token& token) {
    return token.kind == Token::Kind::name && macros.hides_loop(token.text);
  });
}

// Whether a macro that is not expanded could have a part of one.
bool hides_part_of_loop(const std::vector<Token>& text, const MacroExpansion& macros) {
  return std::any_of(text.begin(), text.end(), [&](const Token& token) {
    return token.kind == Token::Kind::name && macros.hides_names(token.text);
  });
}

bool begins_loop(const Token& token) { return token.is("for") || token.is("while") || token.is("do"); }

// Whether a part of a body may be another one than it seems: an included text, or one of which only some compilers compile what is
// in the way of the others.
bool has_directives_within(const std::vector<Token>& list) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    if (!list[i].directive) {
      if (list[i].is("{")) ++depth;
      if (list[i].is("}") && depth > 0) --depth;
      continue;
    }
    const std::string_view keyword = list[i + 1].text;
    const bool is_part =
        keyword.starts_with("if") || keyword.starts_with("el") || keyword.starts_with("include");
    if (list[i].is("#") && depth > 0 && is_part) return true;
    i = end_of_directive(list, i);
  }
  return false;
}

GroupOrder loops_in(const std::vector<Token>& text, const std::optional<std::vector<Token>>& expanded,
                    const MacroExpansion& macros) {
  if (!expanded) return {true, true, {}};
  const LoopEnd end = least_certain_end(*expanded, macros);
  const bool may_wait =
      end != LoopEnd::certain || hides_part_of_loop(*expanded, macros) ||
      (has_directives_within(text) && std::any_of(expanded->begin(), expanded->end(), begins_loop));
  return {end == LoopEnd::open || hides_loop(*expanded, macros), may_wait, {}};
}

// Recursion is not allowed in OpenCL C, and would be a loop.
bool calls_itself(const Function& function) {
  const std::vector<Token>& list = function.tokens.list;
  std::size_t calls = 0;
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i].is(function.name) && list[i + 1].is("(")) ++calls;
  }
  return calls > 1;  // the first one is its head
}

}  // namespace

std::vector<GroupOrder> group_order_of(const std::vector<const Function*>& functions,
                                       MacroExpansion& macros) {
  std::vector<GroupOrder> found(functions.size());
  std::set<std::string_view> names;
  for (const Function* function : functions) names.insert(function->name);
  std::vector<FunctionStores> stores;
  stores.reserve(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::vector<Token>& text = functions[i]->tokens.list;
    const auto expanded = macros.expand(text);
    found[i] = loops_in(text, expanded, macros);
    found[i].may_wait |= calls_itself(*functions[i]);
    stores.push_back(expanded ? read_stores(*expanded, functions[i]->name, names) : FunctionStores{});
  }
  const std::vector<std::string_view> shared = find_shared_stores(stores);
  for (std::size_t i = 0; i < functions.size(); ++i) found[i].shared = shared[i];
  return found;
}

GroupOrder group_order_of(const Tokens& text, MacroExpansion& macros) {
  return loops_in(text.list, macros.expand(text.list), macros);
}

}  // namespace cleave::kernels
