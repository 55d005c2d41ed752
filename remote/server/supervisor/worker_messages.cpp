#include "remote/server/supervisor/worker_messages.h"

#include <sstream>

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

// The number, whether it is traced, the size of the grant's text, and the texts of both.
std::string encode(const Assignment& assignment) {
  const std::string grant = encode(assignment.grant);
  return std::to_string(assignment.clients) + (assignment.is_traced ? " 1 " : " 0 ") +
         std::to_string(grant.size()) + " " + grant + encode(assignment.client);
}

bool decode(const std::string& text, Assignment& assignment) {
  std::istringstream stream(text);
  std::size_t size = 0;
  if (!(stream >> assignment.clients >> assignment.is_traced >> size) || size > text.size()) return false;
  stream.get();
  std::string grant(size, '\0');
  stream.read(grant.data(), static_cast<std::streamsize>(size));
  const auto rest = static_cast<std::size_t>(stream.tellg());
  return stream && decode(grant, assignment.grant) && decode(text.substr(rest), assignment.client);
}

}  // namespace cleave::remote::server
