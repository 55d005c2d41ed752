// Faults on demand: which call of a function, or which launch of a kernel, is to fail, and how.
//
// Threads: under the lock of the DriverState.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/driver/core/functions.h"

namespace cleave::sim {

class Faults {
 public:
  void add_call(Function function, unsigned nth, cl_int code);
  void add_execution(std::string_view kernel, unsigned nth, cl_int status);

  // Counts one call or launch, and returns the error it should have, if any.
  std::optional<cl_int> call(Function function);
  std::optional<cl_int> execution(std::string_view kernel);

  std::size_t left() const { return calls_.size() + executions_.size(); }

 private:
  template <class Subject>
  struct Fault {
    Subject subject;
    unsigned countdown;
    cl_int code;
  };
  template <class Subject, class Name>
  static std::optional<cl_int> take_due(std::vector<Fault<Subject>>& faults, const Name& name);

  std::vector<Fault<Function>> calls_;
  std::vector<Fault<std::string>> executions_;
};

}  // namespace cleave::sim
