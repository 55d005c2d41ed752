// Random expressions and statements of OpenCL C, for program_text.cpp.
#pragma once

#include <string>
#include <vector>

#include "program_text.h"

namespace fuzz {

// The expressions that the statements of one program may use.
class Vocabulary {
 public:
  // With `sees_launch`, the built-in functions whose value depends on the launch's offset and size are included; with
  // `depends_on_grouping`, those whose value depends on the grouping of its work-items.
  Vocabulary(Random& random, const Capabilities& capabilities, bool sees_launch, bool depends_on_grouping);

  // A macro or a helper function, which all later statements may use.
  Piece macro(unsigned number);
  Piece helper(unsigned number);

  // An expression of type uint.
  std::string value(unsigned depth);
  // One or more statements that change `acc`, `totals` or `cells`. `number` keeps their names apart. Barriers
  // are only in statements for the outermost scope of a kernel.
  std::string statement(unsigned number);
  // The index of a work-item's result, different for each, and below the launch's number of work-items.
  std::string slot();
  // The work-item's index in its group, and the group's size.
  std::string local_id();
  std::string local_size();

 private:
  std::string with(std::string pattern, const std::string& argument) const;
  std::string dimension();
  std::string call();
  std::string builtin();
  std::string exchange(unsigned number);
  std::string histogram(unsigned number);
  std::string last_group(unsigned number);
  std::string stride(unsigned number);
  std::string atomic();
  std::string branch();
  std::string loop(unsigned number);
  std::string types(unsigned number);
  std::string oddity(unsigned number);

  Random& random_;
  const Capabilities& capabilities_;
  bool sees_;
  bool groups_;
  std::vector<std::string> dimensioned_;  // names of built-in functions that take a dimension
  std::vector<std::string> plain_;        // those without
  std::vector<std::string> readers_;      // other ways to read one: % stands for the dimension
  std::vector<std::string> mixers_;       // functions of two values
};

}  // namespace fuzz
