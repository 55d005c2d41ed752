#include "kernels/pasting.h"

#include "kernels/lexer.h"

namespace cleave::kernels {

Fragments::Fragments(const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) {
    for (const Token& token : tokens_of(text).list) {
      if (token.kind == Token::Kind::name || token.kind == Token::Kind::number) list_.insert(token.text);
    }
  }
}

bool Fragments::can_form(std::string_view name) const {
  std::vector<bool> reached(name.size() + 1, false);
  reached[0] = true;
  return can_finish(name, std::move(reached), Ends::exact);
}

bool Fragments::can_form_around(std::string_view part) const {
  std::vector<bool> reached(part.size() + 1, false);
  reached[0] = true;
  for (const std::string_view fragment : list_) {
    if (fragment.find(part) != std::string_view::npos) return true;
    for (std::size_t size = 1; size < part.size(); ++size) {
      if (fragment.ends_with(part.substr(0, size))) reached[size] = true;
    }
  }
  return can_finish(part, std::move(reached), Ends::open);
}

// Goes on from every position of `name` that is reached. With `open` the last fragment may go on beyond it.
bool Fragments::can_finish(std::string_view name, std::vector<bool> reached, Ends ends) const {
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!reached[at]) continue;
    const std::string_view rest = name.substr(at);
    for (const std::string_view fragment : list_) {
      if (rest.starts_with(fragment)) reached[at + fragment.size()] = true;
      if (ends == Ends::open && fragment.starts_with(rest)) return true;
    }
  }
  return reached[name.size()];
}

}  // namespace cleave::kernels
