#include "kernels/text/macro_expansion.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr std::size_t kMaxCodeSteps = 1'000'000;  // some tens of milliseconds

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

bool is_part_of_value(const Token& token) {
  constexpr Text kSigns = "()+-/%<>&|^~!";
  if (token.kind == Token::Kind::name) return token.text.starts_with("get_");
  const bool is_sign = token.kind == Token::Kind::punctuator && token.text.size() == 1 &&
                       kSigns.find(token.text[0]) != Text::npos;
  return token.kind == Token::Kind::number || is_sign;
}

}  // namespace

MacroExpansion::MacroExpansion(const Tokens& definitions, const Options& options)
    : expander_(
          [this](Text name) {
            const Meaning* const found = find(name);
            return MacroExpander::Meaning{found == nullptr || found->left ? nullptr : &found->macro};
          },
          kMaxCodeSteps, MacroExpander::Arguments::as_written) {
  const std::vector<Token>& list = definitions.list;
  for (std::size_t at = 0; at + 2 < list.size(); ++at) {
    if (!list[at].directive || !list[at].is("#") || list[at + 2].kind != Token::Kind::name) continue;
    const std::size_t end = end_of_directive(list, at);
    if (list[at + 1].is("define")) add(list, at + 2, end);
    if (list[at + 1].is("undef")) meanings_[list[at + 2].text].left = true;
    at = end;
  }
  for (const std::string& name : options.macros) add_option(name, options);
  for (auto& [name, meaning] : meanings_) {
    meaning.beyond_value |= std::any_of(meaning.used.begin(), meaning.used.end(), [this](Text used) {
      return used.starts_with("get_") && is_macro(used);
    });
  }
  leave_recursive();
}

void MacroExpansion::add(const std::vector<Token>& list, std::size_t name, std::size_t end) {
  const auto behind_name = std::span(list).subspan(name + 1, end - name - 1);
  const Macro macro = read_definition(std::span(list).subspan(name, end - name));
  const auto [known, added] = meanings_.try_emplace(list[name].text, Meaning{.macro = macro});
  Meaning& meaning = known->second;
  meaning.defined = true;
  meaning.left |= !macro.known_text || uses_operators(macro) || (!added && !same(meaning.macro, macro));
  meaning.code |= is_code(macro);
  meaning.loop |= has_loop(macro);
  meaning.names |= !macro.known_text || has_names(macro);
  const bool is_one = behind_name.size() == 1;
  const bool is_kernel = is_one && (behind_name[0].is("kernel") || behind_name[0].is("__kernel"));
  meaning.beyond_number |= !is_one || behind_name[0].kind != Token::Kind::number;
  meaning.beyond_value |=
      !is_kernel && !std::all_of(behind_name.begin(), behind_name.end(), is_part_of_value);
  for (const Token& token : behind_name) {
    meaning.beyond_names |= token.kind != Token::Kind::name;
    meaning.used.push_back(token.text);
  }
}

void MacroExpansion::add_option(const std::string& name, const Options& options) {
  const auto is_among = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const auto [known, added] = meanings_.try_emplace(name);
  Meaning& meaning = known->second;
  meaning.defined = meaning.left = meaning.code = true;
  meaning.beyond_number = meaning.beyond_value = meaning.beyond_names = true;
  meaning.names |= !is_among(options.numbers);
  meaning.positive = (added || meaning.positive) && is_among(options.positive);
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

std::optional<std::vector<Token>> MacroExpansion::expand(const std::vector<Token>& text) {
  std::vector<Token> code;
  std::copy_if(text.begin(), text.end(), std::back_inserter(code),
               [](const Token& token) { return !token.directive; });
  const auto expanded = expander_.expand(code);
  if (!expanded) return std::nullopt;
  return std::vector<Token>(expanded->begin(), expanded->end());
}

const MacroExpansion::Meaning* MacroExpansion::find(Text name) const {
  const auto found = meanings_.find(name);
  return found != meanings_.end() ? &found->second : nullptr;
}

bool MacroExpansion::hides_names(Text name) const {
  const Meaning* const found = find(name);
  // One that takes arguments, and is still there, has not got those that it takes.
  return found != nullptr && found->names && (found->left || found->macro.takes_arguments);
}

bool MacroExpansion::may_be_no_names(Text name) const {
  std::set<Text> seen;
  std::vector<Text> open{name};
  while (!open.empty()) {
    const Text next = open.back();
    open.pop_back();
    const Meaning* const found = find(next);
    if (found == nullptr || !seen.insert(next).second) continue;
    if (found->beyond_names) return true;
    open.insert(open.end(), found->used.begin(), found->used.end());
  }
  return false;
}

}  // namespace cleave::kernels
