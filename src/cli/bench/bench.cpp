#include "cli/bench/bench.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "base/files/search_list.h"
#include "cli/probe/child_process.h"
#include "cli/system/executable.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kFailure = 1;

// The suite's folder in a build folder or an installation; empty if there is none.
fs::path find_suite(const Installation& cleave) {
  const fs::path beside = cleave.command.parent_path().parent_path();
  std::error_code ignored;
  for (const fs::path& folder : {beside / "bench", beside / "libexec/cleave/bench"}) {
    if (fs::exists(folder / "suite/__main__.py", ignored)) return folder;
  }
  return {};
}

// Each python3 in PATH, and the system's.
std::vector<std::string> pythons() {
  std::vector<std::string> found;
  const char* const path = std::getenv("PATH");
  base::SearchList folders = base::split(path != nullptr ? path : "", ":");
  folders.emplace_back("/usr/bin");
  for (const std::string& folder : folders) {
    const std::string file = std::string(folder.empty() ? "." : folder).append("/python3");
    if (::access(file.c_str(), X_OK) == 0 && std::find(found.begin(), found.end(), file) == found.end())
      found.push_back(file);
  }
  return found;
}

bool has_matplotlib(const std::string& python) {
  ChildRequest child;
  child.arguments = {python, "-c",
                     "import importlib.util, sys; sys.exit(importlib.util.find_spec('matplotlib') is None)"};
  child.limit = std::chrono::seconds(10);
  child.is_program = true;
  return run_child(child).succeeded();
}

// The first python3 that can make pictures, or else the first.
std::string choose_python() {
  const std::vector<std::string> all = pythons();
  const auto able = std::find_if(all.begin(), all.end(), has_matplotlib);
  if (able != all.end()) return *able;
  return all.empty() ? "python3" : all.front();
}

}  // namespace

int bench(const std::vector<std::string>& arguments) {
  const Installation cleave = find_installation();
  const fs::path folder = find_suite(cleave);
  if (folder.empty()) {
    std::fputs(
        "cleave: the benchmarks are missing: install the package cleave-bench, or build Cleave with "
        "-DCLEAVE_BENCH=ON\n",
        stderr);
    return kFailure;
  }
  ::setenv("CLEAVE_BENCH", folder.c_str(), 1);
  ::setenv("CLEAVE_BENCH_LIBRARY", cleave.drop_in.c_str(), 1);
  std::vector<std::string> words = {choose_python(), folder / "suite"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  execute(words);
  std::fprintf(stderr, "cleave: python3, which runs the benchmarks, cannot be started: %s\n",
               std::strerror(errno));
  return kFailure;
}

}  // namespace cleave::cli
