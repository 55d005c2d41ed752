// What a face tells the interposer about itself.
#pragma once

#include <string>

namespace cleave::interpose {

struct Face {
  std::string name;       // "drop-in", "layer" or "vendor library"
  std::string next_name;  // what the table below leads to, for users
};

}  // namespace cleave::interpose
