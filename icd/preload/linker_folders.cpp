#include "icd/preload/linker_folders.h"

#include <algorithm>
#include <cstddef>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <memory>
#include <system_error>

#if __has_include(<sys/platform/x86.h>)
// As GCC's <stdbool.h> has it for C++; Clang's has not in strict mode.
#define _Bool bool
#include <sys/platform/x86.h>
#endif

namespace cleave::icd {
namespace {

using Folders = std::vector<std::string>;

Folders folders_of(void* object) {
  Folders folders;
  Dl_serinfo size{};
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, &size) != 0) return folders;
  // Without any folder the size is smaller than the structure.
  const auto memory = std::make_unique<std::byte[]>(std::max(std::size_t{size.dls_size}, sizeof size));
  auto* const list = reinterpret_cast<Dl_serinfo*>(memory.get());
  *list = size;
  if (dlinfo(object, RTLD_DI_SERINFO, list) != 0) return folders;
  for (unsigned i = 0; i < list->dls_cnt; ++i) folders.emplace_back(list->dls_serpath[i].dls_name);
  return folders;
}

// A reference to a loaded object.
class Reference {
 public:
  explicit Reference(const char* path) : handle_(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  Folders folders() const { return handle_ != nullptr ? folders_of(handle_) : Folders{}; }

 private:
  void* handle_;
};

bool looks_like_systems(const std::string& folder) {
  return folder.starts_with("/lib") || folder.starts_with("/usr/lib");
}

#if defined(__x86_64__) && defined(CPU_FEATURE_ACTIVE)

// The levels of the x86-64 psABI, as glibc tests them (sysdeps/x86_64/dl-hwcaps_subdirs.c): what the processor has, the
// system saves, and no tunable of glibc's turns off.
bool is_level_2() {
  return CPU_FEATURE_ACTIVE(CMPXCHG16B) && CPU_FEATURE_ACTIVE(LAHF64_SAHF64) && CPU_FEATURE_ACTIVE(POPCNT) &&
         CPU_FEATURE_ACTIVE(SSE3) && CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSE4_2) &&
         CPU_FEATURE_ACTIVE(SSSE3);
}

bool is_level_3() {
  return is_level_2() && CPU_FEATURE_ACTIVE(AVX) && CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1) &&
         CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(F16C) && CPU_FEATURE_ACTIVE(FMA) &&
         CPU_FEATURE_ACTIVE(LZCNT) && CPU_FEATURE_ACTIVE(MOVBE);
}

bool is_level_4() {
  return is_level_3() && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
         CPU_FEATURE_ACTIVE(AVX512CD) && CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512VL);
}

#endif

}  // namespace

// This library has a run path, behind which come only those in its list.
std::vector<std::string> system_folders() {
  Dl_info info{};
  link_map* map = nullptr;
  const auto* const address = reinterpret_cast<const void*>(&system_folders);
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return {};
  Folders all = folders_of(map);  // in glibc, a handle is the object's link map
  const std::filesystem::path ours = std::filesystem::path(map->l_name).parent_path();
  auto end_of_run_path = std::find_if(all.rbegin(), all.rend(), [&](const std::string& folder) {
    std::error_code ignored;
    return std::filesystem::equivalent(folder, ours, ignored);
  });
  // Its path may be relative to a folder that the program has left.
  if (end_of_run_path == all.rend())
    end_of_run_path = std::find_if_not(all.rbegin(), all.rend(), looks_like_systems);
  return {end_of_run_path.base(), all.end()};
}

LinkerFolders linker_folders(const std::string& object) {
  LinkerFolders folders;
  folders.before_cache = Reference(object.empty() ? nullptr : object.c_str()).folders();
  const Folders systems = system_folders();
  // An object may be linked so that it does without the system's.
  const bool ends_with_them = folders.before_cache.size() >= systems.size() &&
                              std::equal(systems.rbegin(), systems.rend(), folders.before_cache.rbegin());
  if (ends_with_them) {
    folders.before_cache.resize(folders.before_cache.size() - systems.size());
    folders.after_cache = systems;
  }
  return folders;
}

std::vector<std::string> processor_subfolders() {
  std::vector<std::string> folders;
#if defined(__x86_64__) && defined(CPU_FEATURE_ACTIVE)
  if (is_level_4()) folders.emplace_back("glibc-hwcaps/x86-64-v4");
  if (is_level_3()) folders.emplace_back("glibc-hwcaps/x86-64-v3");
  if (is_level_2()) folders.emplace_back("glibc-hwcaps/x86-64-v2");
#endif
  return folders;
}

}  // namespace cleave::icd
