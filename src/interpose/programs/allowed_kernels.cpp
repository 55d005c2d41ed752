#include "interpose/programs/allowed_kernels.h"

#include <algorithm>

#include "base/settings/program_path.h"

namespace cleave::interpose {
namespace {

struct KnownKernels {
  const char* program;
  const char* kernels;
};

constexpr KnownKernels kKnownKernels[] = {
#define CLEAVE_KNOWN_KERNELS(program, kernels) {program, kernels},
#include "interpose/programs/known_kernels.def"
#undef CLEAVE_KNOWN_KERNELS
};

}  // namespace

bool is_allowed(const base::Configuration& configuration, const std::string& kernel) {
  const std::vector<std::string>& allow = configuration.settings.allow;
  return std::any_of(allow.begin(), allow.end(),
                     [&](const std::string& pattern) { return base::matches(pattern, kernel); }) ||
         std::any_of(std::begin(kKnownKernels), std::end(kKnownKernels), [&](const KnownKernels& known) {
           return base::matches(known.kernels, kernel) &&
                  base::is_program(configuration.program, known.program);
         });
}

}  // namespace cleave::interpose
