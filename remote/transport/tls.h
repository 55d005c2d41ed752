// TLS 1.3 and 1.2 over a connected socket, by OpenSSL.
//
// A TLS stream may be read by one thread while another one writes: OpenSSL's object is locked while it works, never while a
// thread waits for the network.
#pragma once

#include <memory>
#include <string>

#include "remote/transport/stream.h"

namespace cleave::remote {

// Paths of PEM files.
struct TlsFiles {
  std::string
      authority;  // that must have signed the peer's certificate; empty for a client: the system's authorities
  std::string certificate;  // our own, with its chain; empty: none
  std::string key;
};

// Both own the socket from now on. The handshake is complete when they return.
ConnectResult connect_tls(int socket, const std::string& host, const TlsFiles& files, Time until);

// A server's certificate and key, which are read once for all of its connections. With `files.authority` only clients with a
// certificate by that authority are accepted.
class TlsServer {
 public:
  // Null: `problem` says why.
  static std::unique_ptr<TlsServer> make(const TlsFiles& files, std::string& problem);
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer();

  // `peer` becomes the name in the client's certificate, or stays empty.
  ConnectResult accept(int socket, Time until, std::string& peer) const;

 private:
  struct Context;
  explicit TlsServer(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace cleave::remote
