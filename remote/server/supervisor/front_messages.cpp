#include "remote/server/supervisor/front_messages.h"

#include <algorithm>
#include <sstream>

#include "base/number.h"
#include "remote/server/supervisor/sized_text.h"

namespace cleave::remote::server {
namespace {

void write(std::ostream& stream, const ClientInfo& client) {
  write_sized(stream, client.name);
  stream << client.version << ' ' << client.features << ' ' << client.heartbeat << ' ' << client.is_query
         << ' ' << client.is_relayed << ' ' << client.left_in_socket << ' ';
}

bool read(std::istream& stream, ClientInfo& client, std::size_t most) {
  return read_sized(stream, client.name, most) && stream >> client.version >> client.features >>
                                                      client.heartbeat >> client.is_query >>
                                                      client.is_relayed >> client.left_in_socket;
}

// -1: the client's class is not set.
void write(std::ostream& stream, const Grant& grant) {
  write_sized(stream, grant.tenant);
  stream << grant.memory.has_value() << ' ' << grant.memory.value_or(0) << ' ' << grant.sessions << ' '
         << grant.weight << ' ' << grant.cap.has_value() << ' ' << grant.cap.value_or(base::Cap{}).permille
         << ' ' << grant.cap.value_or(base::Cap{}).borrow << ' '
         << (grant.priority ? static_cast<int>(*grant.priority) : -1);
}

bool read(std::istream& stream, Grant& grant, std::size_t most) {
  bool has_memory = false;
  std::uint64_t memory = 0;
  bool has_cap = false;
  base::Cap cap;
  int priority = -1;
  if (!read_sized(stream, grant.tenant, most) ||
      !(stream >> has_memory >> memory >> grant.sessions >> grant.weight >> has_cap >> cap.permille >>
        cap.borrow >> priority))
    return false;
  if (priority > static_cast<int>(base::TurnPriority::idle)) return false;
  grant.cap = has_cap ? std::optional(cap) : std::nullopt;
  grant.memory = has_memory ? std::optional(memory) : std::nullopt;
  grant.priority = priority < 0 ? std::nullopt : std::optional(static_cast<base::TurnPriority>(priority));
  return true;
}

template <typename Value>
std::string encode_one(const Value& value) {
  std::ostringstream text;
  write(text, value);
  return text.str();
}

template <typename Value>
bool decode_one(const std::string& text, Value& value) {
  std::istringstream stream(text);
  return read(stream, value, text.size());
}

}  // namespace

std::string encode(const ClientInfo& client) { return encode_one(client); }
std::string encode(const Grant& grant) { return encode_one(grant); }
bool decode(const std::string& text, ClientInfo& client) { return decode_one(text, client); }
bool decode(const std::string& text, Grant& grant) { return decode_one(text, grant); }

std::string quoted(std::string name) {
  std::replace(name.begin(), name.end(), '"', '\'');
  return '"' + name + '"';
}

std::string encode(const Introduction& introduction) {
  std::ostringstream text;
  text << introduction.id << ' ';
  write_sized(text, introduction.peer);
  write_sized(text, introduction.peer_key);
  write(text, introduction.client);
  write(text, introduction.grant);
  return text.str();
}

bool decode(const std::string& text, Introduction& introduction) {
  std::istringstream stream(text);
  return stream >> introduction.id && read_sized(stream, introduction.peer, text.size()) &&
         read_sized(stream, introduction.peer_key, text.size()) &&
         read(stream, introduction.client, text.size()) && read(stream, introduction.grant, text.size());
}

std::string encode(const Verdict& verdict) {
  std::ostringstream text;
  text << verdict.id << ' ' << static_cast<int>(verdict.answer) << ' ';
  write_sized(text, verdict.why);
  return text.str();
}

bool decode(const std::string& text, Verdict& verdict) {
  std::istringstream stream(text);
  int answer = 0;
  if (!(stream >> verdict.id >> answer) || !read_sized(stream, verdict.why, text.size())) return false;
  verdict.answer = static_cast<Verdict::Answer>(answer);
  return answer >= 0 && answer <= static_cast<int>(Verdict::Answer::waits);
}

std::string encode(const CredentialsSent& sent) {
  return std::to_string(static_cast<int>(sent.tokens)) + " " + std::to_string(static_cast<int>(sent.clients));
}

bool decode(const std::string& text, CredentialsSent& sent) {
  std::istringstream stream(text);
  return static_cast<bool>(stream >> sent.tokens >> sent.clients);
}

std::string encode(const WorkerPacket& packet) {
  return static_cast<char>(FrontMessage::worker) + std::to_string(packet.worker) + " " + packet.body;
}

bool decode(const std::string& text, WorkerPacket& packet) {
  if (!text.starts_with(static_cast<char>(FrontMessage::worker))) return false;
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return false;
  const auto number = base::parse_unsigned(text.substr(1, space - 1), 0, UINT64_MAX);
  packet = {number.value_or(0), text.substr(space + 1)};
  return number.has_value();
}

std::string encode(const ListenerKind& kind) {
  return std::to_string(static_cast<int>(kind.tls)) + " " + std::to_string(static_cast<int>(kind.is_unix));
}

bool decode(const std::string& text, ListenerKind& kind) {
  std::istringstream stream(text);
  return static_cast<bool>(stream >> kind.tls >> kind.is_unix);
}

}  // namespace cleave::remote::server
