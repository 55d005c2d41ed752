// The paths of the files that a program includes (the message Included), as client and server know them.
#pragma once

#include <string_view>

namespace cleave::remote {

// Between the client's current folder and a path that was relative there. To a file system it is nothing, so
// that such a path and an absolute one may lead to the same file.
inline constexpr std::string_view kCurrentFolderMark = "/././";

// What the current folder's path consists of; everything else stands there as %, and two digits.
constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
         c == '_' || c == '-' || c == '+' || c == '%';
}

}  // namespace cleave::remote
