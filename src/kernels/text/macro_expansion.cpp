#include "kernels/text/macro_expansion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

bool same_text(std::span<const Token> a, std::span<const Token> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Token& x, const Token& y) { return x.kind == y.kind && x.text == y.text; });
}

bool same(const Macro& a, const Macro& b) {
  return a.takes_arguments == b.takes_arguments && a.parameters == b.parameters && same_text(a.text, b.text);
}

bool uses_operators(const Macro& macro) {
  return std::any_of(macro.text.begin(), macro.text.end(),
                     [](const Token& token) { return token.is("#") || token.is("##"); });
}

bool is_code(const Macro& macro) {
  return macro.takes_arguments || std::any_of(macro.text.begin(), macro.text.end(), [](const Token& token) {
           return token.is("[") || token.is("*") || token.is(";") || token.is("{") || token.is("=");
         });
}

bool has_loop(const Macro& macro) {
  return std::any_of(macro.text.begin(), macro.text.end(), [](const Token& token) {
    return token.is("for") || token.is("while") || token.is("do") || token.is("goto");
  });
}

// Anything but a number, or nothing.
bool has_names(const Macro& macro) {
  const bool is_number = macro.text.size() == 1 && macro.text[0].kind == Token::Kind::number;
  return macro.takes_arguments || !(is_number || macro.text.empty());
}

struct CallArguments {
  std::vector<std::vector<Token>> list{1};
  std::size_t end = 0;  // how many tokens are left behind the call
};

// The arguments of a call, of which the opening parenthesis is the last in `open`, where tokens are in reverse. Empty if
// they do not end.
std::optional<CallArguments> read_arguments(const std::vector<Token>& open) {
  CallArguments arguments;
  std::size_t depth = 0;
  for (std::size_t at = open.size(); at-- > 0;) {
    const Token& token = open[at];
    if (token.is("(") && depth++ == 0) continue;
    if (token.is(")") && --depth == 0) {
      arguments.end = at;
      return arguments;
    }
    if (token.is(",") && depth == 1) {
      arguments.list.emplace_back();
    } else {
      arguments.list.back().push_back(token);
    }
  }
  return std::nullopt;
}

}  // namespace

MacroExpansion::MacroExpansion(const Tokens& definitions, const Options& options) {
  const std::vector<Token>& list = definitions.list;
  for (std::size_t at = 0; at + 2 < list.size(); ++at) {
    if (!list[at].directive || !list[at].is("#") || list[at + 2].kind != Token::Kind::name) continue;
    std::size_t end = at;
    while (end < list.size() && list[end].kind != Token::Kind::end_of_directive) ++end;
    if (list[at + 1].is("define")) add(list, at + 2, end);
    if (list[at + 1].is("undef")) meanings_[list[at + 2].text].left = true;
    at = end;
  }
  for (const std::string& name : options.macros) {
    const auto is_among = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    const auto [known, added] = meanings_.try_emplace(name);
    Meaning& meaning = known->second;
    meaning.left = meaning.code = true;
    meaning.names |= !is_among(options.numbers);
    meaning.positive = (added || meaning.positive) && is_among(options.positive);
  }
  leave_recursive();
}

void MacroExpansion::add(const std::vector<Token>& list, std::size_t name, std::size_t end) {
  const Macro macro = read_definition(std::span(list).subspan(name, end - name));
  const auto [known, added] = meanings_.try_emplace(list[name].text, Meaning{.macro = macro});
  Meaning& meaning = known->second;
  meaning.left |= !macro.known_text || uses_operators(macro) || (!added && !same(meaning.macro, macro));
  meaning.code |= is_code(macro);
  meaning.loop |= has_loop(macro);
  meaning.names |= !macro.known_text || has_names(macro);
}

void MacroExpansion::leave_recursive() {
  enum class State : std::uint8_t { unseen, open, done };
  std::map<Text, State> states;
  // Depth first, without recursion: each entry is a macro and the next token of its text.
  std::vector<std::pair<Text, std::size_t>> path;
  for (const auto& [start, meaning] : meanings_) {
    if (states[start] != State::unseen) continue;
    states[start] = State::open;
    path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [name, next] = path.back();
      const Macro& macro = meanings_.at(name).macro;
      if (next == macro.text.size()) {
        states[name] = State::done;
        path.pop_back();
        continue;
      }
      const Text used = macro.text[next++].text;
      if (!meanings_.contains(used)) continue;
      if (states[used] == State::open) {
        meanings_.at(used).left = meanings_.at(used).code = true;
      } else if (states[used] == State::unseen) {
        states[used] = State::open;
        path.emplace_back(used, 0);
      }
    }
  }
}

const Macro* MacroExpansion::expandable(const Token& token) const {
  if (token.kind != Token::Kind::name) return nullptr;
  const auto found = meanings_.find(token.text);
  return found != meanings_.end() && !found->second.left ? &found->second.macro : nullptr;
}

void MacroExpansion::push_text(const Macro& macro, const Arguments& arguments, std::vector<Token>& open) {
  for (std::size_t at = macro.text.size(); at-- > 0;) {
    const Token& token = macro.text[at];
    const auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), token.text);
    if (token.kind == Token::Kind::name && parameter != macro.parameters.end()) {
      const auto& given = arguments[static_cast<std::size_t>(parameter - macro.parameters.begin())];
      open.insert(open.end(), given.rbegin(), given.rend());
    } else {
      open.push_back({token.kind, token.text, false});
    }
  }
}

std::optional<std::vector<Token>> MacroExpansion::expand(const std::vector<Token>& text) {
  std::vector<Token> open(text.rbegin(), text.rend());
  std::vector<Token> expanded;
  for (; !open.empty(); --steps_left_) {
    if (steps_left_ == 0 || open.size() > steps_left_) return std::nullopt;
    const Token token = open.back();
    open.pop_back();
    if (token.directive) continue;
    const Macro* macro = expandable(token);
    if (macro != nullptr && !macro->takes_arguments) {
      push_text(*macro, {}, open);
      continue;
    }
    if (macro != nullptr && !open.empty() && open.back().is("(")) {
      const auto arguments = read_arguments(open);
      const std::size_t wanted = std::max<std::size_t>(1, macro->parameters.size());
      if (arguments && arguments->list.size() == wanted) {
        open.resize(arguments->end);
        push_text(*macro, arguments->list, open);
        continue;
      }
    }
    expanded.push_back(token);
  }
  return expanded;
}

bool MacroExpansion::hides_code(std::string_view name) const {
  const auto found = meanings_.find(name);
  return found != meanings_.end() && found->second.left && found->second.code;
}

bool MacroExpansion::hides_loop(std::string_view name) const {
  const auto found = meanings_.find(name);
  return found != meanings_.end() && found->second.left && found->second.loop;
}

bool MacroExpansion::hides_names(std::string_view name) const {
  const auto found = meanings_.find(name);
  // One that takes arguments, and is still there, has not got those that it takes.
  return found != meanings_.end() && found->second.names &&
         (found->second.left || found->second.macro.takes_arguments);
}

bool MacroExpansion::is_positive(std::string_view name) const {
  const auto found = meanings_.find(name);
  return found != meanings_.end() && found->second.positive;
}

}  // namespace cleave::kernels
