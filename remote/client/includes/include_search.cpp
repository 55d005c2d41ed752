#include "remote/client/includes/include_search.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/regular_file.h"
#include "remote/client/includes/build_options.h"
#include "remote/client/includes/directives.h"
#include "remote/protocol/include_paths.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {
namespace {

// By opening it, as compilers find out.
bool is_readable_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         base::FileDescriptor(base::open_own(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY)).is_open();
}

std::string current_folder() {
  std::error_code error;
  const std::string path = std::filesystem::current_path(error).string();
  std::string plain;
  for (const char c : path) {
    if (is_plain(c)) {
      plain.push_back(c);
      continue;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    plain.append({'%', kDigits[code >> 4U], kDigits[code & 15U]});
  }
  return plain;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Whether a path leads above the root folder: ignored here, but not below the server's folder.
bool leaves_root(const std::string& absolute) {
  std::ptrdiff_t depth = 0;
  for (const auto& part : std::filesystem::path(absolute).relative_path()) {
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return true;
  }
  return false;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string joined_path(std::string folder, const std::string& name) {
  return folder.append("/").append(name);
}

constexpr const char* kExpanded = "a file that it includes is named by the expansion of a macro";

class IncludeSearch {
 public:
  IncludeSearch(const std::vector<std::string_view>& given, const BuildOptions& options)
      : provided_names_(given.begin(), given.end()), current_folder_(current_folder()) {
    for (const BuildOptions::Folder& folder : options.folders) folders_.push_back(folder.path);
    for (const std::string& definition : options.definitions) define(definition);
  }

  void scan(std::string_view text, const std::optional<std::string>& folder) {
    Directives directives = parse_directives(text);
    if (!directives.fully_parsed) sources_.problem = kExpanded;
    for (Definition& one : directives.definitions) definitions_.insert({one.name, one.text});
    for (const Include& include : directives.includes) {
      if (include.form == Include::Form::macro) {
        macros_.push_back({include, folder});
      } else {
        find_file(include, folder);
      }
    }
  }

  IncludedFiles run() {
    // A macro may be defined in a file that was found by expanding another one.
    bool all_known = true;
    do {
      while (!unscanned_.empty()) {
        const Unscanned next = std::move(unscanned_.front());
        unscanned_.pop_front();
        scan(std::string_view(sources_.texts).substr(next.at, next.size), next.folder);
      }
      all_known = true;
      for (std::size_t i = 0; i < macros_.size(); ++i) {
        std::set<std::string> seen;
        all_known = expand(macros_[i], macros_[i].include.name, seen) && all_known;
      }
    } while (!unscanned_.empty());
    if (!all_known) sources_.problem = kExpanded;
    return std::move(sources_);
  }

  // The path on the server, without the server's folder in front.
  [[nodiscard]] std::string server_path(const std::string& path) const {
    return path.starts_with('/') ? path : current_folder_ + std::string(kCurrentFolderMark) + path;
  }
  [[nodiscard]] bool needs_current_folder() const { return needs_current_folder_; }

 private:
  struct Unscanned {
    std::size_t at;
    std::size_t size;
    std::string folder;
  };
  struct Macro {
    Include include;
    std::optional<std::string> folder;
  };

  // A -D option: the shell may have removed the quotes around a file's name.
  void define(const std::string& option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) return;
    std::string text = option.substr(equals + 1);
    if (parse_operand(text).name.empty()) text = '"' + text + '"';
    definitions_.insert({option.substr(0, equals), std::move(text)});
  }

  // Searches the files of all definitions of the macro. Returns whether there is one.
  bool expand(const Macro& macro, const std::string& name, std::set<std::string>& seen) {
    if (!seen.insert(name).second) return false;
    bool known = false;
    for (auto one = definitions_.lower_bound({name, {}}); one != definitions_.end() && one->first == name;
         ++one) {
      Include include = parse_operand(one->second);
      if (include.name.empty()) continue;
      include.is_include_next = macro.include.is_include_next;
      if (include.form == Include::Form::macro) {
        known = expand(macro, include.name, seen) || known;
      } else {
        known = true;
        find_file(include, macro.folder);
      }
    }
    return known;
  }

  void find_file(const Include& include, const std::optional<std::string>& folder) {
    const std::string& name = include.name;
    if (name.starts_with('/')) {
      if (is_readable_file(name)) sources_.problem = "it includes a file by an absolute path";
      return;
    }
    const bool beside = include.form == Include::Form::quoted && folder.has_value();
    if (beside && add_file(joined_path(*folder, name)) && !include.is_include_next) return;
    // Header programs take precedence over all folders.
    if (provided_names_.count(name) != 0) return;
    if (add_file(joined_path(".", name))) {
      needs_current_folder_ = true;
      if (!include.is_include_next) return;
    }
    for (const std::string& one : folders_) {
      if (add_file(joined_path(one, name)) && !include.is_include_next) return;
    }
  }

  // Returns whether the file exists.
  bool add_file(const std::string& path) {
    const std::string name = server_path(path);
    const std::string plain = std::filesystem::path(name).lexically_normal().string();
    if (visited_.count(plain) != 0) {
      // Known by another path, whose folders must exist on the server as well.
      const std::string folder = folder_of(name) + "/";
      if (name.find("..") != std::string::npos && visited_.insert(folder).second) add(folder, 0);
      return true;
    }
    if (!is_readable_file(path)) return false;
    const std::size_t at = sources_.texts.size();
    const bool fits =
        !leaves_root(name) && sources_.names.size() < kMaxIncludes && name.size() <= kMaxIncludePath;
    const auto text = fits ? base::read_regular_file(path, kMaxIncludeBytes - at).text : std::nullopt;
    if (!text) {
      sources_.problem = "the files that it includes are too many, too large, or in folders above the root";
      return true;
    }
    sources_.texts += *text;
    visited_.insert(plain);
    add(name, text->size());
    unscanned_.push_back({at, text->size(), folder_of(path)});
    return true;
  }

  [[nodiscard]] bool has_room_for(const std::string& name) const {
    return sources_.names.size() < kMaxIncludes && name.size() <= kMaxIncludePath &&
           name.size() <= kMaxIncludePaths - paths_;
  }

  void add(const std::string& name, std::size_t size) {
    if (!has_room_for(name)) return;
    paths_ += name.size();
    sources_.names.push_back(name);
    sources_.sizes.push_back(size);
  }

  const std::set<std::string> provided_names_;
  const std::string current_folder_;
  std::vector<std::string> folders_;
  std::set<std::pair<std::string, std::string>> definitions_;  // a macro may have several
  std::vector<Macro> macros_;
  std::set<std::string> visited_;
  std::deque<Unscanned> unscanned_;
  std::size_t paths_ = 0;  // bytes of all names
  bool needs_current_folder_ = false;
  IncludedFiles sources_;
};

// The current folder comes first, as with known drivers. A path that is no folder here is left as it is, since it may be one
// on the server.
std::vector<std::string> rewritten_options(std::string_view options, const BuildOptions& read,
                                           const IncludeSearch& search) {
  std::vector<std::string> pieces(1);
  if (search.needs_current_folder()) {
    pieces.back() = "-I ";
    pieces.push_back(search.server_path("") + ". ");
  }
  std::size_t done = 0;
  for (const BuildOptions::Folder& folder : read.folders) {
    if (!is_folder(folder.path)) continue;
    pieces.back().append(options.substr(done, folder.at - done));
    std::string path = search.server_path(folder.path);
    pieces.push_back(path.substr(0, path.size() - folder.path.size()));
    done = folder.at;
  }
  pieces.back().append(options.substr(done));
  return pieces;
}

}  // namespace

bool reports_missing_file(std::string_view log) {
  constexpr std::array<std::string_view, 4> kPhrases{"not found", "No such file", "could not open",
                                                     "cannot open"};
  return std::any_of(kPhrases.begin(), kPhrases.end(),
                     [log](std::string_view phrase) { return log.find(phrase) != std::string_view::npos; });
}

IncludedFiles find_included_files(const std::vector<std::string_view>& texts,
                                  const std::vector<std::string_view>& given, std::string_view options) {
  const BuildOptions read = read_build_options(options);
  IncludeSearch search(given, read);
  for (const std::string_view text : texts) search.scan(text, std::nullopt);
  IncludedFiles sources = search.run();
  if (!sources.empty()) sources.options = rewritten_options(options, read, search);
  return sources;
}

}  // namespace cleave::remote::client
