#include "kernels/text/build_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "kernels/text/lexer.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr std::array<Text, 9> kHarmlessOptions = {"-D", "-I", "-cl-", "-w", "-W", "-O", "-g", "-x", "-nv-"};

// `word`: a word of the options, or the operand of the one before.
bool is_harmless_option(Text word) {
  if (word.starts_with('@')) return false;
  if (!word.starts_with('-')) return true;
  if (word.starts_with("-W") && word.find(',') != Text::npos) return false;  // passes options to another tool
  return std::any_of(kHarmlessOptions.begin(), kHarmlessOptions.end(),
                     [&](Text known) { return word.starts_with(known); });
}

std::string without_quotes(Text options) {
  std::string bare;
  for (const char c : options) {
    if (c != '"' && c != '\'' && c != '\\') bare.push_back(c);
  }
  return bare;
}

std::vector<Text> words_of(Text text) {
  std::vector<Text> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end]) && !ends_line(text[end])) ++end;
    if (end != at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Text leading_name(Text text) {
  std::size_t size = 0;
  while (size < text.size() && continues_name(text[size])) ++size;
  return text.substr(0, size);
}

std::string definition_of(Text operand, bool undefines) {
  if (undefines) return std::string("-").append(operand);
  const std::size_t equals = operand.find('=');
  if (equals == Text::npos) return std::string(operand).append(" 1");
  return std::string(operand.substr(0, equals)).append(" ").append(operand.substr(equals + 1));
}

// Whether each of them is a decimal number from 1 to 2^24. Requires is_number_in().
bool is_positive_in(const std::vector<std::string>& definitions, const std::string& macro) {
  return std::all_of(definitions.begin(), definitions.end(), [&](const std::string& definition) {
    if (leading_name(definition) != macro) return true;
    const Text value = Text(definition).substr(macro.size() + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && !value.starts_with('0') &&
           number <= 1U << 24U;
  });
}

// Whether the words of the options are the same for a parser that splits them before it strips the quotes.
bool splits_the_same(Text options) {
  bool quoted = false;
  for (const char c : options) {
    const bool is_other_blank = c != ' ' && (is_blank(c) || ends_line(c));  // not all drivers split there
    if (c == '\\' || c == '\'' || is_other_blank) return false;
    if (c == '"') quoted = !quoted;
    if (quoted && c == ' ') return false;
  }
  return !quoted;
}

Options read_operands(Text options) {
  const std::vector<Text> words = words_of(options);
  Options read;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Text word = words[i];
    const Text letter = word.substr(0, 2);
    if (letter != "-I" && letter != "-D" && letter != "-U") continue;
    Text operand = word.substr(2);
    if (operand.empty() && i + 1 < words.size()) operand = words[i + 1];
    if (letter == "-I") {
      read.folders.emplace_back(operand);
    } else {
      read.macros.emplace_back(leading_name(operand));
      read.definitions.push_back(definition_of(operand, letter == "-U"));
    }
  }
  return read;
}

// Whether each of the definitions makes the macro a number.
bool is_number_in(const std::vector<std::string>& definitions, const std::string& macro) {
  return std::all_of(definitions.begin(), definitions.end(), [&](const std::string& definition) {
    if (leading_name(definition) != macro && definition != "-" + macro) return true;
    const Text value = Text(definition).substr(std::min(macro.size() + 1, definition.size()));
    return !value.empty() && is_digit(value[0]) && std::all_of(value.begin(), value.end(), continues_name);
  });
}

}  // namespace

std::string options_as_directive(std::string_view options) {
  std::string text;
  for (const std::string& once : {std::string(options), without_quotes(options)}) {
    text.append("#define options ");
    // So that paths and quotients do not begin comments.
    for (const char c : once) text.push_back(ends_line(c) || c == '/' ? ' ' : c);
    text.push_back('\n');
  }
  return text;
}

Options parse_options(std::string_view options) {
  const std::string bare = without_quotes(options);
  Options parsed = read_operands(bare);
  for (const Text word : words_of(bare)) {
    if (!is_harmless_option(word)) parsed.unknown.emplace_back(word);
  }
  parsed.quotes = bare.size() != options.size();
  parsed.cpp = bare.find("C++") != std::string::npos || bare.find("c++") != std::string::npos;
  if (!splits_the_same(options)) return parsed;
  const Options quoted = read_operands(options);
  for (const std::string& macro : parsed.macros) {
    const bool is_there = std::find(quoted.macros.begin(), quoted.macros.end(), macro) != quoted.macros.end();
    if (!is_there || !is_number_in(quoted.definitions, macro) || !is_number_in(parsed.definitions, macro))
      continue;
    parsed.numbers.push_back(macro);
    if (is_positive_in(parsed.definitions, macro)) parsed.positive.push_back(macro);
  }
  return parsed;
}

}  // namespace cleave::kernels
