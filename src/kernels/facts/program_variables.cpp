#include "kernels/facts/program_variables.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "kernels/facts/source_scan.h"
#include "kernels/text/build_options.h"
#include "kernels/text/lexer.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

template <std::size_t N>
bool is_one_of(Text text, const std::array<Text, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// A token outside of braces and parentheses, or a group of these with its content.
struct DeclaratorToken {
  enum class Kind { name, star, parentheses, braces, other } kind = Kind::other;
  Text text;    // the token; for a group, its opening token
  Text first;   // the first token within the group
  Text second;  // the second token within the group
};

DeclaratorToken piece_of(const Token& token) {
  if (token.kind == Token::Kind::name) return {DeclaratorToken::Kind::name, token.text, {}, {}};
  if (token.is("*")) return {DeclaratorToken::Kind::star, token.text, {}, {}};
  if (token.is("(")) return {DeclaratorToken::Kind::parentheses, token.text, {}, {}};
  if (token.is("{")) return {DeclaratorToken::Kind::braces, token.text, {}, {}};
  return {DeclaratorToken::Kind::other, token.text, {}, {}};
}

// A declaration or definition at program scope.
class Item {
 public:
  void add(const DeclaratorToken& piece) { tokens_.push_back(piece); }

  // A token in the group that was opened last.
  void add_within(Text token) {
    DeclaratorToken& last = tokens_.back();
    if (last.second.empty()) (last.first.empty() ? last.first : last.second) = token;
  }
  // The group is closed. Attributes are dropped: they do not matter here.
  void end_group() {
    const std::size_t count = tokens_.size();
    if (count > 1 && tokens_[count - 2].text == "__attribute__" &&
        is(count - 1, DeclaratorToken::Kind::parentheses))
      tokens_.resize(count - 2);
  }

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  [[nodiscard]] bool is_function() const {
    return tokens_.size() > 1 && is(tokens_.size() - 1, DeclaratorToken::Kind::braces) &&
           is_head(tokens_.size() - 1);
  }
  // Called at its semicolon, which is not part of it.
  [[nodiscard]] bool is_harmless() const {
    return tokens_.empty() || tokens_[0].text == "typedef" || is_head(tokens_.size()) || is_type() ||
           is_constant();
  }
  // Whether one of its names outside of groups is a macro.
  [[nodiscard]] bool names_one_of(const std::set<Text>& macros) const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [&](const DeclaratorToken& p) { return macros.contains(p.text); });
  }

 private:
  [[nodiscard]] bool is(std::size_t at, DeclaratorToken::Kind kind) const { return tokens_[at].kind == kind; }

  // Whether the first `count` tokens are the type, name and parameters of a function.
  [[nodiscard]] bool is_head(std::size_t count) const {
    if (count < 3 || !is(count - 1, DeclaratorToken::Kind::parentheses) ||
        !is(count - 2, DeclaratorToken::Kind::name))
      return false;
    return holds_parameters(tokens_[count - 1]) && is(0, DeclaratorToken::Kind::name) &&
           std::all_of(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count - 1),
                       [](const DeclaratorToken& p) {
                         return p.kind == DeclaratorToken::Kind::name ||
                                p.kind == DeclaratorToken::Kind::star;
                       });
  }

  [[nodiscard]] bool is_type() const {
    constexpr std::array<Text, 3> kWords = {"struct", "union", "enum"};
    if (!is_one_of(tokens_[0].text, kWords)) return false;
    const bool named = tokens_.size() > 1 && is(1, DeclaratorToken::Kind::name);
    const std::size_t count = tokens_.size() - (named ? 2 : 1);
    return count == 0 || (count == 1 && is(tokens_.size() - 1, DeclaratorToken::Kind::braces));
  }

  // Samplers are in the constant address space, too. A pointer to that space may itself be elsewhere.
  [[nodiscard]] bool is_constant() const {
    constexpr std::array<Text, 3> kWords = {"constant", "__constant", "sampler_t"};
    constexpr std::array<Text, 2> kBefore = {"static", "const"};
    const auto first = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const DeclaratorToken& p) { return !is_one_of(p.text, kBefore); });
    return first != tokens_.end() && is_one_of(first->text, kWords) &&
           std::none_of(tokens_.begin(), tokens_.end(), [](const DeclaratorToken& p) {
             return p.kind == DeclaratorToken::Kind::star || declares_within(p);
           });
  }

  // No parameters, or ones that begin with two words: int (x) and int (*x) declare x.
  static bool holds_parameters(const DeclaratorToken& parentheses) {
    if (parentheses.second.empty()) return parentheses.first.empty() || parentheses.first == "void";
    const char behind = parentheses.second.front();
    return starts_name(parentheses.first.front()) && (starts_name(behind) || behind == '*');
  }

  // Whether these are parentheses around a declarator.
  static bool declares_within(const DeclaratorToken& piece) {
    constexpr std::array<Text, 3> kSigns = {"*", "^", "("};
    return piece.kind == DeclaratorToken::Kind::parentheses && is_one_of(piece.first, kSigns);
  }

  std::vector<DeclaratorToken> tokens_;
};

// The nesting depth of a position.
struct Depth {
  std::size_t braces = 0;
  std::size_t parentheses = 0;

