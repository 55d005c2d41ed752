#include "remote/server/control.h"

#include <sstream>

namespace cleave::remote::server {

std::string encode(const Assignment& assignment) {
  std::ostringstream text;
  text << assignment.tls << ' ' << assignment.is_unix << ' ' << assignment.full << ' ' << assignment.clients << ' '
       << assignment.peer;
  return text.str();
}

bool decode(const std::string& text, Assignment& assignment) {
  std::istringstream stream(text);
  stream >> assignment.tls >> assignment.is_unix >> assignment.full >> assignment.clients;
  if (!stream) return false;
  std::getline(stream >> std::ws, assignment.peer);
  return true;
}

}  // namespace cleave::remote::server
