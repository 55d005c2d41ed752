#include "kernels/text/includes.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/files/regular_file.h"

namespace cleave::kernels {
namespace {

// A limit against device files, which must not block a program.
constexpr std::size_t kMaxFileSize = 16 << 20;

std::optional<std::string> content(const std::string& path) {
  return base::read_regular_file(path, kMaxFileSize).text;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

std::string within(const std::string& folder, const std::string& name) {
  if (name.starts_with('/') || folder.empty()) return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

}  // namespace

bool HeaderFiles::is_file(const std::string& path) {
  const auto known = known_.find(path);
  if (known != known_.end()) return known->second;
  auto text = content(path);
  if (text) contents_[path] = std::move(*text);
  return known_[path] = text.has_value();
}

std::vector<std::string> HeaderFiles::find(const std::string& name, const std::string& file) {
  const std::string folder = folder_of(file);
  std::vector<std::string> found;
  for (const auto& [known, text] : embedded_) {
    if (known == name || known == within(folder, name)) found.push_back(known);
  }
  std::vector<std::string> paths{within(folder, name), name};
  for (const std::string& each : folders_) paths.push_back(within(each, name));
  for (std::string& path : paths) {
    const auto same = [&](const auto& header) { return header.first == path; };
    // A file may have the name of a header in memory, but not the same text.
    if (std::any_of(embedded_.begin(), embedded_.end(), same))
      path.insert(0, path.starts_with('/') ? "/" : "./");
    if (is_file(path) && std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
  }
  return found;
}

std::string HeaderFiles::read(const std::string& file) {
  const auto same = [&](const auto& header) { return header.first == file; };
  const auto embedded = std::find_if(embedded_.begin(), embedded_.end(), same);
  return embedded != embedded_.end() ? embedded->second : contents_[file];
}

}  // namespace cleave::kernels
