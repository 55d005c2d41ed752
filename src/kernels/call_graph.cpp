#include "kernels/call_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "kernels/lexer.h"

namespace cleave::kernels {

namespace {

// The macros of a program, which may hide what the head of a function is.
class Macros {
 public:
  // The names in `defined` have unknown meanings. The text of `tokens` must outlive this.
  Macros(const Tokens& tokens, const std::vector<std::string>& defined) {
    for (const std::string& name : defined) meanings_[name].expands_beyond_names = true;
    for (std::size_t i = 0; i + 2 < tokens.list.size(); ++i) {
      const bool defines =
          tokens.list[i].directive && tokens.list[i].is("#") && tokens.list[i + 1].is("define");
      if (defines && tokens.list[i + 2].kind != Token::Kind::end_of_directive) add(tokens.list, i + 2);
    }
  }

  // Whether macros may change the name, or make it something else than a function.
  [[nodiscard]] bool obscures(const Function& function) const {
    return meanings_.contains(function.name) ||
           std::any_of(function.head.begin(), function.head.end(),
                       [&](std::string_view name) { return !expands_to_names(name); });
  }

 private:
  struct Meaning {
    bool expands_beyond_names = false;  // expands to more than names, in at least one definition
    std::vector<std::string_view> names;
  };

  void add(const std::vector<Token>& tokens, std::size_t name) {
    Meaning& meaning = meanings_[std::string(tokens[name].text)];
    for (std::size_t i = name + 1; tokens[i].kind != Token::Kind::end_of_directive; ++i) {
      meaning.expands_beyond_names |= tokens[i].kind != Token::Kind::name;
      meaning.names.push_back(tokens[i].text);
    }
  }

  // Whether the word expands to names only.
  [[nodiscard]] bool expands_to_names(std::string_view word) const {
    std::set<std::string_view> seen;
    std::vector<std::string_view> open{word};
    while (!open.empty()) {
      const std::string_view next = open.back();
      open.pop_back();
      const auto found = meanings_.find(next);
      if (found == meanings_.end() || !seen.insert(next).second) continue;
      if (found->second.expands_beyond_names) return false;
      open.insert(open.end(), found->second.names.begin(), found->second.names.end());
    }
    return true;
  }

  std::map<std::string, Meaning, std::less<>> meanings_;
};

void append(Tokens& all, const Tokens& more) {
  all.list.insert(all.list.end(), more.list.begin(), more.list.end());
}

Findings findings_in(const Tokens& tokens, const JoinedText& text) {
  Findings found;
  found.scan = scan_tokens(tokens, {&text, &found.causes});
  return found;
}

}  // namespace

CallGraph::CallGraph(const Functions& functions, const JoinedText& text, const JoinedText& macros,
                     const std::vector<std::string>& defined) {
  const Tokens options = tokens_of(macros.text());
  Tokens directives = functions.directives;
  append(directives, options);
  const Macros known(directives, defined);
  Tokens outside = functions.declarations;
  Tokens indirectly_called;  // functions that may be called under another name
  std::vector<const Function*> list;
  for (const Function& function : functions.list) {
    if (known.obscures(function)) {
      append(indirectly_called, function.tokens);
      continue;
    }
    by_name_[std::string(function.name)].push_back(list.size());
    list.push_back(&function);
  }
  for (const Function* function : list) {
    findings_.push_back(findings_in(function->tokens, text));
    reaches_.push_back(functions_named_in(function->tokens));
  }
  append(outside, indirectly_called);
  outside_ = findings_in(outside, text);
  outside_.add(findings_in(functions.directives, text));
  outside_.add(findings_in(options, macros));
  append(directives, functions.outside_names);
  append(directives, indirectly_called);
  reachable_from_all_ = functions_named_in(directives);
}

CallGraph::Indices CallGraph::functions_named_in(const Tokens& tokens) const {
  Indices functions;
  for (const Token& token : tokens.list) {
    if (token.kind != Token::Kind::name) continue;
    const auto found = by_name_.find(std::string(token.text));
    if (found != by_name_.end())
      functions.insert(functions.end(), found->second.begin(), found->second.end());
  }
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  return functions;
}

std::optional<Findings> CallGraph::of(const std::string& function) const {
  const auto found = by_name_.find(function);
  if (found == by_name_.end()) return std::nullopt;
  Findings answer;
  std::vector<bool> reached(findings_.size(), false);
  Indices open = reachable_from_all_;
  open.insert(open.end(), found->second.begin(), found->second.end());
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (reached[next]) continue;
    reached[next] = true;
    answer.add(findings_[next]);
    open.insert(open.end(), reaches_[next].begin(), reaches_[next].end());
  }
  answer.add(outside_);
  return answer;
}

}  // namespace cleave::kernels
