#include "kernels/text/include_operand.h"

#include <string_view>

#include "kernels/text/macro_expander.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Against macros that expand to more and more.
constexpr std::size_t kMaxOperandSteps = 4096;

MacroExpander::Meaning macro_meaning(const MacroTable& macros, Text name) {
  const Macro& macro = macros.find(name);
  if (macro.known_text) return {&macro};
  // No compiler gives a part of a path another meaning.
  const bool plain = macro.state == Macro::State::predefined && !name.starts_with('_');
  return {nullptr, macro.state == Macro::State::undefined || plain};
}

Text inner(Text text) { return text.substr(1, text.size() - 2); }

}  // namespace

std::optional<std::string> included_name(std::span<const Token> tokens, const MacroTable& macros) {
  if (tokens.empty()) return std::nullopt;
  if (tokens[0].kind == Token::Kind::literal && tokens[0].text.size() > 2)
    return std::string(inner(tokens[0].text));
  MacroExpander expander([&](Text name) { return macro_meaning(macros, name); }, kMaxOperandSteps,
                         MacroExpander::Arguments::expanded);
  const auto expanded = expander.expand(tokens);
  if (!expanded || expanded->size() != 1 || !expanded->front().certain) return std::nullopt;
  const Text text = expanded->front().text;
  const bool named = text.size() > 2 && text.starts_with('"') && text.ends_with('"');
  return named ? std::optional(std::string(inner(text))) : std::nullopt;
}

}  // namespace cleave::kernels
