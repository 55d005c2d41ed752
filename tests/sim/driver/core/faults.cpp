#include "tests/sim/driver/core/faults.h"

#include <algorithm>

namespace cleave::sim {

void Faults::add_call(Function function, unsigned nth, cl_int code) {
  calls_.push_back({function, std::max(nth, 1u), code});
}

void Faults::add_execution(std::string_view kernel, unsigned nth, cl_int status) {
  executions_.push_back({std::string(kernel), std::max(nth, 1u), status});
}

// All faults of one subject count the same calls, so each is counted down even where another one comes due.
template <class Subject, class Name>
std::optional<cl_int> Faults::take_due(std::vector<Fault<Subject>>& faults, const Name& name) {
  std::optional<cl_int> code;
  for (auto it = faults.begin(); it != faults.end();) {
    if (it->subject == name && --it->countdown == 0) {
      if (!code) code = it->code;
      it = faults.erase(it);
    } else {
      ++it;
    }
  }
  return code;
}

std::optional<cl_int> Faults::call(Function function) { return take_due(calls_, function); }
std::optional<cl_int> Faults::execution(std::string_view kernel) { return take_due(executions_, kernel); }

}  // namespace cleave::sim
