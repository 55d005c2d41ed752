#include "cli/remote/remote.h"

#include <cstdio>
#include <cstdlib>

#include "base/files/search_list.h"
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "cli/probe/child_process.h"

namespace cleave::cli {
namespace {

constexpr std::chrono::milliseconds kTimeout{30'000};

std::string milliseconds(const std::string& nanoseconds) {
  return base::formatted("%.2f ms", std::strtod(nanoseconds.c_str(), nullptr) / 1e6);
}

std::string gibibytes(const std::string& bytes) {
  return base::formatted("%.1f GiB", std::strtod(bytes.c_str(), nullptr) / (1024.0 * 1024 * 1024));
}

bool print_server(const std::string& address) {
  const ServerStatus server = query_server(address, kTimeout);
  if (!server.problem.empty()) {
    std::printf("%s cannot be used: %s\n", address.c_str(), base::displayable(server.problem).c_str());
    return false;
  }
  std::printf("%s: %s\n", address.c_str(), base::displayable(server.response).c_str());
  for (const Record& device : server.devices) {
    std::printf("  %s: %s, %s compute units, %s\n", base::displayable(device[1]).c_str(),
                base::displayable(device[2]).c_str(), base::displayable(device[3]).c_str(),
                gibibytes(device[4]).c_str());
  }
  return true;
}

}  // namespace

ServerStatus query_server(const std::string& address, std::chrono::milliseconds timeout) {
  const ChildResult child =
      run_child({.arguments = {"probe", "server", address}, .environment = {}, .limit = timeout});
  const std::vector<Record> records = decode(child.output);
  ServerStatus server;
  if (records.empty()) server.problem = "the process that queried it " + child.outcome_text();
  if (const Record* const problem = find(records, "problem", 2)) server.problem = (*problem)[1];
  const Record* const answered = find(records, "answered", 2);
  server.response = "answered in " + (answered == nullptr ? "?" : milliseconds((*answered)[1]));
  if (const Record* const clients = find(records, "clients", 3)) {
    server.response += ", " + (*clients)[1] + " of " + (*clients)[2] + " clients";
  }
  for (const Record& record : records) {
    if (record[0] == "device" && record.size() >= 5) server.devices.push_back(record);
  }
  return server;
}

int remote_ls(const std::vector<std::string>& addresses) {
  std::vector<std::string> servers = addresses;
  const char* const named = std::getenv("CLEAVE_REMOTE");
  if (servers.empty() && named != nullptr) servers = base::split(named, ",");
  if (servers.empty()) {
    std::fputs("cleave: no server named: cleave remote ls ADDRESS..., or set CLEAVE_REMOTE\n", stderr);
    return 2;
  }
  bool all_answered = true;
  for (const std::string& server : servers) all_answered = print_server(server) && all_answered;
  return all_answered ? 0 : 1;
}

}  // namespace cleave::cli
