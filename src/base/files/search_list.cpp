#include "base/files/search_list.h"

#include <algorithm>
#include <utility>

namespace cleave::base {

SearchList split(std::string_view text, std::string_view separators) {
  SearchList list;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(separators);
    list.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) list.emplace_back();
  }
  return list;
}

std::string join(const SearchList& list, char separator) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += separator;
    text += list[i];
  }
  return text;
}

SearchList put_first(SearchList first, const SearchList& rest) {
  SearchList list = std::move(first);
  const auto ours = static_cast<std::ptrdiff_t>(list.size());
  for (const std::string& entry : rest) {
    if (std::find(list.begin(), list.begin() + ours, entry) == list.begin() + ours) list.push_back(entry);
  }
  return list;
}

std::string with_preload_allowed(const std::string& options) {
  constexpr std::string_view kOption = "verify_asan_link_order";
  if (options.find(kOption) != std::string::npos) return options;
  std::string more = options.empty() ? "" : options + ':';
  return more.append(kOption).append("=0");
}

}  // namespace cleave::base
