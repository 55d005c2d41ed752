// Answers to the clGet...Info queries, with the rules for sizes that are the same for all of them.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/sim/driver/core/object.h"

namespace cleave::sim {

// Where the answer to one query goes.
class InfoAnswer {
 public:
  InfoAnswer(std::size_t capacity, void* value, std::size_t* size_ret)
      : capacity_(capacity), value_(value), size_ret_(size_ret) {}

  // Throws CL_INVALID_VALUE if there is a place for the answer but too little room.
  void bytes(const void* data, std::size_t size) const {
    require(value_ == nullptr || capacity_ >= size, CL_INVALID_VALUE);
    if (value_ != nullptr && size > 0) std::memcpy(value_, data, size);
    if (size_ret_ != nullptr) *size_ret_ = size;
  }

  template <class T>
  void value(const T& given) const {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&given, sizeof(T));
  }
  void boolean(bool given) const { value<cl_bool>(given ? CL_TRUE : CL_FALSE); }

  // With the zero that ends it.
  void text(std::string_view given) const {
    const std::string ended(given);
    bytes(ended.c_str(), ended.size() + 1);
  }

  template <class T>
  void list(const std::vector<T>& given) const {
    bytes(given.data(), given.size() * sizeof(T));
  }

  // For answers that are written through pointers which the program passes.
  std::size_t capacity() const { return capacity_; }
  void* place() const { return value_; }
  void size(std::size_t given) const {
    if (size_ret_ != nullptr) *size_ret_ = given;
  }

 private:
  std::size_t capacity_;
  void* value_;
  std::size_t* size_ret_;
};

// For the functions that list objects: `entries` of room at `list`.
template <class T>
void answer_list(const std::vector<T>& given, cl_uint entries, T* list, cl_uint* count) {
  require(list == nullptr || entries > 0, CL_INVALID_VALUE);
  require(list != nullptr || count != nullptr, CL_INVALID_VALUE);
  for (std::size_t i = 0; list != nullptr && i < given.size() && i < entries; ++i) list[i] = given[i];
  if (count != nullptr) *count = static_cast<cl_uint>(given.size());
}

// A list of properties as the program passed it: pairs ended by a zero, which is kept. Empty for NULL.
template <class P>
std::vector<P> property_list(const P* properties) {
  std::vector<P> list;
  if (properties == nullptr) return list;
  for (; *properties != 0; properties += 2) list.insert(list.end(), {properties[0], properties[1]});
  list.push_back(0);
  return list;
}

}  // namespace cleave::sim
