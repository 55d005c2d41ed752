// The dynamic linker's cache of libraries, /etc/ld.so.cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::icd {

// The paths that the cache has for `library` and this machine's kind of program, in the linker's order of
// preference. `cache` is the file's content; it is not trusted: every offset is checked. Understands the
// format of glibc 2.2 and later ("glibc-ld.so.cache1.1", also behind the older one), and answers with nothing
// otherwise.
//
// Source: sysdeps/generic/dl-cache.h of glibc describes the layout; the fields are named after it.
std::vector<std::string> paths_in_linker_cache(std::string_view cache, std::string_view library);

}  // namespace cleave::icd
