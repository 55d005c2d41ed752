// A worker's folder for temporary files, where no namespace gives it one that vanishes with it.
//
// Not thread-safe.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

// Removes what is in the folder and then the folder. What is in it is not trusted: links are not followed, and neither its depth
// nor its modes matter. False: something is left, since a process that is still there goes on adding to it, say.
bool remove_folder(const std::string& path);

// Removes the folders of servers that have been killed.
void remove_stale_folders();

// Locked as long as its server lives.
class PrivateFolder {
 public:
  PrivateFolder() = default;
  // In $TMPDIR or /tmp, for that user alone. If it cannot be made, path() is empty and errno says why.
  PrivateFolder(uid_t user, gid_t group);
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  PrivateFolder& operator=(PrivateFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
  }
  ~PrivateFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  base::FileDescriptor lock_;
};

}  // namespace cleave::remote::server
