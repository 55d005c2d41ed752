#include "kernels/prelude/prelude.h"

namespace cleave::kernels {

// Notes on the text:
//   - In volumes, which use the third dimension themselves, that value also has the work-group's place in its low bits.
//   - The tag is read with get_global_id(2), not get_global_offset(2): some compilers assume that an offset is small and fold
//     tests of its high bits away. Minus get_local_id(2), which is 0 in a tagged launch, the value is uniform in a work-group,
//     and most compilers recognise that. NVIDIA's does not, and reads an offset correctly.
//   - The size that a tag encodes has 31 bits (plan::validate_cut), so 32-bit arithmetic suffices, also for an id if
//     the launch's own offset is 0. In short work-items the cost of a 64-bit division is measurable.
//   - Both values are computed and one is selected, without a branch: compilers can then hoist the selection out of their loops
//     over work-items, and still see that the program's loops are uniform in a work-group (with a branch, the reduction of
//     bench/kernels took seven times as long on PoCL). NVIDIA's compiler has no such loops, and a uniform branch is cheaper
//     there, except for the size.
//   - NVIDIA's integer division is long. Where a dimension is cut, the groups before the slice are not in the tag, and the dimension
//     has fewer than 2^20 groups, the offset is divided in floating point. Its error is at most 2^-24 of the offset's conversion (a
//     local size below 2^24 is exact), 2^-23 of the reciprocal (PTX documents rcp.approx.ftz.f32 with one unit in the last place)
//     and 2^-24 of the product: in sum a quarter of a group, and the quotient is a whole number.
//   - Local ids, local sizes and everything about sub-groups are the same in a slice and in the whole launch.
//   - If the tag holds the groups before the slice, the launch's own offset is what remains of an id; otherwise it is 0.
//   - All names are reserved, so that macros in build options do not change them; scan_options() looks for the others.
//   - OpenCL C 1.1 has no static functions, and others would collide when programs are linked. Where there is no substitute, the
//     program does not build with the prelude.
//   - The driver answers for dimensions that do not exist, except for values that could be the tag: some drivers return those
//     of the third dimension.
//   - The dimensions that are cut are counted one by one: compilers make the usual tests for a single bit a population count,
//     which Oclgrind lacks.
//   - Linear ids are built-in from OpenCL C 2.0 on, and there is no replacement for the group's. A program's own functions of
//     these names keep working, under the other name. A use of the built-in one does not build with the prelude.
std::string_view prelude() {
  return R"(#if defined(__cleave_on) && !defined(__cleave_prelude)
#define __cleave_prelude
#if defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 120
#define __cleave_function static inline __attribute__((always_inline, unused, __const__))
#elif defined(__has_attribute)
#if __has_attribute(internal_linkage)
#define __cleave_function inline __attribute__((internal_linkage, always_inline, unused, __const__))
#endif
#endif
#ifndef __cleave_function
#error
#endif
#if defined(__NV_CL_C_VERSION)
#define __cleave_third get_global_offset(2)
#define __cleave_return_if(__condition, __value) if (__builtin_expect(__condition, 1)) return __value
#define __cleave_return_rarely(__condition, __value) if (__builtin_expect(__condition, 0)) return __value
#else
#define __cleave_third get_global_id(2) - get_local_id(2)
#define __cleave_return_if(__condition, __value)
#define __cleave_return_rarely(__condition, __value)
#endif
__cleave_function uint __cleave_tag(void) {
  size_t __third = __cleave_third;
  return (ptrdiff_t)__third < 0 ? (uint)__third : 0u;
}
__cleave_function uint __cleave_is_volume(uint __tag) { return __tag - 0x80000000u < 0x20000000u ? 1u : 0u; }
__cleave_function uint __cleave_is_cut(uint __tag, uint __d) {
  return __d < 2u + __cleave_is_volume(__tag) ? (__tag >> (26u + __d)) & 1u : 0u;
}
__cleave_function uint __cleave_cuts(uint __tag) {
  return ((__tag >> 26) & 1u) + ((__tag >> 27) & 1u) + ((__tag >> 28) & 1u);
}
__cleave_function uint __cleave_volume_field(uint __tag, uint __d) {
  uint __cuts = __cleave_cuts(__tag);
  uint __below = (__tag >> 26) & ((1u << __d) - 1u) & 3u;
  uint __width = __cuts == 1u ? 13u : __cuts == 2u ? 8u : 6u;
  uint __first = 26u - __cuts * __width;
  return (__tag >> (__first + __width * ((__below & 1u) + (__below >> 1)))) & ((1u << __width) - 1u);
}
__cleave_function uint __cleave_position(uint __tag, size_t __id) {
  uint __cuts = __cleave_cuts(__tag);
  uint __mask = __cuts == 1u ? 0x1fffu : __cuts == 2u ? 0x3ffu : 0xffu;
  return __cleave_is_volume(__tag) ? (uint)__id & __mask : 0u;
}
__cleave_function uint __cleave_groups(uint __tag, uint __d) {
  __cleave_return_rarely(__cleave_is_volume(__tag), __cleave_volume_field(__tag, __d));
  uint __of_one = __tag & (0x10000000u | (0x8000000u >> __d)) ? __tag & 0x1fffu : __tag & 0x3ffffffu;
  uint __flat = __d == 1u && (__tag & 0x4000000u) ? (__tag >> 13) & 0x1fffu : __of_one;
  return __cleave_is_volume(__tag) ? __cleave_volume_field(__tag, __d) : __flat;
}
__cleave_function uint __cleave_work_dim(void) {
  uint __of_tag = (__cleave_tag() >> 29) & 3u;
  uint __plain = get_work_dim();
  return __of_tag != 0u ? __of_tag : __plain;
}
__cleave_function size_t __cleave_num_groups(uint __d) {
  uint __tag = __cleave_tag();
  __cleave_return_if(__tag == 0u, get_num_groups(__d));
  size_t __groups = __cleave_groups(__tag, __d);
  size_t __plain = get_num_groups(__d);
  return __cleave_is_cut(__tag, __d) ? __groups : __plain;
}
__cleave_function size_t __cleave_global_size(uint __d) {
  size_t __third = __cleave_third;
  uint __tag = (uint)__third;
  uint __size = __cleave_groups(__tag, __d) * (uint)get_local_size(__d);
  size_t __plain = get_global_size(__d);
#if defined(__NV_CL_C_VERSION)
  return (ptrdiff_t)__third < 0 && __cleave_is_cut(__tag, __d) ? (size_t)__size : __plain;
#else
  return __cleave_is_cut((ptrdiff_t)__third < 0 ? __tag : 0u, __d) ? (size_t)__size : __plain;
#endif
}
__cleave_function size_t __cleave_group_id(uint __d) {
  uint __tag = __cleave_tag();
  __cleave_return_if(__tag == 0u, get_group_id(__d));
#if defined(__NV_CL_C_VERSION)
  uint __usual = 0x4000000u << __d;
  if (__builtin_expect(__d < 2u && (__tag & (0x13f00000u | __usual)) == __usual, 1)) {
    float __before = (float)(uint)get_global_offset(__d) * native_recip((float)(uint)get_local_size(__d));
    return get_group_id(__d) + (uint)(__before + 0.5f);
  }
#endif
  uint __cut = __cleave_is_cut(__tag, __d);
  uint __with_first = (__tag >> 28) & ~__cleave_is_volume(__tag) & 1u;
  size_t __near = get_group_id(__d) + (__cut & __with_first ? (__tag >> 13) & 0x1fffu : 0u);
  __cleave_return_if((__cut & ~__with_first) == 0u, __near);
  size_t __begin = get_global_id(__d) - get_local_id(__d);
  uint __far = (__d == 2u ? __cleave_position(__tag, __begin) : (uint)__begin) / (uint)get_local_size(__d);
  return __cut & ~__with_first ? (size_t)__far : __near;
}
__cleave_function size_t __cleave_global_offset(uint __d) {
  uint __tag = __cleave_tag();
  uint __volume = __cleave_is_volume(__tag);
  uint __cut = __cleave_is_cut(__tag, __d) | (__volume && __d == 2u ? 1u : 0u);
  size_t __plain = get_global_offset(__d);
  size_t __uncut = __tag != 0u && __d >= 2u ? 0 : __plain;
  __cleave_return_if(__cut == 0u, __uncut);
  size_t __begin = get_global_id(__d) - get_local_id(__d);
  size_t __first = (__d == 2u ? __cleave_position(__tag, __begin) : __begin) - __cleave_group_id(__d) * get_local_size(__d);
  size_t __own = (__d == 2u ? __volume : (__tag >> 28) & ~__volume & 1u) ? __first : 0;
  return __cut ? __own : __uncut;
}
__cleave_function size_t __cleave_global_id(uint __d) {
  size_t __plain = get_global_id(__d);
  uint __tag = __cleave_tag();
  size_t __third = __d == 2u ? __cleave_position(__tag, __plain - get_local_id(__d)) + get_local_id(__d) : 0;
  return __d >= 2u && __tag != 0u ? __third : __plain;
}
#if (defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 200) || defined(__OPENCL_CPP_VERSION__)
__cleave_function size_t __cleave_global_linear_id(void) {
  uint __tag = __cleave_tag();
  size_t __plain = get_global_linear_id();
  __cleave_return_if(__tag == 0u, __plain);
  size_t __plane = (__cleave_global_id(2) - __cleave_global_offset(2)) * __cleave_global_size(1);
  size_t __flat = (__plane + get_global_id(1) - __cleave_global_offset(1)) * __cleave_global_size(0) +
                  get_global_id(0) - __cleave_global_offset(0);
  return __tag == 0u ? __plain : __flat;
}
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
