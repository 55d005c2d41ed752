// Lists and texts of messages as the driver takes them.
#pragma once

#include <vector>

#include "base/opencl.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::server {

inline const char* text_of(const flatbuffers::String* text) { return text != nullptr ? text->c_str() : ""; }

template <typename Handle>
const Handle* list_of(const std::vector<Handle>& handles) {
  return handles.empty() ? nullptr : handles.data();
}

template <typename Handle>
cl_uint count_of(const std::vector<Handle>& handles) {
  return static_cast<cl_uint>(handles.size());
}

}  // namespace cleave::remote::server
