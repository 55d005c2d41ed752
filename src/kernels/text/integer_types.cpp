#include "kernels/text/integer_types.h"

#include <algorithm>
#include <array>

#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

constexpr std::array<std::string_view, 4> kSigned = {"int", "long", "ptrdiff_t", "signed"};
constexpr std::array<std::string_view, 4> kUnsigned = {"uint", "unsigned", "ulong", "size_t"};
constexpr std::array<std::string_view, 4> kQualifiers = {"const", "private", "__private", "register"};

}  // namespace

IntegerTypes::Kind IntegerTypes::of(std::string_view word) const {
  if (is_in(kSigned, word)) return Kind::is_signed;
  if (is_in(kUnsigned, word)) return Kind::is_unsigned;
  const auto known = names_.find(word);
  return known != names_.end() ? known->second : Kind::none;
}

IntegerTypes::Kind IntegerTypes::of(std::span<const Token> words) const {
  Kind all = Kind::none;
  for (const Token& word : words) {
    if (is_in(kQualifiers, word.text)) continue;
    const Kind kind = of(word.text);
    if (kind == Kind::none) return Kind::none;  // as short is, in front of int
    all = std::max(all, kind);
  }
  return all;
}

void IntegerTypes::add(std::string_view name, Kind kind) {
  const auto [known, added] = names_.try_emplace(name, kind);
  if (!added && known->second != kind) known->second = Kind::none;
}

void IntegerTypes::add(const Tokens& text) {
  const std::vector<Token>& list = text.list;
  for (std::size_t begin = 0; begin < list.size(); ++begin) {
    if (list[begin].directive || !list[begin].is("typedef")) continue;
    std::size_t end = ++begin;
    bool is_plain = true;
    for (std::size_t braces = 0; end < list.size() && (braces > 0 || !list[end].is(";")); ++end) {
      is_plain &= list[end].kind == Token::Kind::name && !list[end].directive;
      if (list[end].is("{")) ++braces;
      if (list[end].is("}") && braces > 0) --braces;
    }
    if (is_plain && begin + 1 < end) {
      add(list[end - 1].text, of(std::span(list).subspan(begin, end - 1 - begin)));
    } else {  // any of the names may be the one that it declares
      for (std::size_t i = begin; i < end; ++i) {
        const bool is_used = i + 1 < end && list[i + 1].kind == Token::Kind::name;
        if (list[i].kind == Token::Kind::name && (!is_used || list[i + 1].is("__attribute__")))
          add(list[i].text, Kind::none);
      }
    }
    begin = end;
  }
}

}  // namespace cleave::kernels
