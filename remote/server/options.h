// What cleave-serverd can be told.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "remote/server/session/limits.h"
#include "remote/transport/connect.h"
#include "remote/transport/endpoint.h"

namespace cleave::remote::server {

// An option that cannot be followed; one line.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<Endpoint> listen;  // empty: unix:/run/cleave/server.sock
  unsigned socket_mode = 0660;   // of unix sockets
  std::string token_file;
  TlsFiles tls;
  unsigned most_clients = 16;
  unsigned spare = 1;                // workers that have loaded the driver before there is a client
  std::vector<std::string> devices;  // shell patterns of names; empty: all
  std::string user;                  // the workers' ; empty: the supervisor's
  std::string opencl = "libOpenCL.so.1";
  std::string state;    // a folder for the number of clients; empty: chosen
  std::string metrics;  // a TCP address on loopback; empty: none
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds heartbeat{2000};
  ClientLimits limits;
  bool worker = false;  // internal: this process serves one client, its supervisor is standard input
};

// Empty: only help or the version was wanted, and has been printed. Throws OptionError.
std::optional<Options> read_options(std::span<const char* const> arguments);

// Bytes: a number, and one of K, M, G, T behind it (powers of 1024).
std::optional<std::uint64_t> read_size(std::string_view text);

// The tokens of a file, one a line; empty lines and those that begin with # are none. Throws OptionError.
std::vector<std::string> read_tokens(const std::string& path);

}  // namespace cleave::remote::server
