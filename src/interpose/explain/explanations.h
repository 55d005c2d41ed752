// Puts together what is said of launches that were not split: counts, the reasons in words, and what was found in the
// program.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "base/settings/configuration.h"
#include "interpose/explain/kernel_findings.h"
#include "observe/explanation.h"

namespace cleave::interpose {

observe::Explanations explain(const std::vector<observe::Counters::Named>& kernels,
                              const KernelFindings& findings, const base::Configuration& configuration);

}  // namespace cleave::interpose
