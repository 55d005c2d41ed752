// Which names a program could form with the preprocessor's ## operator.
//
// A formed name is a sequence of fragments: names and numbers in the text. Two fragments can be joined only by
// a ## operator. Its operands are the written ones or, for a parameter of the macro, any fragment that its calls may pass
// (kernels/text/macro_arguments.h).
//
// Source: C99 6.10.3.3 "The ## operator".
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_arguments.h"

namespace cleave::kernels {

class TokenPasting {
 public:
  // The texts of the tokens must outlive this. `options` are the build options as the text of directives. How
  // options are passed to macros depends on the driver, so a ## in them joins any fragments.
  TokenPasting(const std::vector<const Tokens*>& texts, const Tokens& options);

  // Whether the program could form exactly `name`, or contains it.
  [[nodiscard]] bool can_form(std::string_view name) const;

  // Whether the program could form exactly `name` from at least two fragments.
  [[nodiscard]] bool can_join(std::string_view name) const;

  // Whether the program could form, or contains, a name that contains `part`.
  [[nodiscard]] bool can_form_containing(std::string_view part) const;

 private:
  using Text = std::string_view;
  // The last fragment, and the number of characters of the wanted text that are formed.
  using State = std::pair<Text, std::size_t>;
  enum class Ends { exact, open };

  // What one side of a ## may be: a written fragment, what a parameter may stand for, or anything.
  struct Operand {
    Text written;
    const std::set<Text>* passed = nullptr;  // null and nothing written: anything

    [[nodiscard]] bool may_be(Text fragment) const {
      return passed != nullptr ? passed->contains(fragment) : written.empty() || written == fragment;
    }
    friend bool operator<(const Operand& a, const Operand& b) {
      return std::pair(a.written, a.passed) < std::pair(b.written, b.passed);
    }
  };

  void read(const std::vector<Token>& tokens, bool sure);
  void read_definition(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);
  void allow(const Operand& left, const Operand& right);
  [[nodiscard]] bool allowed(Text left, Text right) const;
  [[nodiscard]] bool can_finish(Text wanted, std::vector<State> open, Ends ends) const;

  MacroArguments arguments_;
  std::set<Text> fragments_;
  std::set<std::pair<Operand, Operand>> allowed_pairs_;
};

}  // namespace cleave::kernels
