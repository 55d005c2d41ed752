// Who may connect, and what each may use: the tokens of --token-file, and the clients of --clients-file with their tokens,
// certificates and limits.
//
// The server reads the files at its start and on SIGHUP. Since they may belong to root, and the front runs as another user, the
// supervisor opens them then and passes their descriptors on.
//
// Thread-safe once made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "remote/server/options.h"
#include "remote/server/session/grant.h"

namespace cleave::remote::server {

// The files of the options; not open where an option is not given.
struct CredentialFiles {
  base::FileDescriptor tokens;
  base::FileDescriptor clients;

  // Throws OptionError for a file that cannot be opened, or that every user can read.
  static CredentialFiles open(const Options& options);
};

class Credentials {
 public:
  // Reads the files from their beginnings. Throws OptionError, also for files that nobody could connect by.
  Credentials(const Options& options, const CredentialFiles& files);

  // What a client is granted who has presented the token, and has proved to own the certificate of this name, each of which
  // may be empty. Empty: it is not known. Takes the same time for any token of the same length.
  [[nodiscard]] std::optional<Grant> find(std::string_view token, const std::string& certificate) const;

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
