#include "kernels/facts/call_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/facts/group_order.h"
#include "kernels/facts/harmless_atomics.h"
#include "kernels/facts/private_volatiles.h"
#include "kernels/facts/register_assembly.h"
#include "kernels/text/lexer.h"

namespace cleave::kernels {

namespace {

// Whether macros may change the function's name, or make it something else than a function.
bool obscure(const MacroExpansion& macros, const Function& function) {
  return macros.is_macro(function.name) ||
         std::any_of(function.head.begin(), function.head.end(),
                     [&](std::string_view name) { return macros.may_be_no_names(name); });
}

// Whether macros in the function could declare something, or hide what is done with a variable.
bool may_hide_code(const MacroExpansion& macros, const Tokens& function) {
  return std::any_of(function.list.begin(), function.list.end(),
                     [&](const Token& token) { return macros.may_be_no_value(token.text); });
}

// Whether macros in a declaration may stand for anything but a number.
bool may_declare(const MacroExpansion& macros, const Tokens& declaration) {
  return std::any_of(declaration.list.begin(), declaration.list.end(),
                     [&](const Token& token) { return macros.may_be_no_number(token.text); });
}

// Whether one of the words may mean something else.
template <std::size_t N>
bool redefine(const MacroExpansion& macros, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return macros.is_macro(word); });
}

void append(Tokens& all, const Tokens& more) {
  all.list.insert(all.list.end(), more.list.begin(), more.list.end());
}

void add_loops(const GroupOrder& order, Findings& found) {
  found.scan.open_loops |= order.open_loops;
  found.scan.may_wait |= order.may_wait;
}

}  // namespace

CallGraph::CallGraph(const std::vector<Part>& parts, const JoinedText& options, const Options& parsed) {
  const Tokens given = tokens_of(options.text());
  Tokens definitions;
  for (const Part& part : parts) {
    for (const Tokens& definition : part.functions->definitions) append(definitions, definition);
  }
  MacroExpansion macros(definitions, parsed);
  std::vector<Seen> seen;
  Tokens callers = given;  // what may call functions, whatever is called
  Tokens users = given;    // what may use macros
  for (const Part& part : parts) {
    macros.read_types(part.source->compiled);
    add_part(part, macros, callers, users, seen);
  }
  add_group_order(parts, seen, macros);
  add_loops(group_order_of(given, macros), outside_);
  outside_.add(findings_in(given, options));
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].reaches = all_named_in(bodies_[i]);
  bodies_.clear();
  add_named(callers, functions_, reachable_from_all_);
  add_named(users, macros_, reachable_from_all_);
}

namespace {

// `known_words`: none of those that find_harmless_atomics() relies on means something else.
Findings findings_in_function(const Tokens& tokens, const JoinedText& text, bool known_words, bool hides_code,
                              const std::function<bool(const Tokens&)>& hides, bool known_assembly) {
  HarmlessAtomics harmless;
  harmless.tokens.resize(tokens.list.size(), false);
  if (known_words && !hides_code) harmless = find_harmless_atomics(tokens);
  const std::vector<bool> qualifiers =
      known_words ? find_private_volatiles(tokens, hides) : std::vector<bool>(tokens.list.size(), false);
  harmless.has_private_volatiles = std::find(qualifiers.begin(), qualifiers.end(), true) != qualifiers.end();
  for (std::size_t i = 0; i < qualifiers.size(); ++i)
    harmless.tokens[i] = harmless.tokens[i] || qualifiers[i];
  Findings found;
  const std::vector<bool> assembly =
      known_assembly ? find_register_assembly(tokens) : std::vector<bool>(tokens.list.size(), false);
  found.scan = scan_function(tokens, harmless, assembly, {&text, &found.causes});
  return found;
}

}  // namespace

void CallGraph::add_group_order(const std::vector<Part>& parts, const std::vector<Seen>& seen,
                                MacroExpansion& macros) {
  std::vector<const Function*> functions;
  functions.reserve(seen.size());
  for (const Seen& each : seen) functions.push_back(each.function);
  const std::vector<GroupOrder> order = group_order_of(functions, macros);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Findings& found = seen[i].node ? nodes_[*seen[i].node].findings : outside_;
    add_loops(order[i], found);
    if (order[i].shared.empty()) continue;
    found.scan.shares_stores = true;
    // The pointer may be named in a macro of another text.
    found.causes.note(found.scan, Cause::Way::stores_to, order[i].shared, *seen[i].text,
                      seen[i].function->name);
  }
  for (const Part& part : parts) add_loops(group_order_of(part.functions->declarations, macros), outside_);
}

void CallGraph::add_part(const Part& part, const MacroExpansion& macros, Tokens& callers, Tokens& users,
                         std::vector<Seen>& seen) {
  const JoinedText& text = part.source->text;
  const bool words = !redefine(macros, HarmlessAtomics::kWords);
  const bool assembly = !redefine(macros, kAssemblyWords);
  const auto hides = [&](const Tokens& tokens) { return may_declare(macros, tokens); };
  const auto add = [&](Names& names, std::string_view name, Findings findings, Tokens body) {
    names[std::string(name)].push_back(nodes_.size());
    nodes_.push_back({std::move(findings), {}});
    bodies_.push_back(std::move(body));
  };
  for (const Tokens& definition : part.functions->definitions) {
    constexpr std::ptrdiff_t kBehindName = 3;
    add(macros_, definition.list[kBehindName - 1].text, findings_in(definition, text),
        {{definition.list.begin() + kBehindName, definition.list.end()}, true, {}});
  }
  Tokens outside = part.functions->declarations;
  for (const Function& function : part.functions->list) {
    if (obscure(macros, function)) {  // it may be called under another name
      seen.push_back({&function, &text, std::nullopt});
      append(outside, function.tokens);
      append(callers, function.tokens);
    } else {
      seen.push_back({&function, &text, nodes_.size()});
      add(functions_, function.name,
          findings_in_function(function.tokens, text, words, may_hide_code(macros, function.tokens), hides,
                               assembly),
          function.tokens);
    }
  }
  for (const Tokens* each :
       {&std::as_const(outside), &part.functions->directives, &part.source->conditions}) {
    outside_.add(findings_in(*each, text));
    append(users, *each);
  }
  append(callers, part.functions->directives);
  append(callers, part.source->conditions);
  append(callers, part.functions->outside_names);
}

void CallGraph::add_named(const Tokens& tokens, const Names& names, Indices& found) {
  if (names.empty()) return;
  for (const Token& token : tokens.list) {
    if (token.kind != Token::Kind::name) continue;
    const auto named = names.find(std::string(token.text));
    if (named != names.end()) found.insert(found.end(), named->second.begin(), named->second.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

CallGraph::Indices CallGraph::all_named_in(const Tokens& tokens) const {
  Indices found;
  add_named(tokens, functions_, found);
  add_named(tokens, macros_, found);
  return found;
}

std::optional<Findings> CallGraph::of(const std::string& function) const {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return std::nullopt;
  Findings answer;
  std::vector<bool> reached(nodes_.size(), false);
  Indices open = reachable_from_all_;
  open.insert(open.end(), found->second.begin(), found->second.end());
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (reached[next]) continue;
    reached[next] = true;
    answer.add(nodes_[next].findings);
    open.insert(open.end(), nodes_[next].reaches.begin(), nodes_[next].reaches.end());
  }
  answer.add(outside_);
  conclude(answer);
  return answer;
}

Findings CallGraph::of_all() const {
  Findings all = outside_;
  for (const Node& node : nodes_) all.add(node.findings);
  return all;
}

}  // namespace cleave::kernels
