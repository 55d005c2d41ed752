#include "remote/client/includes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "remote/client/build_options.h"
#include "remote/client/directives.h"
#include "remote/protocol/limits.h"
#include "remote/protocol/sources.h"

namespace cleave::remote::client {
namespace {

class File {
 public:
  // Whatever else has that name, a pipe or a device, is not waited for.
  explicit File(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    struct stat status {};
    is_regular_ = descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] bool is_regular() const { return is_regular_; }

  // False: it is longer than `most`, or cannot be read.
  bool append_to(std::string& text, std::uint64_t most) const {
    std::array<char, 1 << 14U> some{};
    for (std::uint64_t all = 0;;) {
      const ssize_t got = read(descriptor_, some.data(), some.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got == 0;
      all += static_cast<std::uint64_t>(got);
      if (all > most) return false;
      text.append(some.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int descriptor_;
  bool is_regular_ = false;
};

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

// Above the root of all folders, which here is there itself and there is somewhere else.
bool leads_above(const std::string& absolute) {
  std::ptrdiff_t depth = 0;
  for (const auto& part : std::filesystem::path(absolute).relative_path()) {
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return true;
  }
  return false;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string within(std::string folder, const std::string& name) { return folder.append("/").append(name); }

constexpr const char* kExpanded = "a file that it includes is named by the expansion of a macro";

class Search {
 public:
  Search(const std::vector<std::string_view>& given, const BuildOptions& options)
      : given_(given.begin(), given.end()), here_(current_folder()) {
    for (const BuildOptions::Folder& folder : options.folders) folders_.push_back(folder.path);
    for (const std::string& definition : options.definitions) define(definition);
  }

  void follow(std::string_view text, const std::optional<std::string>& folder) {
    Directives directives = directives_of(text);
    if (!directives.understood) sources_.problem = kExpanded;
    for (Definition& one : directives.definitions) definitions_.insert({one.name, one.text});
    for (const Include& include : directives.includes) {
      if (include.form == Include::Form::macro) {
        macros_.push_back({include, folder});
      } else {
        look_for(include, folder);
      }
    }
  }

  Sources run() {
    // What a macro is may be said in a file that only another macro has led to.
    bool all_known = true;
    do {
      while (!open_.empty()) {
        const Open next = std::move(open_.front());
        open_.pop_front();
        follow(std::string_view(sources_.texts).substr(next.at, next.size), next.folder);
      }
      all_known = true;
      for (std::size_t i = 0; i < macros_.size(); ++i) {
        std::set<std::string> seen;
        all_known = expand(macros_[i], macros_[i].include.name, seen) && all_known;
      }
    } while (!open_.empty());
    if (!all_known) sources_.problem = kExpanded;
    return std::move(sources_);
  }

  // As the compiler there will call a path that it is given; without the server's folder in front.
  [[nodiscard]] std::string there(const std::string& path) const {
    return path.starts_with('/') ? path : here_ + std::string(kHere) + path;
  }
  [[nodiscard]] bool needs_here() const { return needs_here_; }

 private:
  struct Open {
    std::size_t at;
    std::size_t size;
    std::string folder;
  };
  struct Macro {
    Include include;
    std::optional<std::string> folder;
  };

  // Of an option, where the quotes around a file's name may have been the shell's.
  void define(const std::string& option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) return;
    std::string text = option.substr(equals + 1);
    if (operand_of(text).name.empty()) text = '"' + text + '"';
    definitions_.insert({option.substr(0, equals), std::move(text)});
  }

  // All that the macro is anywhere defined as. Whether it is.
  bool expand(const Macro& macro, const std::string& name, std::set<std::string>& seen) {
    if (!seen.insert(name).second) return false;
    bool known = false;
    for (auto one = definitions_.lower_bound({name, {}}); one != definitions_.end() && one->first == name;
         ++one) {
      Include include = operand_of(one->second);
      if (include.name.empty()) continue;
      include.further = macro.include.further;
      if (include.form == Include::Form::macro) {
        known = expand(macro, include.name, seen) || known;
      } else {
        known = true;
        look_for(include, macro.folder);
      }
    }
    return known;
  }

  void look_for(const Include& include, const std::optional<std::string>& folder) {
    const std::string& name = include.name;
    if (name.starts_with('/')) {
      if (File(name).is_regular()) sources_.problem = "a file that it includes is named by an absolute path";
      return;
    }
    const bool beside = include.form == Include::Form::quoted && folder.has_value();
    if (beside && take(within(*folder, name)) && !include.further) return;
    // The program's own headers come before all folders.
    if (given_.count(name) != 0) return;
    if (take(within(".", name))) {
      needs_here_ = true;
      if (!include.further) return;
    }
    for (const std::string& one : folders_) {
      if (take(within(one, name)) && !include.further) return;
    }
  }

  // Whether there is such a file.
  bool take(const std::string& path) {
    const std::string name = there(path);
    const std::string plain = std::filesystem::path(name).lexically_normal().string();
    if (taken_.count(plain) != 0) {
      // By another way, of which the folders have to be there as well.
      const std::string folder = folder_of(name) + "/";
      if (name.find("..") != std::string::npos && taken_.insert(folder).second) add(folder, 0);
      return true;
    }
    const File file(path);
    if (!file.is_regular()) return false;
    const std::size_t at = sources_.texts.size();
    const bool fits = !leads_above(name) && sources_.names.size() < kMostSources &&
                      name.size() <= kMostSourcePath && file.append_to(sources_.texts, kMostSourceBytes - at);
    if (!fits) {
      sources_.texts.resize(at);
      sources_.problem = "the files that it includes are too many, too large, or in folders above all others";
      return true;
    }
    taken_.insert(plain);
    add(name, sources_.texts.size() - at);
    open_.push_back({at, sources_.texts.size() - at, folder_of(path)});
    return true;
  }

  [[nodiscard]] bool has_room_for(const std::string& name) const {
    return sources_.names.size() < kMostSources && name.size() <= kMostSourcePath &&
           name.size() <= kMostSourcePaths - paths_;
  }

  void add(const std::string& name, std::size_t size) {
    if (!has_room_for(name)) return;
    paths_ += name.size();
    sources_.names.push_back(name);
    sources_.sizes.push_back(size);
  }

  const std::set<std::string> given_;
  const std::string here_;
  std::vector<std::string> folders_;
  std::set<std::pair<std::string, std::string>> definitions_;  // a macro may have several
  std::vector<Macro> macros_;
  std::set<std::string> taken_;
  std::deque<Open> open_;
  std::size_t paths_ = 0;  // bytes of all names
  bool needs_here_ = false;
  Sources sources_;
};

// The current folder comes first, as with the drivers that we know of. What is no folder here may be one
// there.
std::vector<std::string> rewritten(std::string_view options, const BuildOptions& read, const Search& search) {
  std::vector<std::string> pieces(1);
  if (search.needs_here()) {
    pieces.back() = "-I ";
    pieces.push_back(search.there("") + ". ");
  }
  std::size_t done = 0;
  for (const BuildOptions::Folder& folder : read.folders) {
    if (!is_folder(folder.path)) continue;
    pieces.back().append(options.substr(done, folder.at - done));
    std::string path = search.there(folder.path);
    pieces.push_back(path.substr(0, path.size() - folder.path.size()));
    done = folder.at;
  }
  pieces.back().append(options.substr(done));
  return pieces;
}

}  // namespace

Sources sources_of(const std::vector<std::string_view>& texts, const std::vector<std::string_view>& given,
                   std::string_view options) {
  const BuildOptions read = read_build_options(options);
  Search search(given, read);
  for (const std::string_view text : texts) search.follow(text, std::nullopt);
  Sources sources = search.run();
  if (!sources.empty()) sources.options = rewritten(options, read, search);
  return sources;
}

}  // namespace cleave::remote::client
