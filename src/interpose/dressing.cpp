#include "interpose/dressing.h"

#include "kernels/prelude.h"

namespace cleave::interpose {

bool can_dress(std::string_view source) {
  // A byte order mark is one at the very beginning only.
  return !source.starts_with("\xef\xbb\xbf") && source.find(kernels::kReserved) == std::string_view::npos;
}

std::string switched_on(const char* options) {
  std::string all = options != nullptr ? options : "";
  return all.append(" ").append(kernels::kSwitch);
}

std::string without_switch(std::string text) {
  for (std::size_t at = text.find(kernels::kSwitch); at != std::string::npos;
       at = text.find(kernels::kSwitch, at)) {
    const std::size_t blank = at > 0 && text[at - 1] == ' ' ? 1 : 0;
    text.erase(at - blank, kernels::kSwitch.size() + blank);
    at -= blank;
  }
  return text;
}

std::string undressed(const std::string& source) {
  return source.starts_with(kernels::prelude()) ? source.substr(kernels::prelude().size()) : source;
}

}  // namespace cleave::interpose
