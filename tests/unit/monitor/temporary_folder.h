#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cleave::monitor {

// A folder that is removed with all that is in it. Its path is short enough for a socket's.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = "/tmp/cleave-monitor-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

}  // namespace cleave::monitor
