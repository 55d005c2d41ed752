// The ways to build a program from a text.
#pragma once

#include "observations.h"
#include "platform.h"

namespace fuzz {

enum class BuildMethod { one_string, many_strings, header_folder, embedded_header, linked, binary };

// A text, and the program built from it in each context on first use.
class BuiltProgram {
 public:
  BuiltProgram(const Platform& platform, ProgramText text, BuildMethod way, std::string folder);

  // Null if the build fails. Adds its observations.
  cl_program program(unsigned context, Observations& observations);
  const ProgramText& text() const { return text_; }

 private:
  Program construct(unsigned context, Observations& observations) const;
  Program linked(unsigned context, const std::string& options, bool header, Observations& observations) const;
  Program rebuilt(unsigned context, Program program, const std::string& options,
                  Observations& observations) const;

  const Platform& platform_;
  ProgramText text_;
  BuildMethod method_;
  std::string folder_;
  Program programs_[2];
};

BuildMethod choose_build_method(Random& random, const Capabilities& capabilities);

// Builds a text with a mistake in it and adds the error and the log.
void build_invalid(const Platform& platform, const ProgramText& text, Random random,
                   Observations& observations);

}  // namespace fuzz
