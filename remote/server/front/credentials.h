// Who may connect, and what each may use: the tokens of --token-file, and the clients of --clients-file with their tokens,
// certificates and limits.
//
// The supervisor reads the files at the server's start and on SIGHUP, since they may belong to root, which the front is not, and
// gives each front copies of what it has found right then.
//
// Thread-safe once made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "remote/server/options/grant.h"
#include "remote/server/options/options.h"

namespace cleave::remote::server {

// Copies of the files, which cannot be changed; not open where an option is not given.
struct CredentialFiles {
  base::FileDescriptor tokens;
  base::FileDescriptor clients;

  // Throws OptionError for a file that cannot be read, or that every user can.
  static CredentialFiles read(const Options& options);
};

// What each client that --clients-file names is granted, without any secret.
class NamedGrants {
 public:
  NamedGrants() = default;
  explicit NamedGrants(std::map<std::string, Grant> grants) : grants_(std::move(grants)) {}

  // Whether a client that has proved this name may still use it. A client without a name, or with that of its certificate, is not the
  // file's.
  [[nodiscard]] bool has(const std::string& name) const;
  // What a client has been granted becomes what its name is granted now.
  void renew(Grant& grant) const;

 private:
  std::map<std::string, Grant> grants_;  // by name
};

class Credentials {
 public:
  // Throws OptionError, also for files that admit no client.
  Credentials(const Options& options, const CredentialFiles& files);

  // What a client is granted that has presented the token, and has proved to own the certificate of this name, each of which
  // may be empty. Empty: it is not known, or could be two. A certificate that no entry names is a name of its own, in which no
  // entry can share. Takes the same time for any token of the same length.
  [[nodiscard]] std::optional<Grant> find(std::string_view token, const std::string& certificate) const;

  [[nodiscard]] NamedGrants named() const;

 private:
  struct Client {
    Grant grant;
    std::string token;        // empty: it needs none
    std::string certificate;  // its common name; empty: it needs none
  };
  void read_clients(const std::string& path, const std::string& text);
  void check_clients(const Options& options) const;

  std::vector<std::string> tokens_;
  std::vector<Client> clients_;
  bool admits_strangers_ = false;  // neither file was given
};

}  // namespace cleave::remote::server
