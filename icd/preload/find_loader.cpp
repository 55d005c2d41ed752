#include "icd/preload/find_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "base/log.h"
#include "base/regular_file.h"
#include "icd/elf_note.h"
#include "icd/preload/linker_cache.h"
#include "icd/preload/linker_folders.h"

namespace cleave::icd {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";
constexpr const char* kLinkerCache = "/etc/ld.so.cache";

std::string contents(const char* path) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return text;
  struct stat status {};
  constexpr off_t kLargest = 64 << 20;
  if (fstat(file, &status) == 0 && status.st_size > 0 && status.st_size < kLargest) {
    text.resize(static_cast<std::size_t>(status.st_size));
    const ssize_t got = read(file, text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(file);
  return text;
}

std::vector<std::string> candidates() {
  const LinkerFolders folders = linker_folders(kLibrary);
  std::vector<std::string> paths;
  for (const std::string& folder : folders.before_cache) paths.push_back(folder + "/" + kLibrary);
  for (std::string& path : paths_in_linker_cache(contents(kLinkerCache), kLibrary))
    paths.push_back(std::move(path));
  for (const std::string& folder : folders.after_cache) paths.push_back(folder + "/" + kLibrary);
  return paths;
}

// Null if there is no such library, or if it is Cleave.
void* open_unless_cleave(const std::string& path) {
  // The dynamic linker would wait for ever for the writer of a pipe. A name without a slash it searches for.
  if (path.find('/') != std::string::npos && !base::irregularity_of(path, SIZE_MAX / 2).empty())
    return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const void* const symbol = dlsym(library, "clGetPlatformIDs");
  if (symbol != nullptr && !is_cleave_library(symbol)) return library;
  dlclose(library);
  return nullptr;
}

Table table_of(void* library) {
  Table table{};
#define CL_FUNCTION(version, name, ...) \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name));
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

std::string path_of(const Table& table) {
  Dl_info info{};
  const void* const symbol = reinterpret_cast<const void*>(table.clGetPlatformIDs);
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "(unknown)";
}

// Whether a complete OpenCL implementation is preloaded behind us, as the `oclgrind` command does. Preloaded libraries
// that only intercept and forward calls do not count (they lack the ICD entry point): they need the loader behind them.
bool implementation_is_next() {
  const void* const platforms = dlsym(RTLD_NEXT, "clGetPlatformIDs");
  return platforms != nullptr && !is_cleave_library(platforms) &&
         dlsym(RTLD_NEXT, "clIcdGetPlatformIDsKHR") != nullptr;
}

Loader found(void* library) {
  Loader loader{table_of(library), {}};
  loader.path = path_of(loader.table);
  return loader;
}

Loader find(const std::string& named, bool may_be_absent) {
  if (named.empty() && implementation_is_next()) return found(RTLD_NEXT);
  for (const std::string& path : named.empty() ? candidates() : std::vector{named}) {
    if (void* const library = open_unless_cleave(path)) return found(library);
  }
  if (named.empty() && may_be_absent) return {};
  if (named.empty()) {
    base::log_line(
        "no OpenCL loader was found to forward calls to: install one (ocl-icd-libopencl1) or name it in "
        "CLEAVE_NEXT");
  } else {
    base::log_line("CLEAVE_NEXT=\"" + named +
                   "\" is not an OpenCL loader that can be loaded: name another or unset it");
  }
  return {};
}

}  // namespace

Loader load_real_loader(const std::string& named, bool may_be_absent) noexcept try {
  return find(named, may_be_absent);
} catch (...) {
  return {};
}

}  // namespace cleave::icd
