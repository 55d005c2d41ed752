#include "kernels/text/lexer.h"

#include <algorithm>
#include <array>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr std::array<Text, 7> kAmbiguous = {"<%", "%>", "<:", ":>", "%:", "\\u", "\\U"};
constexpr Text kBeginsAmbiguous = "<%:\\";

// How much of a place that is ambiguous is shown.
constexpr std::size_t kShown = 16;

// Anywhere in the text: a trigraph for a backslash could end a comment or a string elsewhere.
std::size_t find_trigraph(Text text) {
  for (std::size_t at = text.find("??"); at != Text::npos; at = text.find("??", at + 1)) {
    if (at + 2 < text.size() && Text("=/'()!<>-").find(text[at + 2]) != Text::npos) return at;
  }
  return Text::npos;
}

bool is_hexadecimal(Text number) {
  return (number.starts_with("0x") || number.starts_with("0X")) && number.find('_') == Text::npos;
}

class Lexer {
 public:
  enum class Keep : std::uint8_t { all, directives };

  explicit Lexer(Text text, Keep keep = Keep::all) : text_(text), keep_(keep) {}

  Tokens run() && {
    const std::size_t first = std::min(find_trigraph(text_), text_.find('\0'));
    if (first != Text::npos) set_unreadable(first);
    constexpr std::size_t kMostCharactersEach = 6;  // of most texts, blanks and comments included
    if (keep_ == Keep::all) tokens_.list.reserve(text_.size() / kMostCharactersEach);
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      step();
      if (!tokens_.unambiguous && tokens_.unreadable.data() == nullptr) set_unreadable(begin);
    }
    finish_directive();
    return std::move(tokens_);
  }

 private:
  void set_unreadable(std::size_t at) {
    tokens_.unambiguous = false;
    const Text shown = text_.substr(at, kShown);
    tokens_.unreadable = shown.substr(0, shown.find_first_of(Text("\n\r\0", 3)));
  }

  void step() {
    const char c = text_[at_];
    if (ends_line(c)) {
      finish_directive();
      line_starts_ = true;
      ++at_;
    } else if (is_blank(c)) {
      ++at_;
    } else if (!skip_comment()) {
      token(c);
      line_starts_ = false;
    }
  }

  void token(char c) {
    const Text two = text_.substr(at_, 2);
    if (kBeginsAmbiguous.find(c) != Text::npos) {
      tokens_.unambiguous &= std::find(kAmbiguous.begin(), kAmbiguous.end(), two) == kAmbiguous.end();
    }
    tokens_.unambiguous &= c != '$' && static_cast<unsigned char>(c) < 0x80;
    if (starts_name(c)) return name();
    if (is_digit(c) || (c == '.' && two.size() == 2 && is_digit(two[1]))) return number();
    if (c == '"' || c == '\'') return literal(c);
    if (c == '<' && including_) return header();
    if (c == '#' && line_starts_ && two != "##") directive_ = true;
    add(Token::Kind::punctuator, two == "##" ? 2 : 1);
  }

  void name() {
    std::size_t size = 1;
    while (at_ + size < text_.size() && continues_name(text_[at_ + size])) ++size;
    const Text name = text_.substr(at_, size);
    const bool begins_directive = directive_ && tokens_.list.back().is("#");
    if (begins_directive && (name == "include" || name == "include_next")) including_ = true;
    if (begins_directive && (name == "error" || name == "warning")) in_message_ = true;
    // A raw string for some compilers, in which quotes and comments mean something else.
    tokens_.unambiguous &= !(name.ends_with('R') && at_ + size < text_.size() && text_[at_ + size] == '"');
    add(Token::Kind::name, size);
  }

  // C99 6.4.8: preprocessing numbers include more than valid numbers.
  void number() {
    std::size_t size = 1;
    for (; at_ + size < text_.size(); ++size) {
      const char c = text_[at_ + size];
      const char before = text_[at_ + size - 1];
      const bool binary = before == 'p' || before == 'P';
      const bool exponent = before == 'e' || before == 'E' || binary;
      const bool sign = c == '+' || c == '-';
      if (!continues_name(c) && c != '.' && !(exponent && sign)) break;
      // In C++, other numbers end before the sign.
      tokens_.unambiguous &= !(sign && binary) || is_hexadecimal(text_.substr(at_, size));
    }
    tokens_.unambiguous &= at_ + size == text_.size() || text_[at_ + size] != '\'';  // a digit separator?
    add(Token::Kind::number, size);
  }

  // An unclosed literal ends with its line, which is right in #error messages.
  void literal(char quote) {
    std::size_t size = 1;
    while (at_ + size < text_.size() && !ends_line(text_[at_ + size]) && text_[at_ + size] != quote) {
      size += text_[at_ + size] == '\\' && !including_ ? 2 : 1;
    }
    const bool closed = at_ + size < text_.size() && text_[at_ + size] == quote;
    tokens_.unambiguous &= closed || in_message_;
    // In a skipped group a backslash is an escape.
    tokens_.unambiguous &= !including_ || text_.substr(at_, size).find('\\') == Text::npos;
    add(Token::Kind::literal, closed ? size + 1 : std::min(size, text_.size() - at_));
  }

  void header() {
    std::size_t size = 1;
    while (at_ + size < text_.size() && !ends_line(text_[at_ + size]) && text_[at_ + size] != '>') ++size;
    if (at_ + size >= text_.size() || text_[at_ + size] != '>') return add(Token::Kind::punctuator, 1);
    // In a skipped group compilers read it like other text.
    const Text name = text_.substr(at_, size);
    tokens_.unambiguous &= name.find("/*") == Text::npos && name.find("//") == Text::npos &&
                           name.find_first_of("\"'\\") == Text::npos;
    add(Token::Kind::literal, size + 1);
  }

  bool skip_comment() {
    const Text two = text_.substr(at_, 2);
    if (two == "//") {
      while (at_ < text_.size() && !ends_line(text_[at_])) ++at_;
      return true;
    }
    if (two != "/*") return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    tokens_.unambiguous &= end != Text::npos;
    // The message of #error extends to the end of its line, whatever it contains.
    tokens_.unambiguous &= !in_message_ || text_.substr(at_, end - at_).find_first_of("\n\r") == Text::npos;
    at_ = end != Text::npos ? end + 2 : text_.size();
    return true;
  }

  void add(Token::Kind kind, std::size_t size) {
    if (directive_ || keep_ == Keep::all) tokens_.list.push_back({kind, text_.substr(at_, size), directive_});
    at_ += size;
  }

  void finish_directive() {
    if (directive_) add(Token::Kind::end_of_directive, 0);
    directive_ = false;
    including_ = false;
    in_message_ = false;
  }

  const Text text_;
  const Keep keep_;
  std::size_t at_ = 0;
  bool line_starts_ = true;
  bool directive_ = false;
  bool including_ = false;
  bool in_message_ = false;
  Tokens tokens_;
};

}  // namespace

