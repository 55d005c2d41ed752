#include "interpose/dressing.h"

#include "kernels/prelude.h"

namespace cleave::interpose {

bool can_dress(std::string_view source) {
  // A byte order mark is one at the very beginning only.
  return !source.starts_with("\xef\xbb\xbf") && source.find(kernels::kReserved) == std::string_view::npos;
}

std::string switched_on(const char* options) {
  std::string all = options != nullptr ? options : "";
  if (!all.empty()) all.push_back(' ');
  return all.append(kernels::kSwitch);
}

std::string without_switch(std::string options) {
  const std::size_t at = options.rfind(kernels::kSwitch);
  if (at == std::string::npos) return options;
  const std::size_t blank = at > 0 && options[at - 1] == ' ' ? 1 : 0;
  return options.erase(at - blank, kernels::kSwitch.size() + blank);
}

std::string undressed(std::string source) {
  return source.starts_with(kernels::prelude()) ? source.substr(kernels::prelude().size()) : source;
}

}  // namespace cleave::interpose
