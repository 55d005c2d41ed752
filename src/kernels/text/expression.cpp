#include "kernels/text/expression.h"

#include <algorithm>

#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

bool is_one_of(Text sign, Text signs) { return sign.size() == 1 && signs.find(sign[0]) != Text::npos; }

bool closes(Text open, Text close) {
  return (open == "(" && close == ")") || (open == "[" && close == "]") || (open == "{" && close == "}");
}

}  // namespace

Expressions::Expressions(const std::vector<Token>& list) : list_(list), match_(list.size(), 0) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (list_[i].kind != Token::Kind::punctuator) continue;
    if (is_one_of(list_[i].text, "([{")) open.push_back(i);
    if (!is_one_of(list_[i].text, ")]}")) continue;
    balanced_ &= !open.empty() && closes(list_[open.back()].text, list_[i].text);
    if (open.empty()) continue;
    match_[i] = open.back();
    match_[open.back()] = i;
    open.pop_back();
  }
  balanced_ &= open.empty();
  mark_assembly();
}

void Expressions::mark_assembly() {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (!is_name(i) || !is_in(kAssembly, list_[i].text)) continue;
    std::size_t open = i + 1;
    while (is_name(open)) ++open;  // volatile and the like
    if (!is(open, "(")) continue;
    in_assembly_.resize(list_.size(), false);
    for (std::size_t at = open; at < behind(open); ++at) in_assembly_[at] = true;
  }
}

bool Expressions::is_twice(std::size_t at, Text signs) const {
  return at + 1 < list_.size() && is_one_of(list_[at].text, signs) && list_[at + 1].is(list_[at].text);
}

std::size_t Expressions::find(Text sign, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; i = behind(i)) {
    if (is(i, sign)) return i;
  }
  return end;
}

std::size_t Expressions::find_depth(Text sign, Range range) const {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (is(i, sign)) return i;
  }
  return range.end;
}

std::size_t Expressions::end_of_value(std::size_t begin) const {
  std::size_t at = begin;
  while (at < list_.size() && !is(at, ";") && !is(at, ",") && !is(at, ")") && !is(at, "]") && !is(at, "}"))
    at = behind(at);
  return std::min(at, list_.size());
}

bool Expressions::is_unary(std::size_t at) const {
  if (at == 0) return true;
  const Token& before = list_[at - 1];
  if (before.kind == Token::Kind::name)
    return before.text == "return" || before.text == "else" || before.text == "do";
  return before.kind == Token::Kind::punctuator && !is_one_of(before.text, ")]");
}

bool Expressions::is_assignment(std::size_t at) const {
  if (!is(at, "=") || is(at + 1, "=") || at == 0 || is(at - 1, "=") || is(at - 1, "!")) return false;
  if (!is(at - 1, "<") && !is(at - 1, ">")) return true;
  return at > 1 && list_[at - 2].is(list_[at - 1].text);
}

std::size_t Expressions::end_of_target(std::size_t equals) const {
  std::size_t end = equals;
  while (end > 0 && list_[end - 1].kind == Token::Kind::punctuator &&
         is_one_of(list_[end - 1].text, "+-*/%&|^<>"))
    --end;
  return end;
}

Range Expressions::with_parentheses(Range range) const {
  // Behind another name they are those of a call, or of a condition.
  const auto may_begin_behind = [this](std::size_t at) {
    return at == 0 || !is_name(at - 1) || is_unary(at);
  };
  while (range.begin > 0 && is(range.begin - 1, "(") && match_[range.begin - 1] == range.end &&
         may_begin_behind(range.begin - 1)) {
    --range.begin;
    ++range.end;
  }
  return range;
}

bool Expressions::assigned_at(std::size_t at) const {
  if (!in_assembly_.empty() && in_assembly_[at]) return true;
  for (Range target{at, at + 1};;) {
    while (is(target.end, "[") || is(target.end, "."))
      target.end = is(target.end, ".") ? target.end + 2 : behind(target.end);
    if (target.begin > 1 && is_twice(target.begin - 2, "+-")) return true;
    if (target.begin > 0 && is(target.begin - 1, "&") && is_unary(target.begin - 1)) return true;
    if (is_twice(target.end, "+-")) return true;
    for (std::size_t equals = target.end; equals < target.end + 3; ++equals) {
      if (is_assignment(equals) && end_of_target(equals) == target.end) return true;
    }
    const Range wider = with_parentheses(target);
    if (wider.begin == target.begin) return false;
    target = wider;
  }
}

std::size_t Expressions::assigns(Text name, Range range) const {
  std::size_t count = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (is_name(i) && list_[i].text == name && assigned_at(i)) ++count;
  }
  return count;
}

bool Expressions::mentions(Text name, Range range) const {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (is_name(i) && list_[i].text == name) return true;
  }
  return false;
}

std::string Expressions::text(Range range) const {
  std::string joined;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    // So that two names do not become one.
    if (!joined.empty() && continues_name(joined.back()) && continues_name(list_[i].text[0]))
      joined.push_back(' ');
    joined.append(list_[i].text);
  }
  return joined;
}

}  // namespace cleave::kernels
