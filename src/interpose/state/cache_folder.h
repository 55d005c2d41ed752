// Files of lines that keep what one process found out for the next: in the cache folder, safe to delete. Best
// effort: where nothing can be written, the next process finds out for itself.
//
// Thread-safe, and safe beside other processes: one line is one write, and a whole file is replaced under a
// lock.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cleave::interpose {

// A name for `bytes` that fits into a line.
std::string key_of(std::span<const std::byte> bytes);

// Appends `line`, which ends with a newline, to the file. Makes the folder, and the one it is in.
void append_line(const std::string& folder, const std::string& file, const std::string& line);

// What is in the file; empty if there is none, if it has more than `most` bytes, or if it is not a plain
// file.
std::string read_file(const std::string& folder, const std::string& file, std::size_t most);

// Puts change(old text) in place of the file, as a whole: readers see the old text or the new one. Of several
// processes that do so at a time each finds what the one before has left; one that would have to wait for
// more than some milliseconds leaves the file as it is.
void rewrite_file(const std::string& folder, const std::string& file, std::size_t most,
                  const std::function<std::string(const std::string&)>& change);

}  // namespace cleave::interpose
