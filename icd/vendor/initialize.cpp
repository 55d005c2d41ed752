#include <memory>
#include <utility>

#include "base/log.h"
#include "base/settings/configuration.h"
#include "base/threads/scoped_thread_state.h"
#include "icd/remote_platforms.h"
#include "icd/vendor/loader_interface.h"
#include "icd/vendor/state.h"
#include "interpose/calls/table.h"

namespace cleave::vendor {
namespace {

// The names of the wrapped platforms, for messages.
std::string names_of(const std::vector<drivers::Driver>& drivers) {
  std::string names;
  for (const drivers::Driver& driver : drivers) {
    char name[128] = {};
    drivers::table_of(driver.platform)
        .clGetPlatformInfo(driver.platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

void wrap(const std::vector<drivers::Driver>& drivers) {
  for (const drivers::Driver& driver : drivers) {
    WrappedPlatform& wrapped = vendor.platforms[vendor.platform_count];
    wrapped.dispatch_table = std::make_unique<const Table>(vendor.dispatch_table);
    objects::Object* const platform =
        vendor.objects.make_root(objects::Kind::platform, driver.platform, vendor.platform_count, nullptr,
                                 wrapped.dispatch_table.get());
    if (platform == nullptr) return;
    wrapped.driver = driver;
    wrapped.platform = platform;
    ++vendor.platform_count;
  }
}

// Asks the interposer, which overrides some of them.
void find_extension_functions(WrappedPlatform& wrapped) {
#define CL_EXTENSION(extension, name, ...)                                        \
  wrapped.extensions.name = reinterpret_cast<decltype(ExtensionFunctions::name)>( \
      vendor.next->clGetExtensionFunctionAddressForPlatform(wrapped.driver.platform, #name));
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
}

void load_and_install() {
  base::Configuration configuration = base::load(base::process_environment());
  std::vector<std::string> problems;
  std::vector<std::string> wrapped = configuration.settings.wrap;
  const std::string remote = icd::wants_remote(configuration.settings) ? icd::remote_library_path() : "";
  if (!remote.empty())
    wrapped.insert(configuration.settings.remote.first ? wrapped.begin() : wrapped.end(), remote);
  const std::vector<drivers::Driver> drivers = drivers::load(wrapped, problems);
  for (const std::string& problem : problems) base::log_line("CLEAVE_ICD_WRAP: " + problem);
  vendor.dispatch_table = make_dispatch_table();
  if (!vendor.objects.begin(vendor.dispatch_table))
    return base::log_line("no memory for the vendor library's objects");
  vendor.original_name = configuration.settings.original_name;
  vendor.routing_table = drivers::make_table();
  vendor.next = &vendor.routing_table;
  const Table* const table = interpose::install(vendor.routing_table, {"vendor library", names_of(drivers)},
                                                std::move(configuration));
  if (table != nullptr) vendor.next = table;
  wrap(drivers);
  for (std::uint16_t i = 0; i < vendor.platform_count; ++i) find_extension_functions(vendor.platforms[i]);
}

}  // namespace

constinit base::NoDestructor<Vendor> state;

void initialize() noexcept try {
  const base::ScopedCancelDisable uncancelled;
  const base::RecursiveMutexLock lock(vendor.mutex);
  if (vendor.initialized) return;
  vendor.initialized = true;
  load_and_install();
} catch (...) {
  base::log_line("out of memory while the vendor library was loading drivers");
}

}  // namespace cleave::vendor
