// The parser of settings files, and the settings that result.
#include <algorithm>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

#include "base/settings/configuration.h"
#include "base/settings/toml_file.h"
#include "harness.h"

namespace {

using cleave::base::Configuration;
using cleave::base::read_toml;
using cleave::base::SplitPolicy;
using cleave::base::TomlFile;
using cleave::base::TomlValue;
using cleave::fuzz::require;

// A file without a name, rewritten for each text.
class Scratch {
 public:
  Scratch() : file_(memfd_create("settings", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(file_)) {
    require(file_ >= 0, "there is a scratch file");
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { close(file_); }

  const std::string& holding(std::string_view text) {
    require(ftruncate(file_, 0) == 0, "the scratch file can be emptied");
    require(pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "the scratch file can be written");
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

bool same(const TomlFile& a, const TomlFile& b) {
  return a.exists == b.exists && a.error == b.error &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const TomlValue& x, const TomlValue& y) {
                      return x.path == y.path && x.text == y.text && x.line == y.line;
                    });
}

void check_file(const TomlFile& file, std::string_view text) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  require(file.exists, "a file that can be read exists");
  require(file.error.empty() || file.values.empty(), "a broken file sets nothing");
  require(file.error.find('\n') == std::string::npos, "an error is one line");
  for (const TomlValue& value : file.values) {
    require(!value.path.empty(), "a value has a key");
    require(value.line >= 1 && value.line <= lines, "a value stands in a line of the file");
  }
}

void check_configuration(const std::string& path, const TomlFile& file) {
  const Configuration configuration = cleave::base::load([&](const char* name) -> const char* {
    return std::string_view(name) == "CLEAVE_CONFIG" ? path.c_str() : nullptr;
  });
  require(file.error.empty() || !configuration.problems.empty(), "what cannot be read is a problem");
  require(configuration.problems.empty() || configuration.settings.policy.kind == SplitPolicy::Kind::off,
          "with a problem nothing is split");
  for (const std::string& problem : configuration.problems) {
    require(problem.starts_with(path + ":"), "a problem says where it is");
  }
  if (!configuration.problems.empty()) return;
  for (const TomlValue& value : file.values) {
    const std::string origin = path + ":" + std::to_string(value.line);
    require(std::any_of(configuration.lines.begin(), configuration.lines.end(),
                        [&](const auto& line) { return line.origin == origin && line.value == value.text; }),
            "every value is in force, or there is a problem");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scratch scratch;
  const std::string_view text = cleave::fuzz::text_of(data, size);
  const std::string& path = scratch.holding(text);
  const TomlFile file = read_toml(path);
  check_file(file, text);
  require(same(file, read_toml(path)), "a file is read the same way twice");
  check_configuration(path, file);
  if (file.error.empty()) {
    const std::string commented = std::string(text) + "\n# [split]\n# policy = \"off\"\n";
    require(same(file, read_toml(scratch.holding(commented))), "comments set nothing");
  }
  return 0;
}
