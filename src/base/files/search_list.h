// Environment variables that hold a list of paths, such as LD_PRELOAD, LD_LIBRARY_PATH and OPENCL_LAYERS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::base {

using SearchList = std::vector<std::string>;

// The entries of `text` between any of `separators`. Empty entries are kept, since they mean something in some lists; an empty
// text has no entries.
SearchList split(std::string_view text, std::string_view separators);

std::string join(const SearchList& list, char separator);

// `first`, followed by those entries of `rest` that are not in `first`. Idempotent.
SearchList put_first(SearchList first, const SearchList& rest);

// The variable that permits other libraries before AddressSanitizer's: by default it ends a program into which
// anything is preloaded. `options`: its present value; a decision in it is kept.
inline constexpr const char* kSanitizerOptions = "ASAN_OPTIONS";
std::string with_preload_allowed(const std::string& options);

}  // namespace cleave::base