  // Returns false if more is closed than was opened.
  bool follow(const Token& token) {
    if (token.is("{")) ++braces;
    if (token.is("(")) ++parentheses;
    if (token.is("}")) return braces-- > 0;
    if (token.is(")")) return parentheses-- > 0;
    return true;
  }
  [[nodiscard]] bool outside() const { return braces == 0 && parentheses == 0; }
  friend bool operator==(const Depth&, const Depth&) = default;
};

class DeclarationParser {
 public:
  explicit DeclarationParser(const std::set<Text>& macros) : macros_(macros) {}

  // Returns the token at which something was not recognised; empty if all was.
  std::optional<Token> read(const std::vector<Token>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::size_t at = i;
      if (!list[i].directive) {
        code(list[i]);
      } else {
        directive(list[i + 1]);
        i = end_of_directive(list, i);
      }
      if (!unambiguous_) return first_of_item_.text.empty() ? list[at] : first_of_item_;
    }
    const bool complete = depth_.outside() && item_.empty() && conditions_.empty();
    return complete ? std::nullopt : std::optional(list.back());
  }

 private:
  // Branches must begin and end between items, or at the same depth within one function.
  void directive(const Token& keyword) {
    if (keyword.text.starts_with("include")) unambiguous_ = item_.empty();
    constexpr std::array<Text, 3> kBegin = {"if", "ifdef", "ifndef"};
    constexpr std::array<Text, 5> kMiddle = {"elif", "elifdef", "elifndef", "else", "endif"};
    const bool begins = is_one_of(keyword.text, kBegin);
    if (!begins && !is_one_of(keyword.text, kMiddle)) return;
    if (begins) conditions_.push_back(depth_);
    unambiguous_ =
        !conditions_.empty() && conditions_.back() == depth_ && (!depth_.outside() || item_.empty());
    if (keyword.is("endif") && unambiguous_) conditions_.pop_back();
  }

  void code(const Token& token) {
    const Depth before = depth_;
    unambiguous_ = depth_.follow(token) && !(before.braces > 0 && token.is("static"));
    if (!unambiguous_) return;
    if (before.outside()) return outside(token);
    if (depth_.outside()) return closed();
    item_.add_within(token.text);
  }

  void outside(const Token& token) {
    if (!token.is(";")) {
      if (item_.empty()) first_of_item_ = token;
      return item_.add(piece_of(token));
    }
    unambiguous_ = item_.is_harmless() && !item_.names_one_of(macros_);
    if (unambiguous_) end_item();
  }

  void closed() {
    item_.end_group();
    if (!item_.is_function()) return;
    unambiguous_ = !item_.names_one_of(macros_);
    if (unambiguous_) end_item();
  }

  void end_item() {
    item_ = {};
    first_of_item_ = {};
  }

  const std::set<Text>& macros_;
  Item item_;
  Token first_of_item_{};
  Depth depth_;
  std::vector<Depth> conditions_;  // the depth at the beginning of each open conditional
  bool unambiguous_ = true;        // everything so far was recognised
};

// Collects the names of macros. Returns the token at which one could expand to more than a part of an expression or
// statement; empty if none does.
std::optional<Token> read_macros(const std::vector<Token>& list, std::set<Text>& macros) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].directive) continue;
    const bool definition = list[i + 1].is("define");
    if (definition) macros.insert(list[i + 2].text);
    Depth depth;
    for (; list[i].kind != Token::Kind::end_of_directive; ++i) {
      if (definition && (!depth.follow(list[i]) || list[i].is("static") || list[i].is("##"))) return list[i];
    }
    if (!depth.outside()) return list[i - 1];
  }
  return std::nullopt;
}

// Whether the options select OpenCL C 1.x, or 3.0, which has such variables only on some devices.
bool forbid_variables(Text options) {
  constexpr Text kFirst = "-cl-std=CL";
  if (options.find_first_of("\"'\\@") != Text::npos) return false;
  for (auto at = options.find("std"); at != Text::npos; at = options.find("std", at + 1)) {
    constexpr std::size_t kBefore = kFirst.find("std");
    if (at < kBefore) return false;
    const Text option = options.substr(at - kBefore);
    if (!option.starts_with(kFirst)) return false;
    const Text version = option.substr(kFirst.size());
    if (!version.starts_with("1.") && !version.starts_with("3.")) return false;
  }
  return true;
}

}  // namespace

bool has_program_variables(const std::deque<SourceText>& texts, std::string_view options, Causes* causes) {
  if (forbid_variables(options)) return false;
  const Options parsed = parse_options(options);
  const JoinedText as_text(options_as_directive(options), JoinedText::NoLines{});
  std::set<Text> macros(parsed.macros.begin(), parsed.macros.end());
  const auto note = [&](const JoinedText& text, Text place) {
    Scan scan;
    scan.keeps_state = true;
    if (causes != nullptr) causes->note(scan, Cause::Way::declares, place, text, place);
    return true;
  };
  // Whether something in the text is not recognised.
  const auto refuses_macros = [&](const JoinedText& text, const Tokens& tokens) {
    if (!tokens.unambiguous) return note(text, tokens.unreadable);
    const auto refused = read_macros(tokens.list, macros);
    return refused && note(text, refused->text);
  };
  if (refuses_macros(as_text, tokens_of(as_text.text()))) return true;
  for (const SourceText& text : texts) {
    if (refuses_macros(text.text, text.compiled)) return true;
  }
  for (const SourceText& text : texts) {
    const auto refused = DeclarationParser(macros).read(text.compiled.list);
    if (refused) return note(text.text, refused->text);
  }
  return false;
}

}  // namespace cleave::kernels
