#include "cli/doctor/interception.h"

#include <filesystem>

#include "cli/system/elf.h"
#include "cli/system/executable.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;
using Severity = Finding::Severity;

// The name of the OpenCL library that the file is linked against, or empty.
std::string needed_opencl(const ElfFacts& facts) {
  for (const std::string& name : facts.needed) {
    if (fs::path(name).filename().native().starts_with("libOpenCL.so")) return name;
  }
  return "";
}

Finding other_machine(const ElfFacts& facts) {
  const std::string kind = std::to_string(facts.bits) + "-bit " + machine_name(facts.machine);
  return {
      Severity::problem,
      "it is a " + kind + " program and this Cleave is not: the libraries cannot be loaded into it",
      "build and install Cleave for " + kind + " too, and start the program with that one's `cleave run`"};
}

Finding privileged(const std::string& reason, bool registered) {
  if (registered) {
    return {Severity::ok,
            "it runs with raised privileges (" + reason +
                "): intercepted by the vendor library, with the settings of /etc/cleave/cleave.toml only",
            ""};
  }
  return {Severity::problem,
          "it runs with raised privileges (" + reason +
              "): the dynamic loader ignores LD_PRELOAD and LD_LIBRARY_PATH",
          "register the vendor library (cleave icd install), or run a copy of the program without them, made "
          "with `cp`"};
}

Finding statically_linked() {
  return {Severity::problem, "it is statically linked: it has no dynamic loader that could load Cleave",
          "link it dynamically, against the system's libOpenCL.so.1"};
}

// A library named by a path is found neither among preloaded libraries nor through a search path.
Finding needs_by_path(const std::string& name) {
  return {Severity::note, "it needs " + name + " by its path: intercepted by the layer only",
          "see \"Loader\" above on whether the loader supports layers"};
}

// Instead of the others, since nothing is preloaded.
Finding linked_with_sanitizer(const std::string& sanitizer) {
  return {
      Severity::ok,
      "it needs " + sanitizer +
          ", which must be the first of its libraries: nothing is preloaded, and it is intercepted by the "
          "library search path and the layer",
      ""};
}

Finding linked(const ElfFacts& facts, const std::string& name, const Installation& cleave) {
  if (name.find('/') != std::string::npos) return needs_by_path(name);
  if (cleave.can_preload())
    return {Severity::ok, "it is linked against " + name + ": intercepted by the preloaded library", ""};
  // DT_RPATH is ignored if there is a DT_RUNPATH.
  if (facts.rpath && !facts.runpath) {
    return {Severity::note,
            "its DT_RPATH (" + *facts.rpath + ") comes before LD_LIBRARY_PATH: intercepted by the layer",
            "move Cleave to a path without spaces, so that it can be preloaded"};
  }
  return {Severity::ok, "it is linked against " + name + ": intercepted by the library search path", ""};
}

Finding not_linked(const Installation& cleave) {
  const std::string ways = cleave.can_preload()
                               ? "the preloaded libraries (dlopen by name) and the layer (by path)"
                               : "the library search path (dlopen by name) and the layer (by path)";
  return {Severity::ok,
          "it is not linked against OpenCL itself: if it loads OpenCL later, it is intercepted by " + ways,
          ""};
}

void note_search_paths(const ElfFacts& facts, std::vector<Finding>& findings) {
  const auto note = [&](const char* tag, const std::optional<std::string>& value) {
    if (!value) return;
    findings.push_back(
        {Severity::note, std::string(tag) + " " + *value + ": irrelevant for preloaded libraries", ""});
  };
  note("DT_RPATH", facts.rpath);
  note("DT_RUNPATH", facts.runpath);
}

void examine_elf(const fs::path& file, const ElfFacts& facts, const Installation& cleave, bool registered,
                 std::vector<Finding>& findings) {
  if (!facts.is_ours()) {
    findings.push_back(other_machine(facts));
    return;
  }
  if (!facts.has_interpreter) {
    findings.push_back(statically_linked());
    return;
  }
  const std::string reason = raised_privileges(file);
  if (!reason.empty()) {
    findings.push_back(privileged(reason, registered));
    return;
  }
  if (const std::string sanitizer = needed_first(facts); !sanitizer.empty() && cleave.can_preload())
    return findings.push_back(linked_with_sanitizer(sanitizer));
  const std::string name = needed_opencl(facts);
  findings.push_back(name.empty() ? not_linked(cleave) : linked(facts, name, cleave));
  if (cleave.can_preload()) note_search_paths(facts, findings);
}

void examine_file(const fs::path& file, const Installation& cleave, bool registered, bool may_be_script,
                  std::vector<Finding>& findings);

// Examines the interpreter; what the script itself does cannot be known.
void examine_script(const std::string& interpreter, const Installation& cleave, bool registered,
                    std::vector<Finding>& findings) {
  const ProgramLookup found = find_program(interpreter);
  if (!found.file) {
    findings.push_back({Severity::problem,
                        "it is a script whose interpreter " + interpreter + " " + found.reason,
                        "install the interpreter or fix the script's first line"});
    return;
  }
  findings.push_back(
      {Severity::note, "it is a script, run by " + found.file->string() + "; about the interpreter:", ""});
  examine_file(*found.file, cleave, registered, false, findings);
}

void examine_file(const fs::path& file, const Installation& cleave, bool registered, bool may_be_script,
                  std::vector<Finding>& findings) {
  const ElfReading elf = read_elf(file);
  if (elf.facts) {
    examine_elf(file, *elf.facts, cleave, registered, findings);
    return;
  }
  if (!elf.damage.empty()) {
    findings.push_back(
        {Severity::problem, "its ELF file is damaged: " + elf.damage, "install the program again"});
    return;
  }
  const auto interpreter = interpreter_of(file);
  if (interpreter && may_be_script) {
    examine_script(*interpreter, cleave, registered, findings);
  } else if (interpreter) {
    findings.push_back(
        {Severity::note, "it is a script itself: not examined further", "run doctor on its interpreter"});
  } else {
    findings.push_back({Severity::problem, "it is neither an ELF program nor a script with a `#!` line",
                        "name the program that it starts"});
  }
}

}  // namespace

std::vector<Finding> examine_program(const std::string& name, const Installation& cleave, bool registered) {
  const ProgramLookup found = find_program(name);
  if (!found.file)
    return {{Severity::problem, name + " " + found.reason, "check the name, PATH and the file's mode"}};
  std::vector<Finding> findings = {{Severity::note, "the file is " + found.file->string(), ""}};
  examine_file(*found.file, cleave, registered, true, findings);
  return findings;
}

}  // namespace cleave::cli
