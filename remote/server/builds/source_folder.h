// The files that a client's program includes, on disk for as long as its build takes: below a new folder that only the worker's
// user can enter, at the paths that they have on the client's machine.
//
// The folder's name is a hash of its contents. Drivers cache builds by the paths of included files: they recognise the folder,
// and never see different contents under the same name. If the folder exists, in use by another build, the name is random.
//
// Nothing is written outside of the folder: paths that lead out of it are skipped. Folders that a crashed process has left
// behind are removed by a later one; folders in use are locked.
//
// The folder is the current folder of the thread that has created it: compilers search there first, and would otherwise find
// files where the server was started. Other threads are not affected.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

struct IncludedFiles {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;  // one for each name; their sum is the size of `texts`
  std::string texts;
  std::vector<std::string> options;  // the build options, split where the folder's path is inserted
  std::string problem;               // why the files are missing, for users
};

// Whether this is an absolute path that never leads above the root.
bool is_include_path(std::string_view path);

class SourceFolder {
 public:
  // Requires: is_include_path() for all names. `problem()` is set if files cannot be written.
  explicit SourceFolder(const IncludedFiles& files);
  SourceFolder(const SourceFolder&) = delete;
  SourceFolder& operator=(const SourceFolder&) = delete;
  ~SourceFolder();

  [[nodiscard]] const std::string& path() const { return path_; }  // empty: there is none
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string options(const IncludedFiles& files) const;

 private:
  bool make(std::uint64_t number);
  void enter();
  bool write(std::string_view name, std::string_view text) const;

  std::string path_;
  std::string problem_;
  base::FileDescriptor lock_;
  base::FileDescriptor previous_folder_;  // the thread's current folder
};

// Removes the folders of processes that have ended.
void remove_stale_source_folders();

// Removes the folders' paths from a compiler's output, so that it reads as on the client's machine.
std::string strip_source_folders(std::string_view text);

}  // namespace cleave::remote::server
