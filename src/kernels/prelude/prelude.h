// The text that is put in front of a program's source, so that its kernels see the whole launch while they run
// in a slice of it. It replaces the built-in functions whose value a cut changes by functions of its own, with
// object-like macros, which apply however a program spells a call, including through its own macros and token
// pasting.
//
// Kernels get the whole launch's size from the launch itself: a slice is launched with three dimensions, and
// the global offset of the third is a tag (plan/tag.h describes its layout). Without a tag
// the built-in values are used, so the same program also runs unsplit.
//
// The text has no effect unless the macro of kPreludeOption is defined, so one program object can be built both
// ways. Its last line resets the line number to 1.
//
// Source: OpenCL C 3.0, section 6.15.1 "Work-item functions"; C99 6.10.3 and 6.10.4.
//
// Thread-safe: constants only.
#pragma once

#include <array>
#include <string_view>

namespace cleave::kernels {

// The build option that enables the prelude.
inline constexpr std::string_view kPreludeOption = "-D__cleave_on";

// The prefix of all names that the prelude declares. The language reserves such names.
inline constexpr std::string_view kReservedPrefix = "__cleave_";

// The functions that the prelude replaces.
inline constexpr std::array<std::string_view, 8> kReplacedFunctions = {
    "get_work_dim",      "get_global_size", "get_num_groups",       "get_group_id",
    "get_global_offset", "get_global_id",   "get_global_linear_id", "get_group_linear_id"};

std::string_view prelude();

}  // namespace cleave::kernels
