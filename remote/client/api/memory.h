// Shared by the files about memory objects.
//
// Thread-safe.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "remote/client/link/connection.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

inline constexpr cl_mem_flags kAccessFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
// The object begins with, or is, memory of the program's.
inline constexpr cl_mem_flags kHostData = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;

// CL_SUCCESS, or the error of clCreateBuffer and clCreateImage for such flags, by the specification.
cl_int check_flags(cl_mem_flags flags);

// The error for arguments to which the specification gives `error`: the driver's, since drivers differ, in what they accept as in
// which of several errors they return. make(builder, trial) is the creating command. CL_SUCCESS: the driver accepts them.
// `wants_contents`: the driver would read host memory, of which the server has none: then, and if the server is too old, the
// specification decides.
template <typename Make>
cl_int judged_by_driver(Connection& connection, cl_int error, bool has_host, bool wants_contents, Make make) {
  if (!connection.supports(Feature::trials) || (has_host && wants_contents)) return error;
  const auto trial = has_host ? wire::Trial::with_host : wire::Trial::without_host;
  return connection.call({}, [&](auto& b) { return make(b, trial); });
}

// The list of an object's properties as its command has it: without the zero, and absent if there are none.
template <typename Builder>
flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> wire_properties(
    Builder& b, const std::vector<cl_mem_properties>& list) {
  if (list.size() <= 1) return 0;
  return b.CreateVector(list.data(), list.size() - 1);
}

// The size of a pixel in bytes. 0 for an unknown format.
std::size_t pixel_size(const cl_image_format& format);

// Width, rows and slices of an image: 1 for dimensions that it does not have. The images of a one-dimensional array are
// its rows.
std::array<std::size_t, 3> extent_of(const MemoryState& image);

// Removes and returns the oldest map of that address. None: there is no such map. The memory stays in use.
std::optional<Mapping> remove_mapping(MemoryState& state, const void* pointer);
// The program no longer uses the memory of a map.
void release_mapping(const Mapping& mapping);
// Removes and releases the newest map of that address, whose command has failed.
void cancel_mapping(MemoryState& state, const void* pointer);

}  // namespace cleave::remote::client
