#include "observe/process_id_path.h"

#include <unistd.h>

namespace cleave::observe {

std::string with_process_id(std::string path) {
  for (auto at = path.find("%p"); at != std::string::npos; at = path.find("%p", at)) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return path;
}

}  // namespace cleave::observe
