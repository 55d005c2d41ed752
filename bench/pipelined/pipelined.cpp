// What slices cost when they are pipelined, and how long others wait meanwhile: a Markdown table on standard
// output. Needs an OpenCL loader and Cleave's drop-in; each row is a process of its own.
//
//   cleave_pipelined [--platform SUBSTRING] [--library PATH/libOpenCL.so.1] [--launch MODE] [--small]
//
// `--small`: sizes for a try on a processor. The exit status is 0 only if every result was the native one.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "bench/pipelined/child.h"
#include "bench/pipelined/row.h"
#include "bench/pipelined/work.h"

namespace pipelined {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kLimit = 60;  // seconds for a row

struct Options {
  Request request;
  std::string launch = "auto";
  bool row = false;
};

Options read_options(const std::vector<std::string>& arguments, const fs::path& self) {
  Options options;
  options.request.library = (self.parent_path() / "../lib/cleave/libOpenCL.so.1").string();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--small") {
      options.request.small = true;
    } else if (name == "--row") {
      options.row = true;
      options.request.work = std::stoul(arguments.at(++i));
    } else if (name == "--platform") {
      options.request.platform = arguments.at(++i);
    } else if (name == "--library") {
      options.request.library = arguments.at(++i);
    } else if (name == "--launch") {
      options.launch = arguments.at(++i);
    } else {
      throw std::invalid_argument(name);
    }
  }
  return options;
}

std::vector<std::pair<std::string, std::string>> environment(const std::string& launch, std::size_t slices) {
  return {{"CLEAVE_LAUNCH", launch},
          {"CLEAVE_SPLIT", "fixed:" + std::to_string(slices)},
          {"CLEAVE_MIN_ITEMS", "cores"},
          {"CLEAVE_TOP", "false"},
          {"CLEAVE_STATS", ""}};
}

// What is asked of a row: the ratio, and the longest wait where there is such a figure.
const char* asked_ratio(std::size_t work, std::size_t slices) {
  if (work != 0) return slices <= 20 ? "1.02" : "1.05";
  if (slices <= 20) return "1.005";
  if (slices <= 100) return "1.01";
  if (slices <= 320) return "1.015";
  return slices <= 500 ? "1.03" : "1.05";
}
const char* asked_wait(std::size_t work, std::size_t slices) {
  if (work != 0 || slices < 20) return "-";
  return slices < 100 ? "4" : "3";
}

bool print_row(const Options& options, const fs::path& self, std::size_t work, std::size_t slices) {
  std::vector<std::string> command = {self.string(),
                                      "--row",
                                      std::to_string(work),
                                      "--platform",
                                      options.request.platform,
                                      "--library",
                                      options.request.library};
  if (options.request.small) command.emplace_back("--small");
  const Ended ended = run(command, environment(options.launch, slices), kLimit);
  std::istringstream line(ended.output);
  std::string ratio, with_event, whole, wait, native_wait, made, pipelined, identical;
  line >> ratio >> with_event >> whole >> wait >> native_wait >> made >> pipelined >> identical;
  std::printf("| %s | %zu | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", kWorks[work].name.data(),
              slices, made.c_str(), pipelined == "0" ? "no" : "yes", whole.c_str(), ratio.c_str(),
              with_event.c_str(), asked_ratio(work, slices), wait.c_str(), native_wait.c_str(),
              asked_wait(work, slices), ended.status == 0 ? identical.c_str() : "NO");
  std::fflush(stdout);
  return ended.status == 0;
}

// The scan that must stay in order, in every mode: only whether it is right and ends.
bool print_scan(const Options& options, const fs::path& self, const char* mode) {
  bool good = true;
  std::printf("| %s |", mode);
  for (const std::size_t slices : {2U, 20U, 100U, 1000U}) {
    auto changes = environment(mode, slices);
    changes.emplace_back("LD_PRELOAD", options.request.library);
    const Ended ended =
        run({(self.parent_path() / "look_back").string(), options.request.small ? "100003" : "4000037", "3",
             "--platform", options.request.platform},
            changes, kLimit / 4);
    good = good && ended.status == 0;
    std::printf(" %s |", ended.status == 0 ? "right" : ended.status == SIGALRM ? "NO END" : "WRONG");
  }
  std::puts("");
  std::fflush(stdout);
  return good;
}

bool print_tables(const Options& options, const fs::path& self) {
  bool good = true;
  std::puts(
      "| work | slices asked | made | pipelined | whole, ms | ratio | with an event | asked | longest wait "
      "of a small "
      "kernel, ms | natively | asked | identical |\n|---|---|---|---|---|---|---|---|---|---|---|---|");
  for (const std::size_t slices : {10U, 20U, 100U, 320U, 500U, 640U})
    good = print_row(options, self, 0, slices) && good;
  for (std::size_t work = 1; work < kWorks.size(); ++work)
    for (const std::size_t slices : {20U, 100U}) good = print_row(options, self, work, slices) && good;
  std::puts("\n| look-back scan | 2 slices | 20 | 100 | 1000 |\n|---|---|---|---|---|");
  for (const char* mode : {"auto", "queued", "sequential", "pipelined"})
    good = print_scan(options, self, mode) && good;
  return good;
}

}  // namespace
}  // namespace pipelined

int main(int count, char** arguments) {
  using namespace pipelined;
  try {
    const fs::path self = fs::read_symlink("/proc/self/exe");
    const Options options = read_options({arguments + 1, arguments + count}, self);
    if (options.row) return measure_row(options.request);
    return print_tables(options, self) ? 0 : 1;
  } catch (const std::logic_error&) {
    std::fputs(
        "usage: cleave_pipelined [--platform SUBSTRING] [--library PATH/libOpenCL.so.1] [--launch MODE] "
        "[--small]\n",
        stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave_pipelined: %s\n", failure.what());
  }
  return 2;
}