std::string without_splices(std::string_view source, std::vector<std::size_t>* line_starts) {
  std::string joined;
  joined.reserve(source.size());
  if (line_starts != nullptr) line_starts->push_back(0);
  // The length of the line end at `at`. One of two characters, in either order, counts as one.
  const auto line_end = [&](std::size_t at) -> std::size_t {
    if (at >= source.size() || !ends_line(source[at])) return 0;
    const bool pair = at + 1 < source.size() && ends_line(source[at + 1]) && source[at + 1] != source[at];
    return pair ? 2 : 1;
  };
  for (std::size_t i = 0; i < source.size();) {
    const std::size_t run = i;
    while (i < source.size() && source[i] != '\\' && !ends_line(source[i])) ++i;
    joined.append(source, run, i - run);
    if (i == source.size()) break;
    std::size_t end = i;
    if (source[i] == '\\') {
      ++end;
      while (end < source.size() && is_blank(source[end])) ++end;
    }
    const std::size_t size = line_end(end);
    const bool splice = end != i && size != 0;
    if (splice) {
      i = end + size;
    } else {
      const std::size_t kept = std::max<std::size_t>(end == i ? size : 0, 1);
      joined.append(source, i, kept);
      i += kept;
    }
    if (line_starts != nullptr && size != 0) line_starts->push_back(joined.size());
  }
  return joined;
}

Tokens tokens_of(std::string_view text) { return Lexer(text).run(); }

Tokens directive_tokens_of(std::string_view text) { return Lexer(text, Lexer::Keep::directives).run(); }

}  // namespace cleave::kernels
