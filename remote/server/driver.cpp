#include "remote/server/driver.h"

#include <dlfcn.h>
#include <utility>

#include "base/configuration.h"
#include "icd/absent.h"
#include "interpose/table.h"

namespace cleave::remote::server {

const Table* load_opencl(const std::string& library, std::string& problem) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    problem = ::dlerror();
    return nullptr;
  }
  static Table loader{};
#define CL_FUNCTION(version, result, name, parameters, arguments) \
  loader.name = reinterpret_cast<decltype(loader.name)>(::dlsym(loaded, #name));
#include "icd/functions.def"
#undef CL_FUNCTION
  icd::fill_absent(loader);
  const Table* const table =
      interpose::install(loader, {"server", library}, base::load(base::process_environment()));
  return table != nullptr ? table : &loader;
}

}  // namespace cleave::remote::server
