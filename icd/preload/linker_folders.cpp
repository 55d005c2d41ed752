#include "icd/preload/linker_folders.h"

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <memory>

namespace cleave::icd {
namespace {

// Whether the object's dynamic section names `library` among those it needs.
bool needs(const link_map& object, const char* library) {
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // glibc has relocated this to an address, except in the vDSO, which needs no library.
    const ElfW(Addr) address = entry->d_un.d_ptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the dynamic linker
    if (address > object.l_addr) names = reinterpret_cast<const char*>(address);
  }
  if (names == nullptr) return false;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::strcmp(names + entry->d_un.d_val, library) == 0) return true;
  }
  return false;
}

void add_folders(void* object, LinkerFolders& folders) {
  Dl_serinfo size{};
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, &size) != 0) return;
  const auto memory = std::make_unique<std::byte[]>(size.dls_size);
  auto* const list = reinterpret_cast<Dl_serinfo*>(memory.get());
  *list = size;
  if (dlinfo(object, RTLD_DI_SERINFO, list) != 0) return;
  for (unsigned i = 0; i < list->dls_cnt; ++i) {
    const Dl_serpath& folder = list->dls_serpath[i];
    const bool is_default = (folder.dls_flags & LA_SER_DEFAULT) != 0;
    (is_default ? folders.after_cache : folders.before_cache).emplace_back(folder.dls_name);
  }
}

}  // namespace

LinkerFolders linker_folders(const char* library) {
  LinkerFolders folders;
  void* const program = dlopen(nullptr, RTLD_LAZY);  // in glibc, the handle is the object's link map
  if (program == nullptr) return folders;
  for (const auto* object = static_cast<link_map*>(program); object != nullptr; object = object->l_next) {
    if (needs(*object, library)) add_folders(const_cast<link_map*>(object), folders);
  }
  add_folders(program, folders);
  return folders;
}

}  // namespace cleave::icd
