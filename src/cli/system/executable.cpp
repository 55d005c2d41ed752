#include "cli/system/executable.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/files/search_list.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

ProgramLookup look_up_path(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {{}, "does not exist"};
  if (!is_file(path)) return {{}, "is not a file"};
  if (::access(path.c_str(), X_OK) != 0) return {{}, "is not executable"};
  return {path, ""};
}

}  // namespace

ProgramLookup find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return look_up_path(name);
  const char* path = std::getenv("PATH");
  ProgramLookup result = {{}, "is not in PATH"};
  for (const std::string& folder : base::split(path != nullptr ? path : "/bin:/usr/bin", ":")) {
    // An empty entry is the current folder.
    ProgramLookup found = look_up_path(fs::path(folder.empty() ? "." : folder) / name);
    if (found.file) return found;
    if (found.reason == "is not executable") result.reason = found.reason;
  }
  return result;
}

std::optional<std::string> interpreter_of(const fs::path& file) {
  // The kernel reads no more than this of the first line.
  std::array<char, 256> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  std::string line(start.data(), static_cast<std::size_t>(stream.gcount()));
  if (!line.starts_with("#!")) return std::nullopt;
  line = line.substr(2, line.find('\n') - 2);

  base::SearchList words;
  for (const std::string& word : base::split(line, " \t\r")) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.empty()) return "";
  if (fs::path(words[0]).filename() != "env") return words[0];
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_option_or_variable = words[i].starts_with('-') || words[i].find('=') != std::string::npos;
    if (!is_option_or_variable) return words[i];
  }
  return words[0];
}

std::string raised_privileges(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "";
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid()) return "set-uid";
  // Without the group's right to execute, the bit means something else.
  const bool is_set_gid = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  if (is_set_gid && status.st_gid != ::getgid()) return "set-gid";
  // Root has all capabilities already.
  if (::getuid() != 0 && ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0)
    return "file capabilities";
  return "";
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void execute(const std::vector<std::string>& words) {
  const std::vector<char*> arguments = pointers_to(words);
  ::execvp(arguments[0], arguments.data());
}

}  // namespace cleave::cli
