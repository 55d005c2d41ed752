#include "kernels/group_order.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kernels/open_loops.h"
#include "kernels/shared_stores.h"
#include "kernels/store_reader.h"

namespace cleave::kernels {
namespace {

// Whether a macro that is not expanded could have a loop.
bool hides_loop(const std::vector<Token>& text, const MacroExpansion& macros) {
  return std::any_of(text.begin(), text.end(), [&](const Token& token) {
    return token.kind == Token::Kind::name && macros.hides_loop(token.text);
  });
}

bool has_waiting_loop(const std::vector<Token>& expanded, const MacroExpansion& macros) {
  return has_open_loop(expanded, macros) || hides_loop(expanded, macros);
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
    const auto expanded = macros.expand(functions[i]->tokens.list);
    found[i].open_loops = !expanded || has_waiting_loop(*expanded, macros);
    stores.push_back(expanded ? read_stores(*expanded, functions[i]->name, names) : FunctionStores{});
  }
  const std::vector<std::string_view> shared = find_shared_stores(stores);
  for (std::size_t i = 0; i < functions.size(); ++i) found[i].shared = shared[i];
  return found;
}

bool may_wait(const Tokens& text, MacroExpansion& macros) {
  const auto expanded = macros.expand(text.list);
  return !expanded || has_waiting_loop(*expanded, macros);
}

}  // namespace cleave::kernels
