#include "kernels/text/include_operand.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Against macros that expand to more and more.
constexpr std::size_t kMaxExpansionDepth = 16;
constexpr std::size_t kMaxOperandTokens = 256;

struct Spelled {
  std::string text;
  bool is_name;
  bool blank_before;
};
using Spelling = std::vector<Spelled>;

Spelling spelling_of(std::span<const Token> tokens) {
  Spelling all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool blank =
        i > 0 && tokens[i - 1].text.data() + tokens[i - 1].text.size() != tokens[i].text.data();
    all.push_back({std::string(tokens[i].text), tokens[i].kind == Token::Kind::name, blank});
  }
  return all;
}

std::string joined(const Spelling& tokens) {
  std::string text;
  for (const Spelled& token : tokens) {
    if (token.blank_before && !text.empty()) text.push_back(' ');
    text.append(token.text);
  }
  return text;
}

class Expander {
 public:
  explicit Expander(const MacroTable& macros) : macros_(macros) {}

  // Empty if any macro in it is unknown, or used in a way that is not followed here.
  std::optional<Spelling> run(const Spelling& tokens) {
    if (depth_ > kMaxExpansionDepth) return std::nullopt;
    ++depth_;
    Spelling all;
    bool certain = true;
    for (std::size_t at = 0; at < tokens.size() && certain; ++at) {
      auto replaced = replace(tokens, at);
      certain = replaced && all.size() + replaced->size() <= kMaxOperandTokens;
      if (certain) all.insert(all.end(), replaced->begin(), replaced->end());
    }
    --depth_;
    return certain ? std::optional(all) : std::nullopt;
  }

 private:
  // What the token at `at` stands for; sets `at` to the last token that belongs to it.
  std::optional<Spelling> replace(const Spelling& tokens, std::size_t& at) {
    if (!tokens[at].is_name) return Spelling{tokens[at]};
    const Macro macro = macros_.find(tokens[at].text);
    // No compiler gives a part of a path another meaning.
    const bool plain = macro.state == Macro::State::predefined && !tokens[at].text.starts_with('_');
    if (macro.state == Macro::State::undefined || plain) return Spelling{tokens[at]};
    if (!macro.known_text) return std::nullopt;
    std::vector<Spelling> arguments;
    const bool blank = tokens[at].blank_before;
    if (macro.takes_arguments) {
      const std::size_t end = read_arguments(tokens, at + 1, arguments);
      if (end == 0 || arguments.size() != macro.parameters.size()) return std::nullopt;
      at = end;
    }
    auto body = substitute(macro, arguments);
    auto result = body ? run(*body) : std::nullopt;
    if (result && !result->empty()) result->front().blank_before = blank;
    return result;
  }

  // Returns the place of the closing parenthesis, 0 if there is none.
  static std::size_t read_arguments(const Spelling& tokens, std::size_t at,
                                    std::vector<Spelling>& arguments) {
    if (at >= tokens.size() || tokens[at].text != "(") return 0;
    arguments.emplace_back();
    std::size_t depth = 1;
    for (++at; at < tokens.size(); ++at) {
      const std::string& text = tokens[at].text;
      if (text == "(") ++depth;
      if (text == ")" && --depth == 0) return at;
      if (text == "," && depth == 1) {
        arguments.emplace_back();
      } else {
        arguments.back().push_back(tokens[at]);
      }
    }
    return 0;
  }

  std::optional<Spelling> substitute(const Macro& macro, const std::vector<Spelling>& arguments) {
    const Spelling body = spelling_of(macro.text);
    Spelling all;
    for (std::size_t at = 0; at < body.size(); ++at) {
      const bool makes_text = macro.takes_arguments && body[at].text == "#" && at + 1 < body.size();
      const Text name = body[makes_text ? at + 1 : at].text;
      const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), name);
      const bool parameter = found != macro.parameters.end();
      if (body[at].text == "##" || makes_text != (body[at].text == "#") || (makes_text && !parameter))
        return std::nullopt;
      if (!parameter) {
        all.push_back(body[at]);
        continue;
      }
      const Spelling& argument = arguments[static_cast<std::size_t>(found - macro.parameters.begin())];
      if (makes_text) {
        const std::string text = joined(argument);
        if (text.find_first_of("\"'\\") != std::string::npos) return std::nullopt;
        all.push_back({"\"" + text + "\"", false, body[at].blank_before});
        ++at;
        continue;
      }
      const auto expanded = run(argument);
      if (!expanded) return std::nullopt;
      all.insert(all.end(), expanded->begin(), expanded->end());
    }
    return all;
  }

  const MacroTable& macros_;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<std::string> included_name(std::span<const Token> tokens, const MacroTable& macros) {
  if (tokens.empty()) return std::nullopt;
  const auto inner = [](Text text) { return std::string(text.substr(1, text.size() - 2)); };
  if (tokens[0].kind == Token::Kind::literal && tokens[0].text.size() > 2) return inner(tokens[0].text);
  const auto expanded = Expander(macros).run(spelling_of(tokens));
  if (!expanded || expanded->size() != 1) return std::nullopt;
  const Text text = expanded->front().text;
  const bool named = text.size() > 2 && text.starts_with('"') && text.ends_with('"');
  return named ? std::optional(inner(text)) : std::nullopt;
}

}  // namespace cleave::kernels
