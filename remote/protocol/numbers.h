// The numbers of a vector in a message. FlatBuffers' verifier checks that they lie within the message, but not that they are
// aligned, which a peer need not ensure: they are copied before they are read.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include <flatbuffers/flatbuffers.h>

namespace cleave::remote {

// Null counts as empty.
template <typename Number>
bool is_empty(const flatbuffers::Vector<Number>* list) {
  return list == nullptr || list->size() == 0;
}

template <typename Number>
std::vector<Number> numbers(const flatbuffers::Vector<Number>* list) {
  std::vector<Number> copied(list != nullptr ? list->size() : 0);
  if (!copied.empty()) std::memcpy(copied.data(), list->Data(), copied.size() * sizeof(Number));
  if constexpr (std::endian::native == std::endian::big) {
    for (Number& one : copied) one = flatbuffers::EndianScalar(one);
  }
  return copied;
}

}  // namespace cleave::remote
