// The many ways from a text to a program.
#pragma once

#include "facts.h"
#include "platform.h"

namespace fuzz {

enum class Way { one_string, many_strings, header_folder, embedded_header, linked, binary };

// A text, and the program that was built from it in each context, once it is needed there.
class Built {
 public:
  Built(const Platform& platform, ProgramText text, Way way, std::string folder);

  // Null if it does not build. What the program can see of it is added.
  cl_program program(unsigned context, Facts& facts);
  const ProgramText& text() const { return text_; }

 private:
  Program construct(unsigned context, Facts& facts) const;
  Program linked(unsigned context, const std::string& options, bool header, Facts& facts) const;
  Program rebuilt(unsigned context, Program program, const std::string& options, Facts& facts) const;

  const Platform& platform_;
  ProgramText text_;
  Way way_;
  std::string folder_;
  Program programs_[2];
};

Way choose_way(Random& random, const Dialect& dialect);

// Builds a text with a mistake in it and adds what is said of that.
void build_mistaken(const Platform& platform, const ProgramText& text, Random random, Facts& facts);

}  // namespace fuzz
