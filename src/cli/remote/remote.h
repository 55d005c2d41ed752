// `cleave remote ls`: the servers, their devices, and how busy they are.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/probe/records.h"

namespace cleave::cli {

// A server's answer, for display.
struct ServerStatus {
  std::string problem;          // why there is no answer; empty if there is one
  std::string response;         // "answered in 1.23 ms, 2 of 8 clients"
  std::vector<Record> devices;  // device NAME VERSION UNITS BYTES
};

// Queries the server in a probe process, which may hang or crash.
ServerStatus query_server(const std::string& address, std::chrono::milliseconds timeout);

// Prints a paragraph for each of the addresses, or for those of CLEAVE_REMOTE if there are none. Returns the exit status: 0
// if all answered, 1 if one did not, 2 if none is named.
int remote_ls(const std::vector<std::string>& addresses);

}  // namespace cleave::cli
