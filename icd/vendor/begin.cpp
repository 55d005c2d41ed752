#include <utility>

#include "base/configuration.h"
#include "base/log.h"
#include "base/undisturbed.h"
#include "icd/remote.h"
#include "icd/vendor/entry.h"
#include "icd/vendor/state.h"
#include "interpose/table.h"

namespace cleave::vendor {
namespace {

// What lies below, for people: the drivers' platforms by name.
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
    objects::Object* const platform =
        vendor.objects.make_root(objects::Kind::platform, driver.platform, vendor.count, nullptr);
    if (platform == nullptr) return;
    vendor.wrapped[vendor.count].driver = driver;
    vendor.wrapped[vendor.count].platform = platform;
    ++vendor.count;
  }
}

// Through the interposer, which stands in for some of them.
void find_extension_functions(Wrapped& wrapped) {
#define EXTENSION_FUNCTION(result, name, parameters)                              \
  wrapped.extensions.name = reinterpret_cast<decltype(ExtensionFunctions::name)>( \
      vendor.below->clGetExtensionFunctionAddressForPlatform(wrapped.driver.platform, #name));
#include "icd/vendor/extensions.def"
#undef EXTENSION_FUNCTION
}

void load_and_install() {
  base::Configuration configuration = base::load(base::process_environment());
  std::vector<std::string> problems;
  std::vector<std::string> wrapped = configuration.settings.wrap;
  const std::string remote = icd::wants_remote(configuration.settings) ? icd::remote_library() : "";
  if (!remote.empty()) wrapped.push_back(remote);
  const std::vector<drivers::Driver> drivers = drivers::load(wrapped, problems);
  for (const std::string& problem : problems) base::say("CLEAVE_ICD_WRAP: " + problem);
  vendor.face = make_face_table();
  if (!vendor.objects.begin(vendor.face)) return base::say("no memory for the vendor library's objects");
  vendor.original_name = configuration.settings.original_name;
  vendor.drivers = drivers::make_table();
  vendor.below = &vendor.drivers;
  const Table* const table =
      interpose::install(vendor.drivers, {"vendor library", names_of(drivers)}, std::move(configuration));
  if (table != nullptr) vendor.below = table;
  wrap(drivers);
  for (std::uint16_t i = 0; i < vendor.count; ++i) find_extension_functions(vendor.wrapped[i]);
}

}  // namespace

constinit Forever state;

void begin() noexcept try {
  const base::Uncancelled uncancelled;
  const std::scoped_lock lock(vendor.mutex);
  if (vendor.begun) return;
  vendor.begun = true;
  load_and_install();
} catch (...) {
  base::say("out of memory while the vendor library was loading drivers");
}

}  // namespace cleave::vendor
