#include "cli/remote/remote.h"

#include <cstdio>
#include <cstdlib>

#include "cli/probe/child_process.h"
#include "cli/probe/opencl_library.h"
#include "cli/system/installation.h"
#include "cli/system/search_list.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kMaxTextSize = std::size_t{1} << 20U;
constexpr std::chrono::milliseconds kTimeout{30'000};

std::string milliseconds(const std::string& nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", std::strtod(nanoseconds.c_str(), nullptr) / 1e6);
  return text;
}

std::string gibibytes(const std::string& bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", std::strtod(bytes.c_str(), nullptr) / (1024.0 * 1024 * 1024));
  return text;
}

// Asked in a process of its own, which may hang or crash.
std::vector<Record> ask(const std::string& address, std::chrono::milliseconds timeout) {
  const ChildResult child =
      run_child({.arguments = {"probe", "server", address}, .environment = {}, .limit = timeout});
  std::vector<Record> records = decode(child.output);
  if (records.empty()) records.push_back({"problem", "the process that asked it " + child.outcome_text()});
  return records;
}

std::string load_of(const std::vector<Record>& records) {
  const Record* const clients = find(records, "clients", 3);
  return clients == nullptr ? "" : ", " + (*clients)[1] + " of " + (*clients)[2] + " clients";
}

bool print_server(const std::string& address) {
  const std::vector<Record> records = ask(address, kTimeout);
  if (const Record* const problem = find(records, "problem", 2)) {
    std::printf("%s: not in reach: %s\n", address.c_str(), (*problem)[1].c_str());
    return false;
  }
  const Record* const answered = find(records, "answered", 2);
  std::printf("%s: answered in %s%s\n", address.c_str(),
              answered == nullptr ? "?" : milliseconds((*answered)[1]).c_str(), load_of(records).c_str());
  for (const Record& record : records) {
    if (record[0] != "device" || record.size() < 5) continue;
    std::printf("  %s: %s, %s compute units, %s\n", record[1].c_str(), record[2].c_str(), record[3].c_str(),
                gibibytes(record[4]).c_str());
  }
  return true;
}

}  // namespace

int probe_server(const std::string& address) {
  const RecordWriter answer;
  try {
    const Installation cleave = find_installation();
    const OpenClLibrary client((cleave.layer.parent_path() / "libcleave-remote.so").string());
    using Describe = cl_int (*)(const char*, size_t, char*);
    const auto describe = reinterpret_cast<Describe>(
        CLEAVE_CLI_FIND(client, clGetExtensionFunctionAddress)("clDescribeServerCLEAVE"));
    if (describe == nullptr) throw ProbeError("libcleave-remote.so is of another version");
    std::string text(kMaxTextSize, '\0');
    require(describe(address.c_str(), text.size(), text.data()), "clDescribeServerCLEAVE");
    text.resize(text.find('\0'));
    for (const Record& record : decode(text)) answer.write(record);
  } catch (const ProbeError& failure) {
    answer.write({"problem", failure.what()});
  }
  return 0;
}

int remote_ls(const std::vector<std::string>& addresses) {
  std::vector<std::string> servers = addresses;
  const char* const named = std::getenv("CLEAVE_REMOTE");
  if (servers.empty() && named != nullptr) servers = split(named, ",");
  if (servers.empty()) {
    std::fputs("cleave: no server named: cleave remote ls ADDRESS..., or set CLEAVE_REMOTE\n", stderr);
    return 2;
  }
  bool all = true;
  for (const std::string& server : servers) all = print_server(server) && all;
  return all ? 0 : 1;
}

void report_servers(const std::vector<Record>& records, std::chrono::milliseconds timeout, Report& report) {
  std::string named;
  for (const Record& record : records) {
    if (record.size() >= 3 && record[0] == "setting" && record[1] == "remote.servers") named = record[2];
  }
  if (named.empty()) return;
  report.section("Servers");
  for (const std::string& address : split(named, ",")) {
    const std::vector<Record> told = ask(address, timeout);
    const Record* const problem = find(told, "problem", 2);
    if (problem != nullptr) {
      report.problem(address + " is not in reach: " + (*problem)[1],
                     "start cleave-serverd there, or see to the network, the token and the certificates");
      continue;
    }
    const Record* const answered = find(told, "answered", 2);
    report.ok(address + " answered in " + (answered == nullptr ? "?" : milliseconds((*answered)[1])) +
              load_of(told));
  }
}

}  // namespace cleave::cli
