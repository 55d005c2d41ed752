// Runs a program with changes to its environment, and gives what it prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pipelined {

struct Ended {
  int status = -1;  // 0: well
  std::string output;
};

// `limit`: seconds, after which the program is ended.
Ended run(const std::vector<std::string>& command,
          const std::vector<std::pair<std::string, std::string>>& environment, unsigned limit);

}  // namespace pipelined
