#include "cli/run/run.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "base/files/search_list.h"
#include "cli/system/elf.h"
#include "cli/system/executable.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

void preload(const Installation& cleave) {
  const base::SearchList others = base::split(environment("LD_PRELOAD"), " :");
  set("LD_PRELOAD", base::join(base::put_first({cleave.drop_in, cleave.stub}, others), ':'));
  // The program's children may be linked with it.
  set(base::kSanitizerOptions, base::with_preload_allowed(environment(base::kSanitizerOptions)));
}

// Undoes what a `cleave run` above has done.
void preload_nothing(const Installation& cleave) {
  base::SearchList others = base::split(environment("LD_PRELOAD"), " :");
  std::erase_if(others,
                [&](const std::string& each) { return each == cleave.drop_in || each == cleave.stub; });
  if (others.empty()) {
    ::unsetenv("LD_PRELOAD");
  } else {
    set("LD_PRELOAD", base::join(others, ':'));
  }
}

// Whether the program, or the interpreter of a script, ends if a library is preloaded.
bool must_be_without_preload(const std::string& program) {
  ProgramLookup found = find_program(program);
  if (!found.file) return false;
  if (const auto interpreter = interpreter_of(*found.file)) found = find_program(*interpreter);
  if (!found.file) return false;
  const ElfReading elf = read_elf(*found.file);
  return elf.facts && !needed_first(*elf.facts).empty();
}

void prepend_library_path(const Installation& cleave) {
  const base::SearchList others = base::split(environment("LD_LIBRARY_PATH"), ":;");
  set("LD_LIBRARY_PATH", base::join(base::put_first({cleave.drop_in_folder}, others), ':'));
}

// The layers that the user wants. ocl-icd 2.3.1 truncates OPENCL_LAYERS in place at the first colon while it loads the layers,
// so children of an OpenCL program inherit only the first one; CLEAVE_LAYERS keeps them all.
base::SearchList wanted_layers() {
  const std::string layers = environment("OPENCL_LAYERS");
  const std::string remembered = environment("CLEAVE_LAYERS");
  const bool was_truncated = !layers.empty() && remembered.starts_with(layers + ':');
  return base::split(was_truncated ? remembered : layers, ":");
}

void add_layer(const Installation& cleave) {
  const base::SearchList layers = base::put_first({cleave.layer}, wanted_layers());
  set("OPENCL_LAYERS", base::join(layers, ':'));
  if (layers.size() > 1) {
    set("CLEAVE_LAYERS", base::join(layers, ':'));
  } else {
    ::unsetenv("CLEAVE_LAYERS");
  }
}

bool is_complete(const Installation& cleave) {
  const auto missing = cleave.missing();
  if (missing.empty()) return true;
  std::fprintf(stderr, "cleave: the installation is broken: %s is missing; install Cleave again\n",
               missing.front().c_str());
  return false;
}

// Sets every variable that can hold the installation's path, and prints a line if some cannot.
bool set_environment(const Installation& cleave, const std::string& program) {
  const char* folder = cleave.drop_in_folder.c_str();
  if (!cleave.can_be_in_layers() && !cleave.can_be_in_library_path()) {
    std::fprintf(
        stderr,
        "cleave: cannot be loaded from %s: its path contains a separator of library lists; move Cleave\n",
        folder);
    return false;
  }
  if (must_be_without_preload(program)) {
    preload_nothing(cleave);
  } else if (cleave.can_preload()) {
    preload(cleave);
  } else {
    std::fprintf(
        stderr, "cleave: LD_PRELOAD cannot hold %s (a space); using LD_LIBRARY_PATH and OPENCL_LAYERS only\n",
        folder);
  }
  if (cleave.can_be_in_library_path()) prepend_library_path(cleave);
  add_layer(cleave);
  return true;
}

void add_explanation() {
  const std::string stats = environment("CLEAVE_STATS");
  if (stats == "explain" || stats.starts_with("explain,")) return;
  set("CLEAVE_STATS", stats.empty() ? "explain" : "explain," + stats);
}

int exec_program(const std::vector<std::string>& command) {
  execute(command);
  const int error = errno;
  std::fprintf(stderr, "cleave: cannot run %s: %s\n", command[0].c_str(), std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int run(const RunRequest& request) {
  const Installation cleave = find_installation();
  if (!is_complete(cleave) || !set_environment(cleave, request.command.front())) return 1;
  for (const auto& [name, value] : request.settings) set(name.c_str(), value);
  if (request.explain) add_explanation();
  return exec_program(request.command);
}

}  // namespace cleave::cli
