#include "remote/server/supervisor/client_count_file.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "daemon/service_manager.h"
#include "remote/server/processes/log.h"

namespace cleave::remote::server {
namespace {

bool is_usable(const std::string& folder) {
  ::mkdir(folder.c_str(), 0755);
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

ClientCountFile::ClientCountFile(const std::string& folder) {
  std::string chosen = folder.empty() ? daemon::runtime_folder() : folder;
  if (chosen.empty() && is_usable("/run/cleave")) chosen = "/run/cleave";
  if (chosen.empty()) {
    char made[] = "/tmp/cleave-serverd.XXXXXX";
    if (::mkdtemp(made) != nullptr) chosen = own_folder_ = made;
    ::chmod(made, 0755);
  }
  if (chosen.empty() || !is_usable(chosen)) {
    log_line("--state: " + chosen + " cannot be written to; launches are split as for a single client");
    return;
  }
  // Several servers may share the folder.
  path_ = chosen + "/clients." + std::to_string(::getpid());
  write(0);
}

ClientCountFile::~ClientCountFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (!own_folder_.empty()) ::rmdir(own_folder_.c_str());
}

// Replaced by rename(2), so that a reader never sees a part of it.
void ClientCountFile::write(unsigned clients) {
  if (path_.empty()) return;
  const std::string text = std::to_string(std::max(clients, 1U)) + "\n";
  const std::string next = path_ + ".new";
  const base::FileDescriptor file(
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  const bool written = file.is_open() && base::write_all(file.get(), text);
  if (!written || std::rename(next.c_str(), path_.c_str()) != 0) log_line(path_ + " cannot be written");
}

}  // namespace cleave::remote::server
