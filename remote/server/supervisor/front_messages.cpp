#include "remote/server/supervisor/front_messages.h"

#include <sstream>

namespace cleave::remote::server {
namespace {

// Texts may contain spaces.
void write_text(std::ostream& stream, const std::string& text) {
  stream << text.size() << ' ' << text << ' ';
}

bool read_text(std::istream& stream, std::string& text, std::size_t most) {
  std::size_t size = 0;
  stream >> size;
  stream.get();
  if (!stream || size > most) return false;
  text.resize(size);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  return static_cast<bool>(stream);
}

void write(std::ostream& stream, const ClientInfo& client) {
  write_text(stream, client.name);
  stream << client.version << ' ' << client.features << ' ' << client.heartbeat << ' ' << client.is_query
         << ' ' << client.is_relayed;
}

bool read(std::istream& stream, ClientInfo& client, std::size_t most) {
  return read_text(stream, client.name, most) && stream >> client.version >> client.features >>
                                                     client.heartbeat >> client.is_query >> client.is_relayed;
}

}  // namespace

std::string encode(const ClientInfo& client) {
  std::ostringstream text;
  write(text, client);
  return text.str();
}

bool decode(const std::string& text, ClientInfo& client) {
  std::istringstream stream(text);
  return read(stream, client, text.size());
}

std::string encode(const Introduction& introduction) {
  std::ostringstream text;
  text << introduction.id << ' ';
  write_text(text, introduction.peer);
  write_text(text, introduction.peer_key);
  write(text, introduction.client);
  return text.str();
}

bool decode(const std::string& text, Introduction& introduction) {
  std::istringstream stream(text);
  return stream >> introduction.id && read_text(stream, introduction.peer, text.size()) &&
         read_text(stream, introduction.peer_key, text.size()) &&
         read(stream, introduction.client, text.size());
}

std::string encode(const Verdict& verdict) {
  return std::to_string(verdict.id) + " " + std::to_string(static_cast<int>(verdict.admitted));
}

bool decode(const std::string& text, Verdict& verdict) {
  std::istringstream stream(text);
  return static_cast<bool>(stream >> verdict.id >> verdict.admitted);
}

std::string encode(const ListenerKind& kind) {
  return std::to_string(static_cast<int>(kind.tls)) + " " + std::to_string(static_cast<int>(kind.is_unix));
}

bool decode(const std::string& text, ListenerKind& kind) {
  std::istringstream stream(text);
  return static_cast<bool>(stream >> kind.tls >> kind.is_unix);
}

}  // namespace cleave::remote::server
