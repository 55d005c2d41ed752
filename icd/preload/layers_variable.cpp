// ocl-icd 2.3.1 cuts OPENCL_LAYERS at its colons, in place, while it loads the layers, so that children
// inherit only the first of them. `cleave run` therefore keeps the whole list in CLEAVE_LAYERS, and here,
// before the program runs, what was cut off is put back.

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
  if (cut) setenv("OPENCL_LAYERS", all, 1);  // still the only thread
}

}  // namespace
