#include "interpose/dressing.h"

#include "kernels/prelude.h"

namespace cleave::interpose {

bool can_dress(std::string_view source) {
  // A byte order mark is one at the very beginning only.
  return !source.starts_with("\xef\xbb\xbf") && source.find(kernels::kReserved) == std::string_view::npos;
}

// In front, where no option can take it for its operand.
std::string switched_on(const char* options) {
  std::string all(kernels::kSwitch);
  if (options != nullptr && *options != '\0') all.append(" ").append(options);
  return all;
}

std::string without_switch(std::string text) {
  for (std::size_t at = text.find(kernels::kSwitch); at != std::string::npos;
       at = text.find(kernels::kSwitch, at)) {
    const std::size_t behind = at + kernels::kSwitch.size();
    const std::size_t blank = behind < text.size() && text[behind] == ' ' ? 1 : 0;
    text.erase(at, kernels::kSwitch.size() + blank);
  }
  return text;
}

bool is_dressed(const std::string& source) { return source.starts_with(kernels::prelude()); }

std::string undressed(const std::string& source) {
  return is_dressed(source) ? source.substr(kernels::prelude().size()) : source;
}

}  // namespace cleave::interpose
