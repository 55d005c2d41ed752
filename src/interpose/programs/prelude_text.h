// Adds the prelude (kernels/prelude/prelude.h) to a program's source and options, and removes it from what the program
// queries: source, options and logs.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

namespace cleave::interpose {

// Whether the prelude can precede this text without changing its meaning.
bool can_inject_prelude(std::string_view source);

// The options with the prelude's switch. `options` may be null; `keep_argument_info`: the driver keeps kernel argument
// information by default, and an option makes it keep it.
std::string options_with_prelude(const char* options, bool keep_argument_info = false);

// Options, or a log that quotes them, without the switch.
std::string remove_prelude_switch(std::string text);

// Replaces quoted lines of the prelude by those of `source`: later compiler stages look lines up by number alone.
std::string restore_quoted_lines(const std::string& log, const std::string& source);

// Whether the driver's source text begins with the prelude.
bool has_prelude(const std::string& source);

// The source as the program provided it.
std::string remove_prelude(const std::string& source);

}  // namespace cleave::interpose
