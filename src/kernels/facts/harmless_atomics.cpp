#include "kernels/facts/harmless_atomics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>

#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr std::array<Text, 9> kAdditions = {"add", "sub", "inc", "dec", "min", "max", "and", "or", "xor"};
constexpr std::array<Text, 3> kFences = {"mem_fence", "read_mem_fence", "write_mem_fence"};
constexpr std::array<Text, 9> kHidden = {"struct",     "union",    "enum",          "typedef",    "typeof",
                                         "__typeof__", "__typeof", "__attribute__", "__attribute"};
constexpr std::array<Text, 5> kStatementWords = {"return", "else", "do", "case", "goto"};

// What the name says behind atomic_ or atom_; empty for other names.
Text operation_of(Text name) {
  for (const Text prefix : {Text("atomic_"), Text("atom_")}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

bool is_addition(Text name) {
  const Text operation = operation_of(name);
  return !operation.empty() && is_in(kAdditions, operation);
}

bool is_local_word(Text word) { return word == "local" || word == "__local"; }

// A declaration in the function of one name.
struct Declaration {
  std::size_t count = 0;  // how often the name could be declared
  bool local = false;     // it certainly is local memory, or points to it
  bool pointer = false;   // with one star
  bool integer = false;
  bool parameter = false;
  std::vector<std::size_t> volatiles;  // its volatile qualifiers
};

class Reader {
 public:
  explicit Reader(const std::vector<Token>& list)
      : list_(list), found_{std::vector<bool>(list.size()), false} {}

  HarmlessAtomics run() && {
    if (!read_depths()) return std::move(found_);
    read_declarations();
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (list_[i].directive || list_[i].kind != Token::Kind::name) continue;
      if (is_in(kFences, list_[i].text)) fence(i);
      if (!operation_of(list_[i].text).empty()) atomic(i);
    }
    for (const auto& [name, declaration] : declarations_) release(name, declaration);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is(std::size_t at, Text sign) const { return at < list_.size() && list_[at].is(sign); }
  [[nodiscard]] bool is_name(std::size_t at) const {
    return at < list_.size() && list_[at].kind == Token::Kind::name;
  }

  // Returns false for functions with directives within, with statements in expressions or with other ways to declare names, which
  // are not read here.
  bool read_depths() {
    std::vector<std::size_t> open;
    match_.assign(list_.size(), 0);
    nested_.assign(list_.size(), false);
    in_for_.assign(list_.size(), false);
    std::size_t braces = 0;
    bool code = false;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (list_[i].directive && !code) continue;  // in front of the function
      code = true;
      if (list_[i].directive || (is(i, "(") && is(i + 1, "{"))) return false;
      if (is_name(i) && is_in(kHidden, list_[i].text)) return false;
      nested_[i] = !open.empty();
      in_for_[i] = !open.empty() && open[0] > 0 && is(open[0] - 1, "for");
      if (is(i, "{")) ++braces;
      if (is(i, "(")) open.push_back(i);
      if (!is(i, ")")) continue;
      if (open.empty()) return false;
      match_[i] = open.back();
      match_[open.back()] = i;
      open.pop_back();
    }
    body_ = static_cast<std::size_t>(
        std::find_if(list_.begin(), list_.end(), [](const Token& token) { return token.is("{"); }) -
        list_.begin());
    return open.empty() && braces > 0;
  }

  // A name behind another name, behind * or behind a comma may be declared there.
  void read_declarations() {
    for (std::size_t i = 1; i < list_.size(); ++i) {
      if (!is_name(i) || is_name(i + 1) || is(i + 1, "*")) continue;  // the latter are words of a type
      const Token& before = list_[i - 1];
      const bool typed = before.kind == Token::Kind::name && !is_in(kStatementWords, before.text);
      const bool listed = before.is(",") && (!nested_[i] || in_for_[i]);
      if (!typed && !listed && !before.is("*")) continue;
      Declaration& declaration = declarations_[list_[i].text];
      ++declaration.count;
      read_declaration(i, declaration);
    }
  }

  void read_declaration(std::size_t name, Declaration& declaration) const {
    std::size_t begin = name;
    while (begin > 0 && (is_name(begin - 1) || is(begin - 1, "*"))) --begin;
    const bool starts = begin > 0 && (is(begin - 1, ";") || is(begin - 1, "{") || is(begin - 1, "}") ||
                                      is(begin - 1, "(") || is(begin - 1, ","));
    std::size_t stars = 0;
    bool local = false;
    bool other_space = false;
    for (std::size_t i = begin; i < name; ++i) {
      stars += is(i, "*") ? 1 : 0;
      local |= is_local_word(list_[i].text);
      declaration.integer |= is_in(kIntegers, list_[i].text);
      other_space |= list_[i].is("global") || list_[i].is("__global") || list_[i].is("typedef");
      if (is_in(kVolatile, list_[i].text)) declaration.volatiles.push_back(i);
    }
    declaration.parameter = name < body_;
    declaration.pointer = stars == 1;
    // One name in the declaration, and an array has no pointers as elements.
    std::size_t end = name + 1;
    const bool array = is(end, "[");
    while (end < list_.size() && !is(end, ";") && !is(end, ",") && !is(end, "=") && !is(end, ")")) ++end;
    const bool single = declaration.parameter ? is(end, ",") || is(end, ")") : is(end, ";");
    const bool words_local_only = stars == 0 || is_local_word_before_star(begin, name);
    declaration.local = declaration.integer && starts && single && local && !other_space &&
                        words_local_only && (array ? stars == 0 : stars <= 1);
  }

  // `local int* p` points to local memory, `int* local p` is a pointer in local memory.
  [[nodiscard]] bool is_local_word_before_star(std::size_t begin, std::size_t name) const {
    bool star = false;
    bool before = false;
    for (std::size_t i = begin; i < name; ++i) {
      star |= is(i, "*");
      if (is_local_word(list_[i].text)) {
        if (star) return false;
        before = true;
      }
    }
    return before;
  }

  void fence(std::size_t at) {
    if (is(at + 1, "(") && is(at + 2, "CLK_LOCAL_MEM_FENCE") && is(at + 3, ")")) found_.tokens[at] = true;
  }

  // The variable whose memory the first argument certainly is in: NAME, NAME + ..., &NAME[...]. 0 if there is none.
  [[nodiscard]] std::size_t leading_name(std::size_t call) const {
    const bool address = is(call + 2, "&");
    const std::size_t name = call + (address ? 3 : 2);
    if (!is_name(name)) return 0;
    std::size_t at = name + 1;
    if (!address) return is(at, ",") || is(at, ")") || (is(at, "+") && !is(at + 1, "+")) ? name : 0;
    if (!is(at, "[")) return is(at, ",") || is(at, ")") ? name : 0;
    std::size_t depth = 0;
    for (; at < list_.size(); ++at) {
      if (is(at, "[")) ++depth;
      if (is(at, "]") && --depth == 0 && !is(at + 1, "[")) break;
    }
    return is(at + 1, ",") || is(at + 1, ")") ? name : 0;
  }

  void atomic(std::size_t at) {
    if (!is(at + 1, "(")) return;
    const std::size_t name = leading_name(at);
    const auto found = name != 0 ? declarations_.find(list_[name].text) : declarations_.end();
    if (found == declarations_.end() || found->second.count != 1) return;
    if (found->second.local) {
      // The address of a pointer, or of its element if that is one, is not examined.
      const bool of_pointer = is(at + 2, "&") && !is(name + 1, "[") && found->second.pointer;
      found_.tokens[at] = !of_pointer;
      return;
    }
    if (!found->second.pointer || !found->second.parameter || !found->second.integer) return;
    if (!is_addition(list_[at].text)) return;
    if (is(at + 2, "&") && !is(name + 1, "[")) return;
    if (!is_statement(at)) return;
    found_.tokens[at] = true;
    found_.add_to_global = true;
    uses_.push_back(name);
  }

  // Whether the call is a statement of its own, whose value nothing can use.
  [[nodiscard]] bool is_statement(std::size_t at) const {
    if (nested_[at] || !is(match_[at + 1] + 1, ";") || at == 0) return false;
    const std::size_t before = at - 1;
    if (is(before, ";") || is(before, "{") || is(before, "}") || is(before, "else")) return true;
    return is(before, ")") && match_[before] > 0 && is(match_[before] - 1, "if");
  }

  // A volatile qualifier is harmless if nothing else than harmless operations uses the name.
  void release(Text name, const Declaration& declaration) {
    if (declaration.volatiles.empty() || declaration.count != 1) return;
    bool harmless = declaration.local;
    if (!harmless && declaration.parameter && declaration.pointer) {
      const auto mentions = std::count_if(list_.begin(), list_.end(), [&](const Token& token) {
        return token.kind == Token::Kind::name && token.text == name;
      });
      const auto uses =
          std::count_if(uses_.begin(), uses_.end(), [&](std::size_t at) { return list_[at].text == name; });
      harmless = mentions == uses + 1;
    }
    for (const std::size_t at : declaration.volatiles) found_.tokens[at] = harmless;
  }

  const std::vector<Token>& list_;
  HarmlessAtomics found_;
  std::vector<std::size_t> match_;  // of each parenthesis, the other one
  std::vector<bool> nested_;        // within parentheses
  std::vector<bool> in_for_;        // within those of a for
  std::size_t body_ = 0;            // the opening brace
  std::map<Text, Declaration> declarations_;
  std::vector<std::size_t> uses_;  // names of global memory that is added to
};

}  // namespace

HarmlessAtomics find_harmless_atomics(const Tokens& function) { return Reader(function.list).run(); }

}  // namespace cleave::kernels
