// The help of subcommands that take a program and its arguments, which CLI11 does not know of.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace cleave::cli {

inline constexpr const char* kProgramUsage = " [OPTIONS] [--] PROGRAM [ARGUMENTS...]";

// With this line of usage after the word "cleave".
class ProgramHelp : public CLI::Formatter {
 public:
  explicit ProgramHelp(std::string usage) : usage_(std::move(usage)) {}

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: cleave " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

inline void report_no_program(const std::string& command) {
  std::fprintf(stderr, "cleave: no program given: cleave %s%s\n", command.c_str(), kProgramUsage);
}

}  // namespace cleave::cli
