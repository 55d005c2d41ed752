// The text of a function with the macros of its program expanded, for readers that follow expressions.
//
// Left as they are: macros with several definitions, those that are undefined anywhere, that take variable arguments, use
// # or ##, or lead to themselves, and those from build options, which drivers split in different ways.
//
// Source: C99 6.10.3 "Macro replacement".
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/text/build_options.h"
#include "kernels/text/integer_types.h"
#include "kernels/text/lexer.h"
#include "kernels/text/macro_expander.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {

class MacroExpansion {
 public:
  // `definitions` holds the #define and #undef directives of the program. The texts of both must outlive this.
  MacroExpansion(const Tokens& definitions, const Options& options);
  MacroExpansion(const MacroExpansion&) = delete;
  MacroExpansion& operator=(const MacroExpansion&) = delete;

  // Reads the typedefs of one of the program's texts, which must outlive this.
  void read_types(const Tokens& text) { integer_types_.add(text); }
  [[nodiscard]] const IntegerTypes& integer_types() const { return integer_types_; }

  // Without directives. Empty if all texts together become so long that a reader should not follow them.
  [[nodiscard]] std::optional<std::vector<Token>> expand(const std::vector<Token>& text);

  // Whether the name is a macro that is left as it is and may stand for more than a number or a name.
  [[nodiscard]] bool hides_code(std::string_view name) const {
    return is(name, &Meaning::left) && is(name, &Meaning::code);
  }
  // The same for a loop.
  [[nodiscard]] bool hides_loop(std::string_view name) const {
    return is(name, &Meaning::left) && is(name, &Meaning::loop);
  }
  // The same for anything that is not computed from numbers.
  [[nodiscard]] bool hides_names(std::string_view name) const;
  // Whether it certainly stands for a number from 1 to 2^24, by the options.
  [[nodiscard]] bool is_positive(std::string_view name) const { return is(name, &Meaning::positive); }

  // Whether the name is a macro, left or not.
  [[nodiscard]] bool is_macro(std::string_view name) const { return is(name, &Meaning::defined); }
  // Whether it is one that may stand for more than one number.
  [[nodiscard]] bool may_be_no_number(std::string_view name) const {
    return is(name, &Meaning::beyond_number);
  }
  // The same for more than an expression without variables, or a word that declares nothing.
  [[nodiscard]] bool may_be_no_value(std::string_view name) const { return is(name, &Meaning::beyond_value); }
  // The same for more than names, with all that these stand for.
  [[nodiscard]] bool may_be_no_names(std::string_view name) const;

 private:
  struct Meaning {
    Macro macro;
    bool defined = false;  // not only undefined
    bool left = false;
    bool code = false;
    bool loop = false;
    bool names = false;
    bool positive = false;
    // In any of its definitions: more than one number, a value, or names.
    bool beyond_number = false;
    bool beyond_value = false;
    bool beyond_names = false;
    std::vector<std::string_view> used = {};
  };

  void add(const std::vector<Token>& list, std::size_t name, std::size_t end);
  void add_option(const std::string& name, const Options& options);
  void leave_recursive();
  [[nodiscard]] const Meaning* find(std::string_view name) const;
  [[nodiscard]] bool is(std::string_view name, bool Meaning::*what) const {
    const Meaning* const found = find(name);
    return found != nullptr && found->*what;
  }

  IntegerTypes integer_types_;
  std::unordered_map<std::string_view, Meaning> meanings_;
  MacroExpander expander_;
};

}  // namespace cleave::kernels
