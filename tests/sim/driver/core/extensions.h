// The extension functions that are needed from outside, too.
#pragma once

namespace cleave::sim {

// clIcdGetPlatformIDsKHR, as a loader queries an ICD.
void* icd_platform_ids_address();

}  // namespace cleave::sim
