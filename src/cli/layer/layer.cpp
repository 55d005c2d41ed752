#include "cli/layer/layer.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <unistd.h>

#include "base/text/display_text.h"
#include "cli/icd/folders.h"
#include "cli/icd/steps.h"
#include "cli/probe/child_process.h"
#include "cli/probe/records.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

// The file that is written, its content, and its effect.
struct Registration {
  fs::path file;
  std::string text;
  std::string effect;
};

// Where systemd looks for the variables of the user's sessions: environment.d(5).
fs::path user_file() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (config != nullptr && *config == '/') return fs::path(config) / "environment.d/50-cleave.conf";
  if (home != nullptr && *home == '/') return fs::path(home) / ".config/environment.d/50-cleave.conf";
  throw IcdError("HOME is not set, so the folder of the user's files is unknown");
}

std::string library_of(const LayerRequest& request) {
  const fs::path library =
      registrable(request.root, request.library.empty() ? find_installation().layer : request.library);
  if (library.native().find_first_of(":\n") != std::string::npos)
    throw IcdError(library.string() + " cannot be named in a list of layers: move Cleave");
  return library;
}

fs::path file_of(const LayerRequest& request) {
  return request.user ? user_file() : below(request.root, request.layers) / "cleave.lay";
}

Registration registration_of(const LayerRequest& request) {
  const std::string library = library_of(request);
  if (!request.user)
    return {file_of(request), library + "\n", "programs that start from now on load the layer"};
  // As a value, without what its programs have; a list that the user has follows.
  return {file_of(request), "OPENCL_LAYERS=\"" + library + "${OPENCL_LAYERS:+:$OPENCL_LAYERS}\"\n",
          "sessions that begin from now on load the layer into their programs"};
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_ours(const std::string& text) { return text.find("libcleave-layer.so") != std::string::npos; }

// The missing folders above the file, outermost first.
std::vector<fs::path> missing_folders(const fs::path& file) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path folder = file.parent_path(); !folder.empty() && !fs::exists(folder, ignored);
       folder = folder.parent_path())
    missing.insert(missing.begin(), folder);
  return missing;
}

bool is_dry_run(const LayerRequest& request) {
  return request.dry || (!request.user && ::geteuid() != 0 && !request.apply);
}

int carry_out(const LayerRequest& request, const IcdSteps& steps, const std::string& effect) {
  if (is_dry_run(request)) {
    show(steps, !request.dry);
    return 0;
  }
  apply(steps);
  std::cout << "Done: " << effect << ".\n";
  return 0;
}

int install(const LayerRequest& request) {
  const Registration wanted = registration_of(request);
  const std::string present = contents(wanted.file);
  if (present == wanted.text) {
    std::cout << "Nothing to do: the layer is registered.\n";
    return 0;
  }
  if (!present.empty() && !is_ours(present))
    throw IcdError(wanted.file.string() + " is there and not Cleave's: remove it first");
  constexpr unsigned kMode = 0755;
  IcdSteps steps;
  for (const fs::path& folder : missing_folders(wanted.file)) steps.push_back(make_folder(folder, kMode));
  const fs::path unfinished = wanted.file.native() + ".new";
  steps.push_back(write_file(unfinished, wanted.text));
  steps.push_back(move_over(unfinished, wanted.file));
  return carry_out(request, steps, wanted.effect);
}

int uninstall(const LayerRequest& request) {
  const fs::path file = file_of(request);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(file, ignored))) {
    std::cout << "Nothing to do: the layer is not registered.\n";
    return 0;
  }
  if (!is_ours(contents(file))) throw IcdError(file.string() + " is not Cleave's: remove it by hand");
  IcdSteps steps = {remove_file(file)};
  const fs::path folder = file.parent_path();
  const auto entries = std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator());
  if (!request.user && entries == 1) steps.push_back(remove_folder(folder));
  return carry_out(request, steps, "programs that start from now on do not load the layer");
}

// Whether the system's loader loads the layer by itself: like a program that is not started with `cleave run`.
bool loader_reads_it() {
  ChildRequest child;
  child.arguments = {"probe", "loader", "libOpenCL.so.1"};
  child.environment = {
      {"OPENCL_LAYERS", std::nullopt}, {"LD_PRELOAD", std::nullopt}, {"LD_LIBRARY_PATH", std::nullopt}};
  child.limit = std::chrono::seconds(10);
  const std::vector<Record> records = decode(run_child(child).output);
  const Record* const face = find(records, "face", 2);
  return face != nullptr && (*face)[1] == "layer";
}

int status(const LayerRequest& request) {
  const fs::path file = file_of(request);
  const std::string text = contents(file);
  if (!is_ours(text)) {
    std::cout << "Not registered in " << file.string() << ".\n";
    return 1;
  }
  std::cout << "Registered in " << file.string() << ": " << base::displayable_lines(text);
  if (!request.user && request.root == "/" && request.layers == LayerRequest{}.layers && !loader_reads_it()) {
    std::cout << "The system's loader does not load it: ocl-icd does since 2.3.2, the Khronos loader since "
                 "2022.09.23, "
                 "where there is a driver.\n";
    return 1;
  }
  return 0;
}

}  // namespace

int layer(const LayerRequest& request) try {
  switch (request.action) {
    case LayerRequest::Action::install:
      return install(request);
    case LayerRequest::Action::uninstall:
      return uninstall(request);
    case LayerRequest::Action::status:
      break;
  }
  return status(request);
} catch (const IcdError& refusal) {
  std::cerr << "cleave: " << base::displayable(refusal.what()) << '\n';
  return 1;
}

}  // namespace cleave::cli
