#include "remote/server/worker/opencl_loader.h"

#include <dlfcn.h>
#include <string_view>
#include <utility>

#include "base/settings/configuration.h"
#include "interpose/calls/table.h"
#include "opencl/missing_functions.h"
#include "remote/server/worker/serial_driver.h"

namespace cleave::remote::server {

const Table* load_opencl(const std::string& library, std::string& problem) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    problem = ::dlerror();
    return nullptr;
  }
  static Table loader{};
#define CL_FUNCTION(version, name, ...) \
  loader.name = reinterpret_cast<decltype(loader.name)>(::dlsym(loaded, #name));
#include "opencl/functions.def"
#undef CL_FUNCTION
  opencl::fill_missing_functions(loader);
  serialise_where_needed(loader);
  return &loader;
}

const Table& split_launches(const Table& loader, const std::string& library, const Grant& grant,
                            const std::string& trace) {
  const base::Environment granted = environment_for(grant, base::process_environment());
  const base::Environment environment = [&](const char* name) {
    const bool is_trace = !trace.empty() && std::string_view(name) == "CLEAVE_TRACE";
    return is_trace ? trace.c_str() : granted(name);
  };
  const Table* const table = interpose::install(loader, {"server", library}, base::load(environment));
  return table != nullptr ? *table : loader;
}

}  // namespace cleave::remote::server
