// Programs as a shell sees them: names, files, scripts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cleave::cli {

struct ProgramLookup {
  std::optional<std::filesystem::path> file;
  std::string reason;  // why there is none: "is not in PATH", "is not executable", ...
};

// The file that execvp would run for `name`.
ProgramLookup find_program(const std::string& name);

// What a script's first line names: the interpreter, or for `#!/usr/bin/env NAME` that NAME. Nothing where
// the file does not start with `#!`.
std::optional<std::string> interpreter_of(const std::filesystem::path& file);

// Why the system raises the privileges of that program for this user, which makes the dynamic loader ignore
// the environment: "set-uid", "set-gid" or "file capabilities"; empty where it does not.
std::string raised_privileges(const std::filesystem::path& file);

}  // namespace cleave::cli
