// Answers to the clGet...Info queries: the rules for sizes, which are the same for all of them, and tables of what is
// answered to which name.
//
//   constexpr InfoRow<Kernel> rows[] = {
//       {CL_KERNEL_FUNCTION_NAME, [](const Kernel& kernel) { return kernel.signature.name; }},
//       ...
//   SIM_IMPLEMENT(clGetKernelInfo, (answer_from<Kernel, rows>));
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <cstring>
#include <memory>
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

  // Throws CL_INVALID_VALUE if there is a place for the answer and it is too small.
  void bytes(const void* data, std::size_t size) const {
    require(value_ == nullptr || capacity_ >= size, CL_INVALID_VALUE);
    if (value_ != nullptr && size > 0) std::memcpy(value_, data, size);
    if (size_ret_ != nullptr) *size_ret_ = size;
  }

  void put(bool given) const { put<cl_bool>(given ? CL_TRUE : CL_FALSE); }
  // With the terminating zero.
  void put(const std::string& given) const { bytes(given.c_str(), given.size() + 1); }
  void put(const char* given) const { bytes(given, std::strlen(given) + 1); }
  template <class T>
  void put(const std::vector<T>& given) const {
    bytes(given.data(), given.size() * sizeof(T));
  }
  template <class T>
  void put(const T& given) const {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&given, sizeof(T));
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

// The last four arguments of a clGet...Info function.
struct InfoQuery {
  cl_uint name;
  InfoAnswer answer;
};

// The answer to one name: a function of the object that returns it, or that writes it into the `InfoAnswer` which it
// gets as well.
template <class T>
struct InfoRow {
  template <class F>
  constexpr InfoRow(cl_uint the_name, F) : name(the_name), write(&write_with<F>) {}

  cl_uint name;
  void (*write)(const T&, const InfoAnswer&);

 private:
  template <class F>
  static void write_with(const T& object, const InfoAnswer& answer) {
    if constexpr (std::is_invocable_v<F, const T&>) {
      answer.put(F{}(object));
    } else {
      F{}(object, answer);
    }
  }
};

// Throws CL_INVALID_VALUE for a name that is in no row.
template <class T, class Rows>
void answer(const Rows& rows, const T& object, const InfoQuery& query) {
  for (const InfoRow<T>& row : rows) {
    if (row.name == query.name) return row.write(object, query.answer);
  }
  throw Error{CL_INVALID_VALUE};
}

template <class Object>
auto handles_of(const std::vector<std::shared_ptr<Object>>& objects) {
  std::vector<typename Object::ClHandle> handles;
  for (const auto& object : objects) handles.push_back(handle_of(object));
  return handles;
}

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
