// Users' names, and the command lines of processes in the registry, as the system has them.
//
// For one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "cli/top/live/scene.h"
#include "cli/top/processes.h"

namespace cleave::cli {

class NameReader {
 public:
  // By the processes' files. A command line is only taken where /proc has a process of that number, owner and name: others
  // number their processes in a way of their own.
  std::map<std::string, ProcessNames> read(const std::vector<RunningProcess>& processes);

 private:
  const std::string& user(uid_t id);

  std::map<uid_t, std::string> users_;
};

}  // namespace cleave::cli
