// The dynamic linker's cache of libraries, /etc/ld.so.cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::icd {

// The cache's paths for `library` on this architecture, in the linker's order of preference: first those in the sub-folders
// for newer processors (`subfolders`, best first, as from processor_subfolders(); others are not searched), then
// those for any processor as the cache lists them. Entries with the hardware bits that glibc had until 2.36 are passed over.
// `cache` is the content of the file, and not trusted: every offset is checked. Understands the format of glibc 2.2 and later
// ("glibc-ld.so.cache1.1", also behind the older one); empty for others.
//
// Source: sysdeps/generic/dl-cache.h of glibc, whose field names are used.
std::vector<std::string> paths_in_linker_cache(std::string_view cache, std::string_view library,
                                               const std::vector<std::string>& subfolders = {});

}  // namespace cleave::icd
