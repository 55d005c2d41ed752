// What the calls of macros may pass for parameters that are operands of the ## operator.
//
// Everything between the parentheses of a call counts, with all that the macros in it expand to, and where it is a parameter
// of the macro that contains the call, what that may stand for. Where a call is not written out, anything may be passed.
//
// Source: C99 6.10.3.1 "Argument substitution".
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {

class MacroArguments {
 public:
  // The texts of the tokens must outlive this, the tokens themselves the constructor. `options` are the build options as
  // directives; anything in them may become a part of any argument.
  MacroArguments(const std::vector<const Tokens*>& texts, const Tokens& options);

  // The fragments that the parameter may stand for; null: any. The set lives as long as this. The result holds if the
  // program forms none of the names in followed() by ##.
  const std::set<std::string_view>* of(std::string_view macro, std::string_view parameter);

  // All macros that are called with parentheses.
  [[nodiscard]] std::vector<std::string_view> followed() const;

 private:
  using Text = std::string_view;
  using Parameter = std::pair<Text, Text>;  // of a macro
  using Part = std::span<const Token>;      // of a text

  struct Definition {
    Text name;
    Macro macro;
  };
  // What may be passed for a parameter, or is in the text of a macro: these fragments, and what these parameters stand for.
  struct Passed {
    bool anything = false;
    std::set<Text> fragments;
    std::set<Parameter> parameters;

    void add(const Token& token, const Definition* within);
  };

  void read_definitions(const std::vector<Token>& tokens);
  void read_calls(Part tokens, const Definition* within);
  // The first token is the macro's name.
  void read_call(Part tokens, const Definition* within);
  [[nodiscard]] std::set<Text> closure(const Parameter& first, bool& anything) const;

  std::map<Text, std::vector<std::vector<Text>>> parameters_;  // of all its definitions
  std::vector<Definition> definitions_;                        // empty after construction
  std::set<Text> anything_;                                    // macros with calls that are not followed
  std::map<Parameter, Passed> passed_;
  std::map<Text, Passed> texts_;  // of macros
  std::set<Text> options_;        // the fragments in them
  std::map<Parameter, std::pair<bool, std::set<Text>>> known_;
};

}  // namespace cleave::kernels
