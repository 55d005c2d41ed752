// Files of lines that keep what one process found out for the next: in the cache folder, safe to delete. Best
// effort: where nothing can be written, the next process finds out for itself.
//
// Thread-safe, and safe beside other processes: one line is one write.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cleave::interpose {

// A name for `bytes` that fits into a line.
std::string key_of(std::span<const std::byte> bytes);

// Appends `line`, which ends with a newline, to the file. Makes the folder, and the one it is in.
void append_line(const std::string& folder, const std::string& file, const std::string& line);

}  // namespace cleave::interpose
