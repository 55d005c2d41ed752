// A file with the number of clients, for splitters that read it (neighbours.source = file:PATH).
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <string>

namespace cleave::remote::server {

class ClientCountFile {
 public:
  // In the folder, which is created; if it is empty, in $RUNTIME_DIRECTORY, /run/cleave or a temporary folder. If none can be
  // written, that is logged and path() is empty.
  explicit ClientCountFile(const std::string& folder);
  ClientCountFile(const ClientCountFile&) = delete;
  ClientCountFile& operator=(const ClientCountFile&) = delete;
  ~ClientCountFile();

  void write(unsigned clients);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string own_folder_;
};

}  // namespace cleave::remote::server
