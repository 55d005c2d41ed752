#include "kernels/text/macro_arguments.h"

#include <algorithm>

namespace cleave::kernels {

MacroArguments::MacroArguments(const std::vector<const Tokens*>& texts, const Tokens& options) {
  for (const Token& token : options.list) {
    if (token.kind != Token::Kind::name && token.kind != Token::Kind::number) continue;
    options_.insert(token.text);
    if (token.text.size() > 1) options_.insert(token.text.substr(1));  // behind -D
  }
  for (const Tokens* text : texts) read_definitions(text->list);
  for (const Definition& each : definitions_) {
    if (options_.contains(each.name)) anything_.insert(each.name);
    read_calls(each.macro.text, &each);
  }
  definitions_.clear();
  for (const Tokens* text : texts) {
    const std::vector<Token>& list = text->list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::size_t begin = i;
      if (list[i].directive) i = end_of_directive(list, i);
      const Text keyword = list[begin].directive ? list[begin + 1].text : Text{};
      const bool no_code = keyword == "define" || keyword == "undef" || keyword.starts_with("ifdef") ||
                           keyword.starts_with("ifndef");
      if (list[begin].directive && !no_code) read_calls(Part(list).subspan(begin, i - begin), nullptr);
      // A call in code may extend over many lines.
      if (!list[begin].directive && parameters_.contains(list[begin].text))
        read_call(Part(list).subspan(begin), nullptr);
    }
  }
}

void MacroArguments::read_definitions(const std::vector<Token>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].directive) continue;
    const std::size_t end = end_of_directive(tokens, i);
    if (tokens[i + 1].is("define") && i + 2 < end) {
      const Text name = tokens[i + 2].text;
      Definition definition{name, read_definition(Part(tokens).subspan(i + 2, end - i - 2))};
      const Macro& macro = definition.macro;
      for (const Token& token : macro.text) texts_[name].add(token, &definition);
      texts_[name];
      if (macro.takes_arguments) parameters_[name].push_back(macro.parameters);
      if (macro.has("__VA_ARGS__")) anything_.insert(name);
      definitions_.push_back(std::move(definition));
    }
    i = end;
  }
}

void MacroArguments::Passed::add(const Token& token, const Definition* within) {
  if (token.directive && token.kind == Token::Kind::end_of_directive) return;
  anything |= token.is("##");
  if (token.kind != Token::Kind::name && token.kind != Token::Kind::number) return;
  if (within != nullptr && within->macro.has(token.text)) {
    parameters.emplace(within->name, token.text);
  } else {
    fragments.insert(token.text);
  }
}

void MacroArguments::read_calls(Part tokens, const Definition* within) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (parameters_.contains(tokens[i].text)) read_call(tokens.subspan(i), within);
  }
}

void MacroArguments::read_call(Part tokens, const Definition* within) {
  const Text macro = tokens[0].text;
  std::vector<Passed> arguments(1);
  std::size_t depth = 0;
  std::size_t at = 1;
  bool written = at < tokens.size() && tokens[at].is("(");
  for (; written && at < tokens.size(); ++at) {
    const Token& token = tokens[at];
    written = within != nullptr || token.directive == tokens[0].directive;
    if (token.is("(") && depth++ == 0) continue;
    if (token.is(")") && --depth == 0) break;
    if (token.is(",") && depth == 1) {
      arguments.emplace_back();
    } else {
      arguments.back().add(token, within);
    }
  }
  for (const std::vector<Text>& parameters : parameters_[macro]) {
    if (!written || at == tokens.size() || arguments.size() != std::max<std::size_t>(parameters.size(), 1)) {
      anything_.insert(macro);
      return;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Passed& passed = passed_[{macro, parameters[i]}];
      passed.anything |= arguments[i].anything;
      passed.fragments.insert(arguments[i].fragments.begin(), arguments[i].fragments.end());
      passed.parameters.insert(arguments[i].parameters.begin(), arguments[i].parameters.end());
    }
  }
}

// Follows parameters and the texts of macros until nothing is new.
std::set<std::string_view> MacroArguments::closure(const Parameter& first, bool& anything) const {
  std::set<Text> fragments = options_;
  std::vector<Text> names(options_.begin(), options_.end());
  std::set<Parameter> seen{first};
  std::vector<Parameter> parameters{first};
  const auto take = [&](const Passed& passed) {
    anything |= passed.anything;
    for (const Text fragment : passed.fragments) {
      if (fragments.insert(fragment).second) names.push_back(fragment);
    }
    for (const Parameter& parameter : passed.parameters) {
      if (seen.insert(parameter).second) parameters.push_back(parameter);
    }
  };
  while (!anything && (!names.empty() || !parameters.empty())) {
    if (!names.empty()) {
      const auto text = texts_.find(names.back());
      names.pop_back();
      if (text != texts_.end()) take(text->second);
      continue;
    }
    const Parameter next = parameters.back();
    parameters.pop_back();
    anything |= anything_.contains(next.first);
    const auto passed = passed_.find(next);
    if (passed != passed_.end()) take(passed->second);
  }
  return fragments;
}

const std::set<std::string_view>* MacroArguments::of(std::string_view macro, std::string_view parameter) {
  const Parameter wanted{macro, parameter};
  auto known = known_.find(wanted);
  if (known == known_.end()) {
    bool anything = false;
    std::set<Text> fragments = closure(wanted, anything);
    known = known_.emplace(wanted, std::pair(anything, std::move(fragments))).first;
  }
  return known->second.first ? nullptr : &known->second.second;
}

std::vector<std::string_view> MacroArguments::followed() const {
  std::vector<Text> names;
  names.reserve(parameters_.size());
  for (const auto& [name, each] : parameters_) names.push_back(name);
  return names;
}

}  // namespace cleave::kernels
