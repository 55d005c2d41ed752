#include "remote/server/supervisor/worker_messages.h"

#include <climits>
#include <sstream>
#include <string_view>

#include "base/number.h"

namespace cleave::remote::server {

// Their number, and for each its name, the size of its text, and the text, which may contain anything.
std::string encode(const std::vector<daemon::GivenValue>& options) {
  std::ostringstream text;
  text << options.size();
  for (const auto& [option, value] : options) text << ' ' << option << ' ' << value.size() << ' ' << value;
  return text.str();
}

bool decode(const std::string& text, std::vector<daemon::GivenValue>& options) {
  std::istringstream stream(text);
  std::size_t count = 0;
  stream >> count;
  options.clear();
  while (stream && options.size() < count) {
    daemon::GivenValue& given = options.emplace_back();
    std::size_t size = 0;
    stream >> given.option >> size;
    stream.get();
    if (!stream || size > text.size()) return false;
    given.text.resize(size);
    stream.read(given.text.data(), static_cast<std::streamsize>(size));
  }
  return static_cast<bool>(stream);
}

std::string encode(const Assignment& assignment) {
  return std::to_string(assignment.clients) + " " + encode(assignment.client);
}

bool decode(const std::string& text, Assignment& assignment) {
  const std::size_t space = text.find(' ');
  const auto clients = base::parse_unsigned(std::string_view(text).substr(0, space), 0, UINT_MAX);
  if (space == std::string::npos || !clients) return false;
  assignment.clients = static_cast<unsigned>(*clients);
  return decode(text.substr(space + 1), assignment.client);
}

}  // namespace cleave::remote::server
