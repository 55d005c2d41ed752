#include "cli/bench/bench.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

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
  std::vector<std::string> words = {"python3", folder / "suite"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  ::execvp(list[0], list.data());
  std::fprintf(stderr, "cleave: python3, which runs the benchmarks, cannot be started: %s\n",
               std::strerror(errno));
  return kFailure;
}

}  // namespace cleave::cli
