#include "icd/preload/find_loader.h"

#include <algorithm>
#include <dlfcn.h>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "base/files/own_descriptors.h"
#include "base/files/regular_file.h"
#include "base/log.h"
#include "icd/elf_note.h"
#include "icd/preload/calling_object.h"
#include "icd/preload/linker_cache.h"
#include "icd/preload/linker_folders.h"
#include "icd/preload/loaded_objects.h"
#include "icd/preload/native_loader.h"

namespace cleave::icd {
namespace {

constexpr const char* kLinkerCache = "/etc/ld.so.cache";

std::string contents(const char* path) {
  std::string text;
  const int file = base::open_own(path, O_RDONLY | O_NONBLOCK);
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

// The result of dlsym(), unless it is Cleave's: a search through a library continues with its dependencies, which may be Cleave
// under the loader's name.
class Lookup {
 public:
  explicit Lookup(void* library) : library_(library) {}

  void* operator()(const char* name) {
    void* const symbol = dlsym(library_, name);
    Dl_info info{};
    if (symbol == nullptr || dladdr(symbol, &info) == 0) return symbol;
    if (info.dli_fbase != object_) {
      object_ = info.dli_fbase;
      object_is_cleave_ = is_cleave_library(symbol);
    }
    return object_is_cleave_ ? nullptr : symbol;
  }

 private:
  void* library_;
  const void* object_ = nullptr;  // the last symbol's: nearly all of them are in one
  bool object_is_cleave_ = false;
};

Table table_of(void* library) {
  Lookup find(library);
  Table table{};
#define CL_FUNCTION(version, name, ...) table.name = reinterpret_cast<decltype(table.name)>(find(#name));
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

// Null if there is no such library, or if it is Cleave.
void* open_unless_cleave(const std::string& path) {
  // The dynamic linker would wait forever for the writer of a pipe. It searches for a name without a slash.
  const bool is_path = path.find('/') != std::string::npos;
  if (is_path && (!base::irregularity_of(path, SIZE_MAX / 2).empty() || file_has_face_note(path)))
    return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  if (Lookup(library)(kEntryPoint) != nullptr) return library;
  dlclose(library);
  return nullptr;
}

std::string path_of(const Table& table) {
  Dl_info info{};
  const void* const symbol = reinterpret_cast<const void*>(table.clGetPlatformIDs);
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "(unknown)";
}

Loader loader_in(void* library) {
  Loader loader{table_of(library), {}};
  loader.path = path_of(loader.table);
  return loader;
}

std::string within(std::string folder, const std::string& name) { return folder.append("/").append(name); }

// The first of the folders with such a library that is not Cleave.
void* open_in(const std::vector<std::string>& folders, const std::string& name) {
  const std::vector<std::string> subfolders = processor_subfolders();
  for (const std::string& folder : folders) {
    for (const std::string& subfolder : subfolders) {
      if (void* const library = open_unless_cleave(within(within(folder, subfolder), name))) return library;
    }
    if (void* const library = open_unless_cleave(within(folder, name))) return library;
  }
  return nullptr;
}

// What the cache has for this name. As in the linker, its first entry counts alone, whether there is such a file or not; but
// Cleave may be installed in a folder of the cache.
void* open_from_cache(const std::string& name, bool skips_defaults) {
  const auto is_systems = [](const std::string& path) {
    const std::vector<std::string> systems = system_folders();
    return std::any_of(systems.begin(), systems.end(),
                       [&](const std::string& folder) { return path.starts_with(folder + "/"); });
  };
  for (const std::string& path :
       paths_in_linker_cache(contents(kLinkerCache), name, processor_subfolders())) {
    if (file_has_face_note(path)) continue;
    return skips_defaults && is_systems(path) ? nullptr : open_unless_cleave(path);
  }
  return nullptr;
}

// What the linker would load for this name if `importer` needed it.
void* open_as_linker(const std::string& name, const LoadedObject& importer) {
  const LinkerFolders folders = linker_folders(importer.path);
  if (void* const library = open_in(folders.before_cache, name)) return library;
  if (void* const library = open_from_cache(name, importer.skips_defaults)) return library;
  return open_in(folders.after_cache, name);
}

std::optional<Loader> loaded_loader(const LoadedObject& object) {
  // It stays loaded for as long as this library, which is for good.
  void* const library = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  Loader loader = loader_in(library);
  if (loader.table.clGetPlatformIDs != nullptr) return loader;
  dlclose(library);
  return std::nullopt;
}

// The loader that the program would have without Cleave.
std::optional<Loader> native() {
  const std::vector<LoadedObject> objects = loaded_objects();
  const void* const caller = calling_address();
  const NativeLoader decided =
      native_loader(objects, caller != nullptr ? index_of(objects, caller) : std::nullopt);
  if (decided.loaded) {
    if (auto loader = loaded_loader(objects[*decided.loaded])) return loader;
  }
  for (const NativeLoader::Search& search : decided.searches) {
    if (void* const library = open_as_linker(search.name, objects[search.importer]))
      return loader_in(library);
  }
  return std::nullopt;
}

Loader find(const std::string& named, bool may_be_absent) {
  if (!named.empty()) {
    if (void* const library = open_unless_cleave(named)) return loader_in(library);
    base::log_line("CLEAVE_NEXT=\"" + named +
                   "\" is not an OpenCL loader that can be loaded: name another or unset it");
    return {};
  }
  if (auto loader = native()) return *loader;
  if (!may_be_absent) {
    base::log_line(
        "no OpenCL loader was found to forward calls to: install one (ocl-icd-libopencl1) or name it in "
        "CLEAVE_NEXT");
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
