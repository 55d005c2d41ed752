// The lines in which `cleave probe` tells `cleave doctor` what it saw: fields between tabs, the first names
// the kind. Each line is written by itself, so that what was told before a crash is not lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

using Record = std::vector<std::string>;

// One line with its newline. Tabs, newlines and backslashes inside fields are escaped.
std::string encode(const Record& record);

// The complete lines of `text`; a last line without its newline was interrupted and is left out.
std::vector<Record> decode(std::string_view text);

// The first record of that kind with at least `fields` fields (the kind counts), or nullptr.
const Record* find(const std::vector<Record>& records, std::string_view kind, std::size_t fields = 1);

}  // namespace cleave::cli
