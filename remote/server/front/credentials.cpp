#include "remote/server/front/credentials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sstream>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/settings/share.h"
#include "base/settings/toml_file.h"
#include "base/text/number.h"
#include "remote/protocol/limits.h"
#include "remote/server/front/printable.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20U;
constexpr std::size_t kMaxClients = 10'000;
constexpr std::uint64_t kMaxWeight = 10'000;
constexpr std::uint64_t kMaxSessions = 10'000;
// Of the names of those whose certificates no entry names.
constexpr std::string_view kCertificatePrefix = "certificate:";

base::FileDescriptor open_secret(const std::string& where, const std::string& path) {
  // A pipe would hold the server up until somebody writes to it.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    throw OptionError(where + path + " cannot be read (" + std::strerror(errno) + ")");
  if (!S_ISREG(status.st_mode)) throw OptionError(where + path + " is not a regular file");
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    throw OptionError(where + "every user can read or write " + path + "; chmod it to 600");
  return file;
}

// From its beginning; at most one byte more than a file may have.
std::string contents_of(const std::string& where, const base::FileDescriptor& file) {
  std::string text(kMaxFileSize + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 1;
  while (size < text.size() && got > 0) {
    got = ::pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  if (got < 0) throw OptionError(where + " cannot be read (" + std::strerror(errno) + ")");
  text.resize(size);
  return text;
}

// What the file has now, whatever becomes of it.
base::FileDescriptor copy_secret(const char* option, const std::string& path) {
  if (path.empty()) return {};
  const std::string where = std::string(option) + ": ";
  std::string text = contents_of(where + path, open_secret(where, path));
  if (text.size() > kMaxFileSize) throw OptionError(where + path + " is larger than 1 MiB");
  base::FileDescriptor copy(::memfd_create("credentials", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool copied =
      copy.is_open() && base::write_all(copy.get(), text) &&
      ::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  ::explicit_bzero(text.data(), text.size());
  if (!copied) throw OptionError(where + path + " cannot be copied (" + std::strerror(errno) + ")");
  return copy;
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

bool is_priority(const std::string& text) {
  constexpr std::array<std::string_view, 4> kNames{"high", "normal", "background", "idle"};
  return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

// What a value must be; empty: it is, and has been set, in the grant or in the target of the other two.
std::string set_value(const base::TomlValue& value, Grant& grant, std::string& token,
                      std::string& certificate) {
  const std::string& key = value.path[1];
  const std::string& text = value.text;
  if (key == "token" || key == "certificate") {
    if (!value.is_text || text.empty() || text.size() > kMaxToken)
      return key + " = \"...\", of 1 to " + std::to_string(kMaxToken) + " bytes";
    (key == "token" ? token : certificate) = text;
    return {};
  }
  if (key == "memory") {
    const auto size = value.is_text ? read_size(text) : std::nullopt;
    if (!size) return "memory in bytes, such as \"4G\"";
    grant.memory = *size;
    return {};
  }
  if (key == "sessions") {
    const auto sessions = base::parse_unsigned(text, 1, kMaxSessions);
    grant.sessions = static_cast<unsigned>(sessions.value_or(0));
    return sessions ? "" : "sessions from 1 to 10000";
  }
  const bool is_short = text.size() <= kMaxGrantText;
  if (key == "weight") {
    grant.weight = text;
    return is_short && base::parse_unsigned(text, 1, kMaxWeight) ? "" : "a weight from 1 to 10000";
  }
  if (key == "cap") {
    grant.cap = text;
    return value.is_text && is_short && base::parse_cap(text)
               ? ""
               : "a cap of device time, such as \"30%\" or \"30%,borrow\"";
  }
  if (key == "priority") {
    grant.priority = text;
    return value.is_text && is_priority(text) ? "" : "the priority high, normal, background or idle";
  }
  return "token, certificate, memory, sessions, weight, cap or priority";
}

}  // namespace

bool NamedGrants::has(const std::string& name) const {
  return name.empty() || name.starts_with(kCertificatePrefix) || grants_.contains(name);
}

void NamedGrants::renew(Grant& grant) const {
  if (const auto found = grants_.find(grant.tenant); found != grants_.end()) grant = found->second;
}

CredentialFiles CredentialFiles::read(const Options& options) {
  return {copy_secret("--token-file", options.token_file),
          copy_secret("--clients-file", options.clients_file)};
}

Credentials::Credentials(const Options& options, const CredentialFiles& files)
    : admits_strangers_(options.token_file.empty() && options.clients_file.empty()) {
  if (!options.token_file.empty())
    tokens_ = tokens_in(options.token_file, contents_of("--token-file", files.tokens));
  if (options.clients_file.empty()) return;
  read_clients(options.clients_file, contents_of("--clients-file", files.clients));
  check_clients(options);
}

void Credentials::read_clients(const std::string& path, const std::string& text) {
  const base::TomlFile file = base::parse_toml(text, path);
  const std::string start = "--clients-file: " + path + ":";
  if (!file.error.empty()) throw OptionError(start + " " + file.error);
  for (const base::TomlValue& each : file.empty_tables)
    throw OptionError(start + std::to_string(each.line) + ": a table without a token or a certificate");
  std::map<std::string, std::size_t> places;
  for (const base::TomlValue& value : file.values) {
    const std::string where = start + std::to_string(value.line) + ": ";
    if (value.path.size() != 2)
      throw OptionError(where + "expected a table for each client, such as [alice], with its token in it");
    const std::string& name = value.path[0];
    if (!base::is_tenant_name(name) || name.starts_with(kCertificatePrefix)) {
      throw OptionError(where + "a client's name has 1 to " + std::to_string(base::kMaxTenantName) +
                        " letters, digits and ._-:@/, and no \"certificate:\" in front");
    }
    const auto [place, is_new] = places.emplace(name, clients_.size());
    if (is_new) clients_.emplace_back().grant.tenant = name;
    if (clients_.size() > kMaxClients) throw OptionError(where + "more than 10000 clients");
    Client& client = clients_[place->second];
    std::string problem = "not understood; expected ";
    const std::string expected = set_value(value, client.grant, client.token, client.certificate);
    // What is there is not repeated in the log: it may be a secret.
    if (!expected.empty()) throw OptionError(where + problem.append(expected));
  }
}

void Credentials::check_clients(const Options& options) const {
  const std::string where = "--clients-file: " + options.clients_file + ": ";
  if (clients_.empty()) throw OptionError(where + "there is no client in it");
  std::map<std::pair<std::string_view, std::string_view>, const Client*> proofs;
  for (const Client& each : clients_) {
    const std::string& name = each.grant.tenant;
    if (each.token.empty() && each.certificate.empty())
      throw OptionError(where + name + " has neither a token nor a certificate");
    if (!each.certificate.empty() && options.tls.authority.empty())
      throw OptionError(where + name + " has a certificate; give --client-ca, which proves it");
    const auto [other, is_new] = proofs.try_emplace({each.token, each.certificate}, &each);
    if (is_new) continue;
    std::string problem = where + other->second->grant.tenant;
    throw OptionError(problem.append(" and ").append(name).append(" cannot be told apart"));
  }
}

NamedGrants Credentials::named() const {
  std::map<std::string, Grant> grants;
  for (const Client& each : clients_) grants.emplace(each.grant.tenant, each.grant);
  return NamedGrants(std::move(grants));
}

std::optional<Grant> Credentials::find(std::string_view token, const std::string& certificate) const {
  Grant stranger;
  if (!certificate.empty()) stranger.tenant = std::string(kCertificatePrefix) + printable(certificate);
  if (admits_strangers_) return stranger;
  bool has_token = false;
  for (const std::string& each : tokens_) has_token = equals_in_constant_time(each, token) || has_token;
  // An entry that requires more goes first: a client's other entry may be for places where it has only one of the two.
  const Client* found = nullptr;
  unsigned best = 0;
  unsigned equals = 0;
  bool names_certificate = false;
  for (const Client& each : clients_) {
    const bool owns = !each.certificate.empty() && each.certificate == certificate;
    const bool knows = each.token.empty() || equals_in_constant_time(each.token, token);
    names_certificate = names_certificate || owns;
    if (!knows || !(owns || each.certificate.empty())) continue;
    const unsigned proofs = (each.token.empty() ? 0U : 1U) + (owns ? 1U : 0U);
    if (proofs == best) ++equals;
    if (proofs <= best) continue;
    found = &each;
    best = proofs;
    equals = 1;
  }
  if (found != nullptr) return equals == 1 ? std::optional(found->grant) : std::nullopt;
  // No client escapes the limits of its entry by a common token.
  return has_token && !names_certificate ? std::optional(std::move(stranger)) : std::nullopt;
}

}  // namespace cleave::remote::server
