// Restores OPENCL_LAYERS before the program runs: ocl-icd 2.3.1 truncates it in place at the first colon while it loads the
// layers, so that child processes would inherit only the first layer. `cleave run` keeps the full list in CLEAVE_LAYERS.

#include <cstdlib>
#include <string_view>

namespace {

__attribute__((constructor)) void restore_layers_variable() {
  const char* const all = secure_getenv("CLEAVE_LAYERS");
  const char* const some = secure_getenv("OPENCL_LAYERS");
  if (all == nullptr || some == nullptr) return;
  const std::string_view whole(all);
  const std::string_view left(some);
  const bool cut = whole.size() > left.size() && whole.starts_with(left) && whole[left.size()] == ':';
  if (cut) setenv("OPENCL_LAYERS", all, 1);  // safe: no other thread yet
}

}  // namespace
