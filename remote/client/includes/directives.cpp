#include "remote/client/includes/directives.h"

#include <algorithm>
#include <initializer_list>
#include <span>

#include "kernels/text/lexer.h"

namespace cleave::remote::client {
namespace {

using kernels::Token;
using Line = std::span<const Token>;  // of one directive, from behind its # to its end

bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The text from the beginning of one token to the end of another, as it stands in the source.
std::string_view between(const Token& first, const Token& last) {
  const char* const end = last.text.data() + last.text.size();
  return {first.text.data(), static_cast<std::size_t>(end - first.text.data())};
}

Include parse_operand_tokens(Line tokens) {
  if (tokens.empty()) return {};
  const Token& first = tokens.front();
  if (first.kind == Token::Kind::literal && first.text.size() > 2) {
    const auto form = first.text.front() == '<' ? Include::Form::angled : Include::Form::quoted;
    if (form == Include::Form::angled || first.text.front() == '"')
      return {form, std::string(first.text.substr(1, first.text.size() - 2))};
  }
  if (first.is("<")) {
    const auto last = std::find_if(tokens.begin(), tokens.end(), [](const Token& t) { return t.is(">"); });
    if (last == tokens.end()) return {};
    const std::string_view whole = between(first, *last);
    return {Include::Form::angled, std::string(whole.substr(1, whole.size() - 2))};
  }
  if (first.kind == Token::Kind::name && tokens.size() == 1)
    return {Include::Form::macro, std::string(first.text)};
  return {};
}

// In #if and #elif.
void scan_has_include(Line tokens, Directives& found) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool next = tokens[i].is("__has_include_next");
    if ((!next && !tokens[i].is("__has_include")) || !tokens[i + 1].is("(")) continue;
    Include include = parse_operand_tokens(tokens.subspan(i + 2));
    include.is_include_next = next;
    if (include.form != Include::Form::macro && !include.name.empty())
      found.includes.push_back(std::move(include));
  }
}

void parse_definition(Line tokens, Directives& found) {
  if (tokens.empty()) return;
  const Token& name = tokens.front();
  const Line rest = tokens.subspan(1);
  if (rest.empty()) return;
  const bool has_parameters =
      rest.front().is("(") && rest.front().text.data() == name.text.data() + name.text.size();
  if (!has_parameters)
    found.definitions.push_back({std::string(name.text), std::string(between(rest.front(), rest.back()))});
}

void parse_directive(Line line, Directives& found) {
  if (line.empty()) return;
  const std::string_view word = line.front().text;
  const Line rest = line.subspan(1);
  if (is_among(word, {"include", "include_next", "import"})) {
    Include include = parse_operand_tokens(rest);
    include.is_include_next = word == "include_next";
    if (include.name.empty()) {
      found.fully_parsed = false;
    } else {
      found.includes.push_back(std::move(include));
    }
  } else if (word == "define") {
    parse_definition(rest, found);
  } else if (is_among(word, {"if", "elif"})) {
    scan_has_include(rest, found);
  }
}

}  // namespace

Directives parse_directives(std::string_view text) {
  const std::string whole = kernels::without_splices(text);
  const std::vector<Token> list = kernels::directive_tokens_of(whole).list;
  Directives found;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].directive) continue;
    const std::size_t begin = ++i;
    while (i < list.size() && list[i].kind != Token::Kind::end_of_directive) ++i;
    parse_directive(Line(list).subspan(begin, std::min(i, list.size()) - begin), found);
  }
  return found;
}

Include parse_operand(std::string_view text) {
  return parse_operand_tokens(Line(kernels::tokens_of(text).list));
}

}  // namespace cleave::remote::client
