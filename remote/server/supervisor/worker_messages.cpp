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

std::string encode(const Assignment& assignment) {
  std::ostringstream text;
  text << assignment.tls << ' ' << assignment.is_unix << ' ' << assignment.peer;
  return text.str();
}

bool decode(const std::string& text, Assignment& assignment) {
  std::istringstream stream(text);
  stream >> assignment.tls >> assignment.is_unix;
  if (!stream) return false;
  std::getline(stream >> std::ws, assignment.peer);
  return true;
}

std::string encode(const Admission& admission) {
  return std::to_string(static_cast<int>(admission.admitted)) + " " + std::to_string(admission.clients);
}

bool decode(const std::string& text, Admission& admission) {
  std::istringstream stream(text);
  return static_cast<bool>(stream >> admission.admitted >> admission.clients);
}

}  // namespace cleave::remote::server
