// Prints what the table of known drivers says of the first device, and with the argument "probe" also what the probe finds.
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "interpose/drivers/driver_probe.h"
#include "interpose/drivers/known_drivers.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

void print(const char* whose, const std::optional<cleave::interpose::ProbeResult>& facts) {
  if (!facts) {
    std::printf("%s: nothing\n", whose);
    return;
  }
  std::printf("%s: tags %d, volume tags %d, truncated offsets %d\n", whose, facts->carries_tags,
              facts->carries_volume_tags, facts->truncates_offsets);
}

// None where the driver counts as the source says.
void print(const char* whose, const std::optional<cleave::interpose::LogLines>& lines) {
  if (!lines) {
    std::printf("%s lines: nothing\n", whose);
  } else {
    std::printf("%s lines: \"%s\" %u\n", whose, lines->shift == 0 ? "" : lines->place.c_str(), lines->shift);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  kit::Api cl(kit::linked_table(), kit::throw_error);
  cl.clGetExtensionFunctionAddress = clGetExtensionFunctionAddress;
  cl_device_id device = cl.device_of("");
  if (device == nullptr) throw std::runtime_error("no device");
  print("known", cleave::interpose::known_facts(cl, device));
  print("known", cleave::interpose::known_log_lines(cl, device));
  if (argc > 1 && std::string_view(argv[1]) == "probe") {
    print("probed", cleave::interpose::probe_driver(cl, cleave::base::Clock::system(), device));
    print("probed", std::optional(cleave::interpose::find_log_lines(cl, device)));
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
