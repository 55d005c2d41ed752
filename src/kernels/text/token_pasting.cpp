#include "kernels/text/token_pasting.h"

#include <algorithm>
#include <span>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

bool is_fragment(const Token& token) {
  return token.kind == Token::Kind::name || token.kind == Token::Kind::number;
}

}  // namespace

TokenPasting::TokenPasting(const std::vector<const Tokens*>& texts, const Tokens& options)
    : arguments_(texts, options) {
  for (const Tokens* text : texts) read(text->list, true);
  read(options.list, false);
  // A call that is itself pasted together may pass anything.
  const std::vector<Text> followed = arguments_.followed();
  if (std::any_of(followed.begin(), followed.end(), [&](Text name) { return can_join(name); })) allow({}, {});
}

void TokenPasting::read(const std::vector<Token>& tokens, bool sure) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is_fragment(tokens[i])) fragments_.insert(tokens[i].text);
    if (!tokens[i].directive) {
      // Outside of a directive it comes from a macro's argument, where it should not paste.
      if (tokens[i].is("##")) allow({}, {});
      continue;
    }
    const std::size_t begin = i;
    for (; tokens[i].kind != Token::Kind::end_of_directive; ++i) {
      if (is_fragment(tokens[i])) fragments_.insert(tokens[i].text);
      if (tokens[i].is("##") && !sure) allow({}, {});
    }
    if (sure) read_definition(tokens, begin, i);
  }
}

// An empty parameter joins the operands on both its sides (6.10.3.3, paragraph 2).
void TokenPasting::read_definition(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  const bool defines = begin + 2 < end && tokens[begin + 1].is("define");
  Macro macro{.parameters = {}, .text = {}};
  if (defines) macro = kernels::read_definition(std::span(tokens).subspan(begin + 2, end - begin - 2));
  const std::size_t body = defines ? end - macro.text.size() : begin + 2;
  const auto operand = [&](std::size_t at) -> Operand {
    if (at < body || at >= end || !is_fragment(tokens[at])) return {};
    if (macro.has(tokens[at].text)) return {{}, arguments_.of(tokens[begin + 2].text, tokens[at].text)};
    return {tokens[at].text, nullptr};
  };
  for (std::size_t at = body; at < end; ++at) {
    if (!tokens[at].is("##")) continue;
    const Operand left = operand(at - 1);
    for (std::size_t right = at + 1; right < end; right += 2) {
      const Operand next = operand(right);
      allow(left, next);
      if (!next.written.empty() || right + 1 >= end || !tokens[right + 1].is("##")) break;
    }
  }
}

void TokenPasting::allow(const Operand& left, const Operand& right) { allowed_pairs_.emplace(left, right); }

bool TokenPasting::allowed(Text left, Text right) const {
  return std::any_of(allowed_pairs_.begin(), allowed_pairs_.end(),
                     [&](const auto& pair) { return pair.first.may_be(left) && pair.second.may_be(right); });
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
