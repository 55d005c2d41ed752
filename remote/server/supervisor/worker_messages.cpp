#include "remote/server/supervisor/worker_messages.h"

#include <sstream>

namespace cleave::remote::server {

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
