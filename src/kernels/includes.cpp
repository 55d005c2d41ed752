#include "kernels/includes.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <sys/stat.h>

#include "kernels/source_scan.h"

namespace cleave::kernels {
namespace {

// Limits against device files and recursive inclusion, which must not block a program.
constexpr off_t kMaxFileSize = 16 << 20;
constexpr std::size_t kMaxFiles = 4096;

std::optional<std::string> content(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size > kMaxFileSize) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

std::string within(const std::string& folder, const std::string& name) {
  if (name.starts_with('/') || folder.empty()) return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

class IncludeSearch {
 public:
  IncludeSearch(const std::vector<std::string>& folders, const Embedded& embedded)
      : folders_(folders), embedded_(embedded) {}

  void follow(std::string_view source, const std::string& file) {
    const JoinedText text(source, file);
    const std::string folder = folder_of(file);
    for (const Include& include : includes_of(text.text())) {
      const bool by_macro = include.name.empty();
      if (!by_macro && find(include.name, folder)) continue;
      miss({.way = by_macro ? Cause::Way::named_by_macro : Cause::Way::not_found,
            .construct = by_macro ? std::string(include.operand) : include.name,
            .file = file,
            .line = text.line_of(include.operand)});
    }
  }

  Included run(std::string_view source) && {
    follow(source, "");
    for (const auto& [name, text] : embedded_) open_.emplace_back(text, name);
    while (!open_.empty() && found_.complete) {
      auto [text, name] = std::move(open_.back());
      open_.pop_back();
      follow(text, name);
      found_.texts.push_back(std::move(text));
      found_.names.push_back(std::move(name));
      if (found_.texts.size() > kMaxFiles) {
        miss({.way = Cause::Way::not_found, .construct = found_.names.back(), .file = {}});
      }
    }
    return std::move(found_);
  }

 private:
  void miss(const Cause& what) {
    found_.complete = false;
    if (!found_.missing) found_.missing = what;
  }

  // Queues all headers that the name could mean, each once. Returns whether there is any.
  bool find(const std::string& name, const std::string& folder) {
    bool found = false;
    for (const auto& [known, text] : embedded_) found |= known == name || known == within(folder, name);
    std::vector<std::string> paths{within(folder, name), name};
    for (const std::string& each : folders_) paths.push_back(within(each, name));
    for (const std::string& path : paths) {
      if (seen_.count(path) != 0) {
        found = true;
      } else if (auto text = content(path)) {
        found = true;
        seen_.insert(path);
        open_.emplace_back(std::move(*text), path);
      }
    }
    return found;
  }

  const std::vector<std::string>& folders_;
  const Embedded& embedded_;
  std::set<std::string> seen_;
  std::vector<std::pair<std::string, std::string>> open_;  // texts to scan, with their paths or names
  Included found_;
};

}  // namespace

Included find_includes(std::string_view source, const std::vector<std::string>& folders,
                       const Embedded& embedded) {
  return IncludeSearch(folders, embedded).run(source);
}

}  // namespace cleave::kernels
