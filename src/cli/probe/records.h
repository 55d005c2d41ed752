// The output of `cleave probe`: lines of tab-separated fields, the first of which is the kind. Each line is one write, so that
// what was written before a crash is not lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

using Record = std::vector<std::string>;

// One line with its newline. Tabs, newlines and backslashes in fields are escaped.
std::string encode(const Record& record);

// The complete lines of `text`; an incomplete last line is left out.
std::vector<Record> decode(std::string_view text);

// The first record of this kind with at least `fields` fields, including the kind, or null.
const Record* find(const std::vector<Record>& records, std::string_view kind, std::size_t fields = 1);

}  // namespace cleave::cli
