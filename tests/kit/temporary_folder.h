// A folder for one test, removed with all that is in it: in TMPDIR, or in /tmp where that path would leave too little room
// for a unix socket's.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kit {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = parent() + "/cleave-test-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // The path of a file in it, which need not exist.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }
  // Writes a file in it, with the folders above it, and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

 private:
  static std::string parent() {
    constexpr std::size_t kLongest = 40;  // of the 107 bytes of a socket's path
    const char* const set = std::getenv("TMPDIR");
    const std::string named = set != nullptr ? set : "";
    return named.starts_with('/') && named.size() <= kLongest ? named : "/tmp";
  }

  std::string path_;
};

// Everything in a file; empty if it cannot be read.
inline std::string file_contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace kit
