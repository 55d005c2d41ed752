// What the files about memory objects share.
#pragma once

#include <optional>
#include <vector>

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

// CL_SUCCESS, or what clCreateBuffer and clCreateImage answer for such flags.
cl_int check_flags(cl_mem_flags flags);

// With the ending zero; empty for null.
std::vector<cl_mem_properties> property_list(const cl_mem_properties* properties);

// What was sent became a memory object of the program's, or an error; then `state` and `object` are gone.
cl_mem publish_memory(Object* object, MemoryState* state, cl_int error, cl_int* error_ret);

// The size of a pixel in bytes; 0 for a format that is unknown.
std::size_t pixel_size(const cl_image_format& format);

// How many of its dimensions are places in a row, rows, slices: 1 where there is no such.
std::array<std::size_t, 3> extent_of(const MemoryState& image);

// Memory for maps of the whole object, at least `size` bytes; null if there is none. Under `state.mutex`.
std::byte* shadow_memory(MemoryState& state, std::size_t size);

// Takes the first map that leads there off the list; none if there is no such map. Its place stays in use.
std::optional<Mapping> remove_mapping(MemoryState& state, const void* pointer);
// The program makes no use of the place any more.
void release_mapping(const Mapping& mapping);
// Both, for the newest map that leads there: it has failed after all.
void cancel_mapping(MemoryState& state, const void* pointer);

}  // namespace cleave::remote::client
