// Environment variables that hold a list of paths, such as LD_PRELOAD, LD_LIBRARY_PATH and OPENCL_LAYERS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

using SearchList = std::vector<std::string>;

// The entries of `text` between any of `separators`. Empty entries are kept, since some lists give them a
// meaning; an empty text is an empty list.
SearchList split(std::string_view text, std::string_view separators);

std::string join(const SearchList& list, char separator);

// `first`, then `rest` in its order without the entries of `first`: doing it again changes nothing.
SearchList put_first(SearchList first, const SearchList& rest);

}  // namespace cleave::cli
