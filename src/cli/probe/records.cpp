#include "cli/probe/records.h"

namespace cleave::cli {
namespace {

Record decode_line(std::string_view line) {
  Record record(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      record.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char escaped = line[++i];
      record.back() += escaped == 't' ? '\t' : escaped == 'n' ? '\n' : escaped;
    } else {
      record.back() += line[i];
    }
  }
  return record;
}

}  // namespace

std::string encode(const Record& record) {
  std::string line;
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (i > 0) line += '\t';
    for (const char c : record[i]) {
      if (c == '\t') {
        line += "\\t";
      } else if (c == '\n') {
        line += "\\n";
      } else if (c == '\\') {
        line += "\\\\";
      } else {
        line += c;
      }
    }
  }
  return line + '\n';
}

std::vector<Record> decode(std::string_view text) {
  std::vector<Record> records;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    records.push_back(decode_line(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return records;
}

const Record* find(const std::vector<Record>& records, std::string_view kind, std::size_t fields) {
  for (const Record& record : records) {
    if (record.size() >= fields && record[0] == kind) return &record;
  }
  return nullptr;
}

}  // namespace cleave::cli
