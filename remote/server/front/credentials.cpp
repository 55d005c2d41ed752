#include "remote/server/front/credentials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "base/number.h"
#include "base/toml_file.h"
#include "remote/protocol/limits.h"
#include "remote/server/front/greeting.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20U;
constexpr std::size_t kMaxTenant = 64;
constexpr std::uint64_t kMaxWeight = 10'000;
constexpr std::uint64_t kMaxSessions = 10'000;

base::FileDescriptor open_secret(const char* option, const std::string& path) {
  if (path.empty()) return {};
  const std::string where = std::string(option) + ": ";
  // A pipe would hold the server up until somebody writes to it.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    throw OptionError(where + path + " cannot be read (" + std::strerror(errno) + ")");
  if (!S_ISREG(status.st_mode)) throw OptionError(where + path + " is not a regular file");
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    throw OptionError(where + "every user can read " + path + "; chmod it to 600");
  return file;
}

std::string read_secret(const char* option, const std::string& path, const base::FileDescriptor& file) {
  std::string text(kMaxFileSize + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 1;
  while (size < text.size() && got > 0) {
    got = ::pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  const std::string where = std::string(option) + ": " + path;
  if (got < 0) throw OptionError(where + " cannot be read (" + std::strerror(errno) + ")");
  if (size > kMaxFileSize) throw OptionError(where + " is larger than 1 MiB");
  text.resize(size);
  return text;
}

std::vector<std::string> tokens_in(const std::string& path, const std::string& text) {
  std::vector<std::string> tokens;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.size() > kMaxToken)
      throw OptionError("--token-file: a line of " + path + " is too long for a token");
    tokens.push_back(line);
  }
  if (tokens.empty()) throw OptionError("--token-file: there is no token in " + path);
  return tokens;
}

// Takes the same time for any text of this length.
bool equals_in_constant_time(const std::string& token, std::string_view given) {
  unsigned difference = token.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(token.size(), given.size()); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(given[i]));
  }
  return difference == 0;
}

bool set_number(unsigned& target, const std::string& text, std::uint64_t most) {
  const auto number = base::parse_unsigned(text, 1, most);
  if (number) target = static_cast<unsigned>(*number);
  return number.has_value();
}

bool set_priority(std::optional<base::TurnPriority>& target, const std::string& text) {
  using base::TurnPriority;
  constexpr std::array<std::pair<const char*, TurnPriority>, 3> kNames{
      {{"high", TurnPriority::high},
       {"normal", TurnPriority::normal},
       {"background", TurnPriority::background}}};
  const auto* const found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& each) { return text == each.first; });
  if (found == kNames.end()) return false;
  target = found->second;
  return true;
}

// What a value must be; empty: it is, and has been set, in the grant or in the target of the other two.
std::string set_value(const std::string& key, const std::string& text, Grant& grant, std::string& token,
                      std::string& certificate) {
  if (key == "token" || key == "certificate") {
    if (text.empty() || text.size() > kMaxToken)
      return "a text of 1 to " + std::to_string(kMaxToken) + " bytes";
    (key == "token" ? token : certificate) = text;
    return {};
  }
  if (key == "memory") {
    const auto size = read_size(text);
    if (!size) return "bytes, such as \"4G\"";
    grant.memory = *size;
    return {};
  }
  if (key == "sessions")
    return set_number(grant.sessions, text, kMaxSessions) ? "" : "a number from 1 to 10000";
  if (key == "weight") return set_number(grant.weight, text, kMaxWeight) ? "" : "a number from 1 to 10000";
  if (key == "priority") return set_priority(grant.priority, text) ? "" : "high, normal or background";
  return "token, certificate, memory, sessions, weight or priority";
}

}  // namespace

CredentialFiles CredentialFiles::open(const Options& options) {
  return {open_secret("--token-file", options.token_file),
          open_secret("--clients-file", options.clients_file)};
}

Credentials::Credentials(const Options& options, const CredentialFiles& files)
    : admits_strangers_(options.token_file.empty() && options.clients_file.empty()) {
  if (!options.token_file.empty())
    tokens_ = tokens_in(options.token_file, read_secret("--token-file", options.token_file, files.tokens));
  if (options.clients_file.empty()) return;
  read_clients(options.clients_file, read_secret("--clients-file", options.clients_file, files.clients));
  check_clients(options);
}

void Credentials::read_clients(const std::string& path, const std::string& text) {
  const base::TomlFile file = base::parse_toml(text, path);
  if (!file.error.empty()) throw OptionError("--clients-file: " + path + ": " + file.error);
  for (const base::TomlValue& value : file.values) {
    const std::string where = "--clients-file: " + path + ":" + std::to_string(value.line) + ": ";
    if (value.path.size() != 2)
      throw OptionError(where + "expected a table for each client, such as [alice], with its token in it");
    const std::string& name = value.path[0];
    if (name.empty() || name.size() > kMaxTenant || printable(name) != name)
      throw OptionError(where + "a client's name has 1 to 64 printable characters");
    auto client = std::find_if(clients_.begin(), clients_.end(),
                               [&](const Client& each) { return each.grant.tenant == name; });
    if (client == clients_.end()) {
      client = clients_.emplace(clients_.end());
      client->grant.tenant = name;
    }
    const std::string expected =
        set_value(value.path[1], value.text, client->grant, client->token, client->certificate);
    // A secret is not repeated in the log.
    if (!expected.empty())
      throw OptionError(where + value.path[1] + " is not understood; expected " + expected);
  }
}

void Credentials::check_clients(const Options& options) const {
  const std::string where = "--clients-file: " + options.clients_file + ": ";
  if (clients_.empty()) throw OptionError(where + "there is no client in it");
  for (const Client& each : clients_) {
    if (each.token.empty() && each.certificate.empty())
      throw OptionError(where + each.grant.tenant + " has neither a token nor a certificate");
    if (!each.certificate.empty() && options.tls.authority.empty())
      throw OptionError(where + each.grant.tenant + " has a certificate; give --client-ca, which proves it");
    for (const Client& other : clients_) {
      if (&other != &each && other.token == each.token && other.certificate == each.certificate)
        throw OptionError(where + each.grant.tenant + " and " + other.grant.tenant + " cannot be told apart");
    }
  }
}

std::optional<Grant> Credentials::find(std::string_view token, const std::string& certificate) const {
  Grant stranger{.tenant = printable(certificate)};
  if (admits_strangers_) return stranger;
  bool has_token = false;
  for (const std::string& each : tokens_) has_token = equals_in_constant_time(each, token) || has_token;
  // Who must prove more goes first: a client's second entry may be for where it has only one of the two.
  const Client* found = nullptr;
  const auto proofs = [](const Client& each) {
    return (each.token.empty() ? 0 : 1) + (each.certificate.empty() ? 0 : 1);
  };
  for (const Client& each : clients_) {
    const bool knows = each.token.empty() || equals_in_constant_time(each.token, token);
    const bool owns = each.certificate.empty() || each.certificate == certificate;
    if (knows && owns && (found == nullptr || proofs(each) > proofs(*found))) found = &each;
  }
  if (found != nullptr) return found->grant;
  return has_token ? std::optional(std::move(stranger)) : std::nullopt;
}

}  // namespace cleave::remote::server
