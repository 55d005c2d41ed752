// The files that a client's program includes, on disk for as long as its build takes: below a new folder that
// only the worker's user may enter, at the paths that they have at the client's.
//
// The folder's name follows from what is in it, so that drivers, which keep what they have built, recognise
// it and are never given another text under the same name. Where there is such a folder already, in use by
// another build, the name is a random one.
//
// Nothing is written outside of the folder: names that lead out of it are not written at all. What a process
// that crashed has left behind is removed by a later one: a folder in use is locked.
//
// It is the current folder of the thread that has made it: compilers look there first, and would find what
// lies where the server was started. Other threads keep theirs.
//
// For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::remote::server {

struct IncludedFiles {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;  // as many; together the size of `texts`
  std::string texts;
  std::vector<std::string> options;  // what goes around the folder's path
  std::string problem;               // why there are none, for people
};

// Whether it is an absolute path that never leads above the root.
bool is_include_path(std::string_view path);

class SourceFolder {
 public:
  // All names have to be paths. Where files cannot be written `problem()` says so.
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
  int lock_ = -1;
  int previous_folder_ = -1;  // the thread's current folder
};

// Removes the folders of processes that are no more.
void remove_stale_source_folders();

// What a compiler says, as it would have said it at the client's: without the folders' paths.
std::string strip_source_folders(std::string_view text);

}  // namespace cleave::remote::server
