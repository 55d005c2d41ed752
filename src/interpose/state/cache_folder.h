// Text files in the cache folder that keep results between processes. They may be deleted at any time. Best effort: if
// nothing can be written, each process starts without them.
//
// Thread-safe, and safe with other processes: a line is written in one call, and a whole file is replaced under a lock.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cleave::interpose {

// A hash of `bytes` as text.
std::string key_of(std::span<const std::byte> bytes);

// Appends `line`, which ends with a newline. Creates the folder and its parent.
void append_line(const std::string& folder, const std::string& file, const std::string& line);

// The file's content; empty if there is none, if it is longer than `most` bytes, or if it is not a regular file.
std::string read_file(const std::string& folder, const std::string& file, std::size_t most);

// Replaces the file atomically by change(old text). Concurrent processes take turns, and each sees the changes of the
// one before; a process that would wait for more than some milliseconds leaves the file unchanged.
void rewrite_file(const std::string& folder, const std::string& file, std::size_t most,
                  const std::function<std::string(const std::string&)>& change);

}  // namespace cleave::interpose
