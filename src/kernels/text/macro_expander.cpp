#include "kernels/text/macro_expander.h"

#include <algorithm>
#include <utility>

namespace cleave::kernels {
namespace {

// Against deep recursion.
constexpr unsigned kMaxDepth = 16;

ExpandedToken expanded_of(std::span<const Token> tokens, std::size_t at) {
  const Token& token = tokens[at];
  const bool blank = at > 0 && tokens[at - 1].text.data() + tokens[at - 1].text.size() != token.text.data();
  return {{token.kind, token.text, false}, true, blank};
}

struct CallArguments {
  std::vector<std::vector<ExpandedToken>> list{1};
  std::size_t end = 0;  // how many tokens are left behind the call
};

// The arguments of a call, of which the opening parenthesis is the last in `open`. Empty if they do not end.
std::optional<CallArguments> read_arguments(const std::vector<ExpandedToken>& open) {
  CallArguments arguments;
  std::size_t depth = 0;
  for (std::size_t at = open.size(); at-- > 0;) {
    const ExpandedToken& token = open[at];
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

std::optional<std::vector<ExpandedToken>> MacroExpander::expand(std::span<const Token> tokens) {
  Expanded open;
  open.reserve(tokens.size());
  for (std::size_t at = tokens.size(); at-- > 0;) open.push_back(expanded_of(tokens, at));
  return run(std::move(open));
}

std::optional<std::vector<ExpandedToken>> MacroExpander::run(Expanded open) {
  Expanded done;
  while (!open.empty()) {
    if (failed_ || open.size() > steps_left_) return std::nullopt;
    --steps_left_;  // before arguments are expanded, which may take all that are left
    ExpandedToken token = open.back();
    open.pop_back();
    if (token.kind != Token::Kind::name || !replace(token, open)) done.push_back(token);
  }
  return failed_ ? std::nullopt : std::optional(std::move(done));
}

// False: the token stays.
bool MacroExpander::replace(ExpandedToken& token, Expanded& open) {
  const Meaning meaning = find_(token.text);
  token.certain = token.certain && meaning.certain;
  if (meaning.macro == nullptr) return false;
  const Macro& macro = *meaning.macro;
  std::vector<Expanded> given;
  if (macro.takes_arguments) {
    token.certain = false;
    if (open.empty() || !open.back().is("(")) return false;
    auto arguments = read_arguments(open);
    if (!arguments || arguments->list.size() != std::max<std::size_t>(1, macro.parameters.size()))
      return false;
    open.resize(arguments->end);
    given = std::move(arguments->list);
  }
  const std::size_t before = open.size();
  push_text(macro, given, open);
  if (open.size() > before) open.back().blank_before = token.blank_before;
  return true;
}

void MacroExpander::push_text(const Macro& macro, const std::vector<Expanded>& arguments, Expanded& open) {
  for (std::size_t at = macro.text.size(); at-- > 0;) {
    ExpandedToken token = expanded_of(macro.text, at);
    const auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), token.text);
    if (token.kind != Token::Kind::name || parameter == macro.parameters.end()) {
      token.certain = !token.is("#") && !token.is("##");
      open.push_back(token);
      continue;
    }
    const Expanded& given = arguments[static_cast<std::size_t>(parameter - macro.parameters.begin())];
    if (at > 0 && macro.text[at - 1].is("#")) {
      open.push_back(text_of(given));
      --at;
    } else if (arguments_ == Arguments::as_written) {
      open.insert(open.end(), given.rbegin(), given.rend());
    } else {
      const auto expanded = expand_argument(given);
      open.insert(open.end(), expanded.rbegin(), expanded.rend());
    }
  }
}

std::vector<ExpandedToken> MacroExpander::expand_argument(const Expanded& argument) {
  failed_ |= depth_ == kMaxDepth;
  if (failed_) return {};
  ++depth_;
  auto expanded = run(Expanded(argument.rbegin(), argument.rend()));
  --depth_;
  failed_ |= !expanded;
  return expanded ? std::move(*expanded) : Expanded{};
}

// Of the operator #.
ExpandedToken MacroExpander::text_of(const Expanded& argument) {
  std::string text;
  bool certain = true;
  for (const ExpandedToken& token : argument) {
    if (token.blank_before && !text.empty()) text.push_back(' ');
    text.append(token.text);
    certain &= token.certain;
  }
  certain &= text.find_first_of("\"'\\") == std::string::npos;
  return {{Token::Kind::literal, texts_.emplace_back("\"" + text + "\""), false}, certain, false};
}

}  // namespace cleave::kernels
