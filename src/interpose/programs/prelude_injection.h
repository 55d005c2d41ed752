// The prelude (kernels/prelude.h) around a program's source, its options and its log: put on when the program
// hands them in, taken off when it asks for them.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

namespace cleave::interpose {

// Whether the prelude can stand in front of this text without changing how it is read.
bool can_inject_prelude(std::string_view source);

// The options with the prelude's switch in front of them. `options` may be null; `keep_argument_info`: the
// driver tells then what the arguments of kernels are called, and is to do so all the same.
std::string options_with_prelude(const char* options, bool keep_argument_info = false);

// Options, or a log that quotes them, as they would be without the switch.
std::string remove_prelude_switch(std::string text);

// A log as it would be without the prelude in front of `source`: compilers' later stages look lines up by
// their number alone, and quote the prelude's.
std::string restore_quoted_lines(const std::string& log, const std::string& source);

// Whether the prelude stands in front of what the driver knows as the source.
bool has_prelude(const std::string& source);

// The source as the program handed it in.
std::string remove_prelude(const std::string& source);

}  // namespace cleave::interpose
