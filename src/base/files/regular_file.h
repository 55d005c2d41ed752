// Reads files that settings name. Whatever a path leads to, it is opened without waiting, and nothing but a regular file of a
// bounded size is read: a pipe would block the program until it has a writer, and a device might never end. /dev/null
// counts as an empty file.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cleave::base {

struct FileText {
  std::optional<std::string> text;  // empty if it could not be read
  bool exists = false;
  std::string problem;  // if not: what the file is or why, such as "is a pipe, not a regular file"
};

// Reads the whole file, which has at most `most` bytes.
FileText read_regular_file(const std::string& path, std::size_t most);

// What is wrong with a file that something else is going to open and read; empty if it is a regular file of at most `most`
// bytes, or cannot be examined: then opening it gives the better message. Does not open it.
std::string irregularity_of(const std::string& path, std::size_t most);

// Distinguishes one state of a file from another, without opening it.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t size = -1;  // -1: there is no such file
  std::int64_t time = 0;   // of its last change, ns
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const std::string& path) noexcept;

}  // namespace cleave::base
