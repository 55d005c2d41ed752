#include "interpose/programs/prelude_text.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/prelude/prelude.h"

namespace cleave::interpose {
namespace {

constexpr const char* kSource = "kernel void first(global int* p) {\n  p[0] = 1;\n}\n";

std::string line_of_prelude(std::size_t number) {
  const std::string text(kernels::prelude());
  std::size_t begin = 0;
  while (--number > 0) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(PreludeInjection, BuildLogQuotesTheProgramsLines) {
  const std::string log = "<source>:2:3: warning: loop not unrolled\n" + line_of_prelude(2) + "\n  ^\n";
  EXPECT_EQ(restore_quoted_lines(log, kSource),
            "<source>:2:3: warning: loop not unrolled\n  p[0] = 1;\n  ^\n");
}

TEST(PreludeInjection, OtherLogLinesAreUnchanged) {
  for (const std::string& log :
       {std::string(), std::string("\n"), std::string("<source>:2:3: warning: loop\n  p[0] = 1;\n  ^"),
        "<source>: " + line_of_prelude(2) + "\n", line_of_prelude(2) + "\n",
        "<source>:3:1: note: another place\n" + line_of_prelude(2) + "\n",
        std::string("<source>:99999999999999999999:1: x\n"), std::string("a:b:c:d\n\n")}) {
    EXPECT_EQ(restore_quoted_lines(log, kSource), log);
  }
}

TEST(PreludeInjection, LineBeyondTheProgramIsQuotedEmpty) {
  EXPECT_EQ(restore_quoted_lines("f.cl:9:1: x\n" + line_of_prelude(9) + "\n", kSource), "f.cl:9:1: x\n\n");
}

TEST(PreludeInjection, IsRemovedAgain) {
  EXPECT_EQ(remove_prelude(std::string(kernels::prelude()) + kSource), kSource);
  EXPECT_EQ(remove_prelude_switch(options_with_prelude("-DN=4")), "-DN=4");
  EXPECT_EQ(remove_prelude_switch(options_with_prelude(nullptr)), "");
  EXPECT_EQ(remove_prelude_switch(options_with_prelude(nullptr, true)), "");
  EXPECT_EQ(remove_prelude_switch(options_with_prelude("", true)), "");
  EXPECT_EQ(remove_prelude_switch(options_with_prelude("-cl-kernel-arg-info -DN=4", true)),
            "-cl-kernel-arg-info -DN=4");
  // A definition keeps its line of the command line, which logs name, where no option could take the switch for its operand.
  for (const char* last : {"-DN=4", "-D N=4", "-DN=4 -I folder", "-DN -cl-std=CL1.2", "-w", "-DN=4 \t"}) {
    EXPECT_EQ(options_with_prelude(last), std::string(last) + " " + std::string(kernels::kPreludeOption));
    EXPECT_EQ(remove_prelude_switch(options_with_prelude(last)), last);
  }
  for (const char* first : {"-DN=4 -I", "-D", "-x", "-DN=\"4\"", "-DN='4", "-DN=4\\", "-include"}) {
    EXPECT_EQ(options_with_prelude(first), std::string(kernels::kPreludeOption) + " " + first);
    EXPECT_EQ(remove_prelude_switch(options_with_prelude(first)), first);
  }
  EXPECT_EQ(options_with_prelude("  "), std::string(kernels::kPreludeOption) + "   ");
  EXPECT_EQ(remove_prelude_switch(options_with_prelude("  ")), "  ");
  EXPECT_EQ(options_with_prelude(nullptr, true), options_with_prelude(nullptr) + " -cl-kernel-arg-info");
  for (const char* own :
       {"-cl-kernel-arg-info", " -cl-kernel-arg-info", "-DA=1 -cl-kernel-arg-info",
        "-DA=\"1\" -cl-kernel-arg-info", "-cl-kernel-arg-info -cl-kernel-arg-info", "-cl-kernel-arg-info "}) {
    for (const bool keep : {false, true})
      EXPECT_EQ(remove_prelude_switch(options_with_prelude(own, keep)), own);
  }
  EXPECT_EQ(options_with_prelude("", true), options_with_prelude(""));
}

}  // namespace
}  // namespace cleave::interpose
