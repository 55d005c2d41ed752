#include "kernels/text/joined_text.h"

#include <algorithm>
#include <utility>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

JoinedText::JoinedText(std::string_view source, std::string file)
    : file_(std::move(file)), text_(without_splices(source, &line_starts_)) {}

JoinedText::JoinedText(std::string text, NoLines /*tag*/) : text_(std::move(text)) {}

unsigned JoinedText::line_of(std::string_view part) const {
  const auto at = static_cast<std::size_t>(part.data() - text_.data());
  return static_cast<unsigned>(std::upper_bound(line_starts_.begin(), line_starts_.end(), at) -
                               line_starts_.begin());
}

}  // namespace cleave::kernels
