#include "kernels/token_pasting.h"

#include <algorithm>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr Text kAnything;

bool is_fragment(const Token& token) {
  return token.kind == Token::Kind::name || token.kind == Token::Kind::number;
}

// The parameters of the macro tokens[name]; sets `body` to the beginning of its replacement.
std::set<Text> parameters_of(const std::vector<Token>& tokens, std::size_t name, std::size_t end,
                             std::size_t& body) {
  body = name + 1;
  std::set<Text> parameters;
  const bool takes_any = body < end && tokens[body].is("(") &&
                         tokens[body].text.data() == tokens[name].text.data() + tokens[name].text.size();
  if (!takes_any) return parameters;
  for (; body < end && !tokens[body].is(")"); ++body) {
    if (tokens[body].kind == Token::Kind::name) parameters.insert(tokens[body].text);
  }
  parameters.insert("__VA_ARGS__");
  parameters.insert("__VA_OPT__");
  if (body < end) ++body;
  return parameters;
}

}  // namespace

TokenPasting::TokenPasting(const std::vector<const Tokens*>& texts, const Tokens& options) {
  for (const Tokens* text : texts) read(text->list, true);
  read(options.list, false);
}

void TokenPasting::read(const std::vector<Token>& tokens, bool sure) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is_fragment(tokens[i])) fragments_.insert(tokens[i].text);
    if (!tokens[i].directive) {
      // Outside of a directive it comes from a macro's argument, where it should not paste.
      if (tokens[i].is("##")) allow(kAnything, kAnything);
      continue;
    }
    const std::size_t begin = i;
    for (; tokens[i].kind != Token::Kind::end_of_directive; ++i) {
      if (is_fragment(tokens[i])) fragments_.insert(tokens[i].text);
      if (tokens[i].is("##") && !sure) allow(kAnything, kAnything);
    }
    if (sure) read_definition(tokens, begin, i);
  }
}

// An empty parameter joins the operands on both its sides (6.10.3.3, paragraph 2).
void TokenPasting::read_definition(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::size_t body = begin + 2;
  const bool defines = begin + 2 < end && tokens[begin + 1].is("define");
  const std::set<Text> parameters = defines ? parameters_of(tokens, begin + 2, end, body) : std::set<Text>{};
  const auto operand = [&](std::size_t at) {
    return at < body || at >= end || !is_fragment(tokens[at]) || parameters.contains(tokens[at].text)
               ? kAnything
               : tokens[at].text;
  };
  for (std::size_t at = body; at < end; ++at) {
    if (!tokens[at].is("##")) continue;
    const Text left = operand(at - 1);
    for (std::size_t right = at + 1; right < end; right += 2) {
      allow(left, operand(right));
      if (operand(right) != kAnything || right + 1 >= end || !tokens[right + 1].is("##")) break;
    }
  }
}

void TokenPasting::allow(Text left, Text right) { allowed_pairs_.emplace(left, right); }

bool TokenPasting::allowed(Text left, Text right) const {
  return allowed_pairs_.contains({left, right}) || allowed_pairs_.contains({kAnything, right}) ||
         allowed_pairs_.contains({left, kAnything}) || allowed_pairs_.contains({kAnything, kAnything});
}

bool TokenPasting::can_form(std::string_view name) const {
  return fragments_.contains(name) || can_join(name);
}

bool TokenPasting::can_join(std::string_view name) const {
  std::vector<State> open;
  for (std::size_t size = 1; size < name.size(); ++size) {
    if (fragments_.contains(name.substr(0, size))) open.emplace_back(name.substr(0, size), size);
  }
  return can_finish(name, std::move(open), Ends::exact);
}

bool TokenPasting::can_form_containing(std::string_view part) const {
  std::vector<State> open;
  for (const Text fragment : fragments_) {
    if (fragment.find(part) != Text::npos) return true;
    for (std::size_t size = 1; size < part.size(); ++size) {
      if (fragment.ends_with(part.substr(0, size))) open.emplace_back(fragment, size);
    }
  }
  return can_finish(part, std::move(open), Ends::open);
}

// Whether further fragments complete `wanted`. With Ends::open the last one may extend beyond it.
bool TokenPasting::can_finish(Text wanted, std::vector<State> open, Ends ends) const {
  std::set<State> seen;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    if (state.second == wanted.size()) return true;
    if (!seen.insert(state).second) continue;
    const Text rest = wanted.substr(state.second);
    for (std::size_t size = 1; size <= rest.size(); ++size) {
      const auto next = fragments_.find(rest.substr(0, size));
      if (next != fragments_.end() && allowed(state.first, *next))
        open.emplace_back(*next, state.second + size);
    }
    if (ends == Ends::exact) continue;
    for (auto next = fragments_.lower_bound(rest); next != fragments_.end() && next->starts_with(rest);
         ++next) {
      if (allowed(state.first, *next)) return true;
    }
  }
  return false;
}

}  // namespace cleave::kernels
