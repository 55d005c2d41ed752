#include "kernels/prelude.h"

namespace cleave::kernels {

// Notes on the text:
//   - The tag is read with get_global_id(2), never with get_global_offset(2): some compilers are told that an
//     offset is small, and fold tests of high bits away. In a launch without a tag the value is never
//     negative on 64-bit devices, but for offsets beyond 2^63.
//   - Local ids, local sizes and everything about sub-groups are the same in a slice and in the whole launch.
//   - With a first group in the tag, an own offset is what is left of the first id; without, it is 0.
//   - Linear ids are built-in functions from OpenCL C 2.0 on; before, a program may have functions of its own
//     of that name. These keep working, under the other name, while a built-in one is not found there, so
//     that the program does not build like this.
std::string_view prelude() {
  return R"(#if defined(__cleave_on) && !defined(__cleave_prelude)
#define __cleave_prelude
#if defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 120
#define __cleave_function static inline __attribute__((always_inline, unused))
#else
#define __cleave_function inline __attribute__((always_inline, unused))
#endif
__cleave_function uint __cleave_tag(void) { size_t z = get_global_id(2) - get_local_id(2); return (ptrdiff_t)z < 0 ? (uint)z : 0u; }
__cleave_function int __cleave_is_cut(uint tag, uint d) { return d < 2u && ((tag >> (26u + d)) & 1u) != 0u; }
__cleave_function uint __cleave_work_dim(void) { uint tag = __cleave_tag(); return tag != 0u ? (tag >> 29) & 3u : get_work_dim(); }
__cleave_function size_t __cleave_num_groups(uint d) { uint tag = __cleave_tag(); if (!__cleave_is_cut(tag, d)) return get_num_groups(d); if (((tag >> 26) & 3u) == 3u) return (tag >> (13u * d)) & 0x1fffu; return (tag >> 28) & 1u ? tag & 0x1fffu : tag & 0x3ffffffu; }
__cleave_function size_t __cleave_group_id(uint d) { uint tag = __cleave_tag(); if (!__cleave_is_cut(tag, d)) return get_group_id(d); if ((tag >> 28) & 1u) return get_group_id(d) + ((tag >> 13) & 0x1fffu); return (get_global_id(d) - get_local_id(d)) / get_local_size(d); }
__cleave_function size_t __cleave_global_size(uint d) { return __cleave_is_cut(__cleave_tag(), d) ? __cleave_num_groups(d) * get_local_size(d) : get_global_size(d); }
__cleave_function size_t __cleave_global_offset(uint d) { uint tag = __cleave_tag(); if (__cleave_is_cut(tag, d)) return (tag >> 28) & 1u ? get_global_id(d) - get_local_id(d) - __cleave_group_id(d) * get_local_size(d) : 0; return tag != 0u && d == 2u ? 0 : get_global_offset(d); }
__cleave_function size_t __cleave_global_id(uint d) { return d == 2u && __cleave_tag() != 0u ? 0 : get_global_id(d); }
#if (defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 200) || defined(__OPENCL_CPP_VERSION__)
__cleave_function size_t __cleave_global_linear_id(void) { if (__cleave_tag() == 0u) return get_global_linear_id(); return (get_global_id(1) - __cleave_global_offset(1)) * __cleave_global_size(0) + get_global_id(0) - __cleave_global_offset(0); }
#endif
#define get_work_dim __cleave_work_dim
#define get_global_size __cleave_global_size
#define get_num_groups __cleave_num_groups
#define get_group_id __cleave_group_id
#define get_global_offset __cleave_global_offset
#define get_global_id __cleave_global_id
#define get_global_linear_id __cleave_global_linear_id
#define get_group_linear_id __cleave_group_linear_id
#endif
#line 1
)";
}

}  // namespace cleave::kernels
