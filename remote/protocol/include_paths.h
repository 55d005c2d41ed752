// The paths of the files that a program includes (messages.fbs: Included), as client and server write them.
#pragma once

#include <string_view>

namespace cleave::remote {

// Separates the client's current folder from a path that was relative to it. To a file system it means nothing, so such a path
// and an absolute one may lead to the same file.
inline constexpr std::string_view kCurrentFolderMark = "/././";

// The characters of the current folder's path that are written as they are; others become % and two digits.
constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
         c == '_' || c == '-' || c == '+' || c == '%';
}

}  // namespace cleave::remote
