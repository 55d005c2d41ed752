#include "kernels/text/macro_expander.h"

#include <gtest/gtest.h>

namespace cleave::kernels {
namespace {

// Where the arguments take exactly the steps that are left, none are left for what surrounds them: this macro leads to itself.
TEST(MacroExpander, ArgumentsThatTakeTheLastStepsEndTheExpansion) {
  const Tokens three_times = tokens_of("M(x) x x x");
  const Tokens itself = tokens_of("A A");
  const Macro repeat = read_definition(three_times.list);
  const Macro endless = read_definition(itself.list);
  const auto find = [&](std::string_view name) {
    return MacroExpander::Meaning{name == "M" ? &repeat : name == "A" ? &endless : nullptr};
  };
  const Tokens text = tokens_of("M(a a) A");
  for (const std::size_t steps : {6U, 7U, 8U, 64U}) {
    EXPECT_FALSE(MacroExpander(find, steps, MacroExpander::Arguments::expanded).expand(text.list)) << steps;
    EXPECT_FALSE(MacroExpander(find, steps, MacroExpander::Arguments::as_written).expand(text.list)) << steps;
  }
}

}  // namespace
}  // namespace cleave::kernels
