#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cli/doctor/doctor.h"
#include "cli/probe/child_process.h"

namespace cleave::cli {
namespace {

// One line of the dynamic linker's report: "… binding file FROM [0] to TO [0]: normal symbol `NAME' …". What
// dlsym() finds in a library is bound from that library.
struct Binding {
  std::string from;
  std::string to;
  std::string symbol;
};

std::string real(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path found = std::filesystem::canonical(path, ignored);
  return found.empty() ? path : found.string();
}

// What stands in `line` behind `before`, up to the number of the namespace.
std::optional<std::string> file_behind(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + before.size());
  const std::size_t end = line.find(" [");
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(0, end));
}

// The bindings of OpenCL's first two functions: the one by which every program finds its platforms, and the one that Cleave
// looks up next when it has chosen a loader.
constexpr std::string_view kAsked = "clGetPlatformIDs";
constexpr std::string_view kNext = "clGetPlatformInfo";

std::vector<Binding> bindings_in(std::string_view text) {
  std::vector<Binding> bindings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const auto from = file_behind(line, "binding file ");
    const auto to = file_behind(line, "] to ");
    if (!from || !to) continue;
    for (const std::string_view symbol : {kAsked, kNext}) {
      if (line.find("symbol `" + std::string(symbol) + "'") != std::string_view::npos)
        bindings.push_back({real(*from), real(*to), std::string(symbol)});
    }
  }
  return bindings;
}

// Runs the command while the linker reports its bindings.
ChildResult observed(const DoctorRequest& request, bool under_cleave) {
  ChildRequest child;
  if (under_cleave) child.arguments = {"run", "--"};
  child.arguments.insert(child.arguments.end(), request.command.begin(), request.command.end());
  child.is_program = !under_cleave;
  child.environment = {{"LD_DEBUG", "bindings"}, {"LD_DEBUG_OUTPUT", std::nullopt}};
  child.limit = request.timeout;
  return run_child(child);
}

// The loader that the program uses; empty if it has not queried platforms.
std::string native_loader(const std::vector<Binding>& bindings) {
  std::string loader;
  for (const Binding& binding : bindings) {
    if (binding.symbol != kAsked) continue;
    if (binding.from != binding.to) return binding.to;
    if (loader.empty()) loader = binding.to;
  }
  return loader;
}

// The loader to which the drop-in forwards; empty if the drop-in has not been called.
std::string loader_below(const std::vector<Binding>& bindings, const std::string& drop_in) {
  std::string loader;
  for (std::size_t i = 0; i + 1 < bindings.size(); ++i) {
    const Binding& one = bindings[i];
    const Binding& other = bindings[i + 1];
    if (one.from != one.to || one.to == drop_in || one.symbol != kAsked) continue;
    if (other.from == one.from && other.to == one.to && other.symbol == kNext) loader = one.to;
  }
  return loader;
}

}  // namespace

void report_loaders(const DoctorRequest& request, const Installation& cleave, Report& report) {
  report.section("Loader of " + request.program);
  const std::string drop_in = real(cleave.drop_in.string());
  const ChildResult native = observed(request, false);
  const ChildResult under_cleave = observed(request, true);
  for (const ChildResult* child : {&native, &under_cleave}) {
    if (child->end == ChildResult::End::timed_out) {
      report.note("it was ended when --timeout had passed",
                  "raise --timeout if it needs longer to use OpenCL");
    }
    if (child->end == ChildResult::End::not_started)
      return report.problem("it " + child->outcome_text(), "check the name, PATH and the file's mode");
  }
  const std::string before = native_loader(bindings_in(native.errors));
  const std::vector<Binding> bindings = bindings_in(under_cleave.errors);
  const bool by_path = !bindings.empty() && native_loader(bindings) != drop_in;
  const std::string with = by_path ? native_loader(bindings) : loader_below(bindings, drop_in);
  if (before.empty() && with.empty()) return report.note("it did not use OpenCL in this run");
  report.note("natively: " + (before.empty() ? "none" : before));
  report.note("under Cleave: " + (with.empty() ? "none" : with));
  if (by_path) {
    report.note("it opens that loader by its path: Cleave is in the loader's layer", "see \"Loader\" above");
  }
  if (before == with) return report.ok("Cleave changes nothing about the loader");
  const char* const named = std::getenv("CLEAVE_NEXT");
  if (named != nullptr && *named != '\0') return report.note("they differ, as CLEAVE_NEXT asks for");
  report.problem("the loader under Cleave is not the native one",
                 before.empty() ? "install a loader (ocl-icd-libopencl1)" : "set CLEAVE_NEXT=" + before);
}

}  // namespace cleave::cli
