#include "kernels/text/macro_table.h"

#include <utility>

#include "kernels/text/build_options.h"
#include "kernels/text/predefined_macros.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

Macro unknown() { return {.state = Macro::State::unknown, .parameters = {}, .text = {}}; }

// What holds if either of the two does.
Macro either(const Macro& a, const Macro& b) {
  if (a == b) return a;
  Macro both = unknown();
  if (a.state == b.state) both.state = a.state;
  return both;
}

}  // namespace

Macro read_definition(std::span<const Token> tokens) {
  Macro macro{
      .state = Macro::State::defined, .known_text = true, .parameters = {}, .text = tokens.subspan(1)};
  const Text name = tokens[0].text;
  macro.takes_arguments =
      tokens.size() > 1 && tokens[1].is("(") && tokens[1].text.data() == name.data() + name.size();
  if (!macro.takes_arguments) return macro;
  std::size_t at = 2;
  bool variadic = false;
  for (; at < tokens.size() && !tokens[at].is(")"); ++at) {
    if (tokens[at].kind == Token::Kind::name) macro.parameters.push_back(tokens[at].text);
    // Variable arguments are not followed.
    macro.known_text &= tokens[at].kind == Token::Kind::name || tokens[at].is(",");
    variadic |= tokens[at].is(".");
  }
  if (variadic) macro.parameters.insert(macro.parameters.end(), {"__VA_ARGS__", "__VA_OPT__"});
  macro.text = tokens.subspan(std::min(at + 1, tokens.size()));
  return macro;
}

MacroTable::MacroTable(std::string_view options, std::string_view uncertain) {
  std::string doubtful(uncertain);
  if (options.find_first_of("\"'\\@") == Text::npos) {
    read_options(options);
  } else {  // compilers may split it in different ways
    doubtful.append(" ").append(options);
  }
  // Any name in these may be defined.
  const std::string& text = option_texts_.emplace_back(options_as_directive(doubtful));
  for_each_name(text, [&](Text name) {
    macros_[name] = unknown();
    // Of -Dname and -Uname.
    if (name.size() > 1) macros_[name.substr(1)] = unknown();
  });
}

// Compilers may take definitions in another order, so a name that is given twice has no known text.
void MacroTable::read_options(std::string_view options) {
  for (const std::string& definition : parse_options(options).definitions) {
    const bool undefines = definition.starts_with('-');
    const std::string& text = option_texts_.emplace_back(definition.substr(undefines ? 1 : 0));
    const Tokens& tokens = option_tokens_.emplace_back(tokens_of(text));
    if (tokens.list.empty()) continue;
    const Macro macro = undefines || !tokens.unambiguous ? unknown() : read_definition(tokens.list);
    const auto [known, added] = macros_.try_emplace(tokens.list[0].text, macro);
    if (!added) known->second = either(known->second, macro);
  }
}

const Macro& MacroTable::find(std::string_view name) const {
  const auto found = macros_.find(name);
  if (found != macros_.end()) return found->second;
  if (knows_nothing_) return unknown_;
  switch (predefined(name)) {
    case Predefined::always:
      return defined_;
    case Predefined::perhaps:
      return predefined_;
    case Predefined::never:
      break;
  }
  return undefined_;
}

void MacroTable::set(std::string_view name, const Macro& macro) {
  const auto found = macros_.find(name);
  if (!journal_.empty()) {
    journal_.back().try_emplace(name, found != macros_.end() ? std::optional(found->second) : std::nullopt);
  }
  macros_[name] = macro;
}

void MacroTable::forget_all() {
  knows_nothing_ = true;
  for (auto& [name, macro] : macros_) macro = unknown();
  for (auto& before : journal_) before.clear();
}

MacroTable::Changes MacroTable::end_branch() {
  Changes changes;
  for (auto& [name, before] : journal_.back()) {
    changes[name] = macros_[name];
    if (before) {
      macros_[name] = *before;
    } else {
      macros_.erase(name);
    }
  }
  journal_.pop_back();
  return changes;
}

void MacroTable::join(const std::vector<Changes>& branches, bool or_none) {
  Changes all;
  for (const Changes& branch : branches) all.insert(branch.begin(), branch.end());
  for (auto& [name, macro] : all) {
    if (or_none) macro = either(macro, find(name));
    for (const Changes& branch : branches) {
      const auto found = branch.find(name);
      macro = either(macro, found != branch.end() ? found->second : find(name));
    }
  }
  for (const auto& [name, macro] : all) set(name, macro);
}

}  // namespace cleave::kernels
