// The text that goes in front of a program's source, so that its kernels see the whole launch while they run
// in a slice of it. It replaces the built-in functions whose value a cut changes by functions of its own,
// with object-like macros: these are found whatever way a program spells a call, also behind macros of its
// own and through token pasting.
//
// How the kernel learns of the whole launch: through the launch itself. A slice is launched with three
// dimensions, and the global offset of the third, whose size is 1, is a tag (plan/tag.h has its layout). A
// launch without a tag is as it looks, so the same program is right launched whole.
//
// The text does nothing unless the macro of kPreludeOption is defined, and so one program object can be built both
// ways. Its last line sets the line number back to 1.
//
// Source: OpenCL C 3.0, section 6.15.1 "Work-item functions"; C99 6.10.3 and 6.10.4.
//
// Thread-safe: all of this is constant.
#pragma once

#include <array>
#include <string_view>

namespace cleave::kernels {

// The build option that switches the prelude on.
inline constexpr std::string_view kPreludeOption = "-D__cleave_on";

// Every name that the prelude declares begins like this. The language keeps such names from programs.
inline constexpr std::string_view kReservedPrefix = "__cleave_";

// The functions that the prelude replaces.
inline constexpr std::array<std::string_view, 8> kReplacedFunctions = {
    "get_work_dim",      "get_global_size", "get_num_groups",       "get_group_id",
    "get_global_offset", "get_global_id",   "get_global_linear_id", "get_group_linear_id"};

std::string_view prelude();

}  // namespace cleave::kernels
