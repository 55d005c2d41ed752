#include "remote/client/includes/build_options.h"

#include <utility>

namespace cleave::remote::client {
namespace {

struct Word {
  std::string text;                 // without its quotes
  std::vector<std::size_t> places;  // of each character in the options
};

std::vector<Word> words_in(std::string_view options) {
  std::vector<Word> words;
  char quote = 0;
  bool inside = false;
  for (std::size_t i = 0; i < options.size(); ++i) {
    char c = options[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_blank && quote == 0) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote == 0 ? c == '"' || c == '\'' : c == quote) {
      quote = quote == 0 ? c : char{0};
      continue;
    }
    if (c == '\\' && quote != '\'' && i + 1 < options.size() &&
        (options[i + 1] == '"' || options[i + 1] == '\\' || options[i + 1] == ' '))
      c = options[++i];
    words.back().text.push_back(c);
    words.back().places.push_back(i);
  }
  return words;
}

// The operand of an option, which may be the next word. Empty text: none.
Word operand_at(const std::vector<Word>& words, std::size_t& i, std::size_t prefix) {
  Word word = words[i];
  if (word.text.size() == prefix) return i + 1 < words.size() ? words[++i] : Word{};
  word.text.erase(0, prefix);
  word.places.erase(word.places.begin(), word.places.begin() + static_cast<std::ptrdiff_t>(prefix));
  return word;
}

}  // namespace

BuildOptions read_build_options(std::string_view options) {
  const std::vector<Word> words = words_in(options);
  BuildOptions read;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_folder = words[i].text.starts_with("-I");
    if (!is_folder && !words[i].text.starts_with("-D")) continue;
    Word operand = operand_at(words, i, 2);
    if (operand.text.empty()) continue;
    if (is_folder) {
      read.folders.push_back({std::move(operand.text), operand.places.front()});
    } else {
      read.definitions.push_back(std::move(operand.text));
    }
  }
  return read;
}

}  // namespace cleave::remote::client
