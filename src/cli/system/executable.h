// Finds, examines and executes files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cleave::cli {

struct ProgramLookup {
  std::optional<std::filesystem::path> file;
  std::string reason;  // why there is no file: "is not in PATH", "is not executable", ...
};

// The file that execvp() would run for `name`.
ProgramLookup find_program(const std::string& name);

// The interpreter in a script's first line, or NAME for `#!/usr/bin/env NAME`. Empty if the file does not start with `#!`.
std::optional<std::string> interpreter_of(const std::filesystem::path& file);

// Why the program runs with raised privileges, in which case the dynamic loader ignores the environment: "set-uid", "set-gid"
// or "file capabilities"; empty if it does not.
std::string raised_privileges(const std::filesystem::path& file);

// The words as functions of the system take them: with a null pointer behind the last. For as long as `words` lives.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

// Replaces this process with the program that the first word names. Returns only if that fails; errno says why.
void execute(const std::vector<std::string>& words);

}  // namespace cleave::cli
