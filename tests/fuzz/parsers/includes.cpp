// The client's search for included files in a program's text and options, and the server's handling of paths and logs. An
// input goes to all of them.
#include <filesystem>
#include <string>

#include "harness.h"
#include "remote/client/includes/build_options.h"
#include "remote/client/includes/directives.h"
#include "remote/server/builds/source_folder.h"

namespace {

using cleave::fuzz::require;
using cleave::remote::client::parse_directives;
using cleave::remote::client::read_build_options;
using cleave::remote::server::is_include_path;
using cleave::remote::server::strip_source_folders;

void check_directives(const std::string& text) {
  const auto found = parse_directives(text);
  for (const auto& include : found.includes) require(!include.name.empty(), "an include names something");
  const auto more = parse_directives("/* a comment */\n#include \"one.h\"\n" + text);
  require(more.includes.size() == found.includes.size() + 1, "a line in front adds what it says");
  require(more.definitions == found.definitions, "and nothing else");
}

void check_options(const std::string& options) {
  std::size_t last = 0;
  for (const auto& folder : read_build_options(options).folders) {
    require(!folder.path.empty() && folder.at < options.size(), "a folder is within the options");
    require(folder.at >= last, "folders come in their order");
    last = folder.at;
  }
}

void check_path(const std::string& path) {
  if (!is_include_path(path)) return;
  const std::filesystem::path inside = std::filesystem::path("/root" + path).lexically_normal();
  require(*++inside.begin() == "root", "a path stays below the root");
}

void check_log(const std::string& log) {
  require(strip_source_folders(log).size() <= log.size(), "leaving out adds nothing");
  require(strip_source_folders("x" + log).starts_with("x"), "what is in front stays");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(cleave::fuzz::text_of(data, size));
  check_directives(text);
  check_options(text);
  check_path(text);
  check_path("/" + text);
  check_log(text);
  return 0;
}
