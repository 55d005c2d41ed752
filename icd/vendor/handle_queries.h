// Queries that answer with handles: the driver's handles in its answer are replaced by ours.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "icd/vendor/translate.h"

namespace cleave::vendor {

using objects::Kind;

// Replaces the driver's handles in `bytes` bytes at `place` (of any alignment) by ours. Without memory for one, it is
// null and the result CL_OUT_OF_HOST_MEMORY.
inline cl_int wrap_handles(Kind kind, void* place, std::size_t bytes, Object& asked) {
  cl_int error = CL_SUCCESS;
  auto* const list = static_cast<std::byte*>(place);
  for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    void* raw = nullptr;
    std::memcpy(&raw, list + i, sizeof raw);
    void* const ours = vendor.objects.wrap(kind, raw, asked);
    if (raw != nullptr && ours == nullptr) error = CL_OUT_OF_HOST_MEMORY;
    std::memcpy(list + i, &ours, sizeof ours);
  }
  return error;
}

// One parameter name to which a query answers with handles of one kind.
struct HandleParam {
  cl_uint name;
  Kind kind;
};

// All such names of a query.
struct HandleAnswers {
  std::array<HandleParam, 3> params{};
  std::size_t count = 0;

  [[nodiscard]] constexpr const HandleParam* find(cl_uint name) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (params[i].name == name) return &params[i];
    }
    return nullptr;
  }
};

// The words with which rows describe them (opencl/functions.def).
namespace handles {
constexpr HandleParam context(cl_uint name) { return {name, Kind::context}; }
constexpr HandleParam device(cl_uint name) { return {name, Kind::device}; }
constexpr HandleParam memory(cl_uint name) { return {name, Kind::memory}; }
constexpr HandleParam platform(cl_uint name) { return {name, Kind::platform}; }
constexpr HandleParam program(cl_uint name) { return {name, Kind::program}; }
constexpr HandleParam queue(cl_uint name) { return {name, Kind::queue}; }

template <typename... Params>
constexpr HandleAnswers answers(Params... params) {
  return {{params...}, sizeof...(params)};
}
}  // namespace handles

// Calls ask(size_ret), which must query the driver for `name`, and translates the result if it consists of handles.
template <typename Ask>
cl_int query_handles(Object& asked, const HandleAnswers& answers, cl_uint name, void* value, size_t* size_ret,
                     Ask ask) {
  size_t answered = 0;
  const cl_int error = ask(&answered);
  if (error != CL_SUCCESS) return error;
  if (size_ret != nullptr) *size_ret = answered;
  const HandleParam* const param = value == nullptr ? nullptr : answers.find(name);
  return param == nullptr ? CL_SUCCESS : wrap_handles(param->kind, value, answered, asked);
}

// A query of the usual shape.
template <auto Entry, HandleAnswers kAnswers>
struct HandleQuery;

template <typename Handle, cl_int (CL_API_CALL* Table::*Entry)(Handle, cl_uint, size_t, void*, size_t*),
          HandleAnswers kAnswers>
struct HandleQuery<Entry, kAnswers> {
  static cl_int CL_API_CALL call(Handle handle, cl_uint name, size_t size, void* value, size_t* size_ret) {
    Object* const object = vendor.objects.find(handle);
    if (object == nullptr) return KindOf<Handle>::invalid;
    const auto raw = static_cast<Handle>(objects::raw_of(*object));
    if (kAnswers.find(name) == nullptr) return (vendor.next->*Entry)(raw, name, size, value, size_ret);
    return query_handles(*object, kAnswers, name, value, size_ret, [&](size_t* answered) {
      return (vendor.next->*Entry)(raw, name, size, value, answered);
    });
  }
};

// Replaces `count` objects that the driver has created below `parent` by ours. Without memory for all, all are
// released.
template <OpenClHandle Handle>
cl_int wrap_created(Handle* list, cl_uint count, Object& parent, cl_int(CL_API_CALL* release)(Handle)) {
  for (cl_uint i = 0; i < count; ++i) {
    Object* const made = vendor.objects.prepare(KindOf<Handle>::kind, parent);
    if (made == nullptr) {
      for (cl_uint k = 0; k < i; ++k) {
        Object& before = *vendor.objects.find(list[k]);
        list[k] = static_cast<Handle>(objects::raw_of(before));
        vendor.objects.release(before);
        vendor.objects.reap(before);
      }
      for (cl_uint k = 0; k < count; ++k) release(list[k]);
      return CL_OUT_OF_HOST_MEMORY;
    }
    list[i] = objects::handle_of<Handle>(&vendor.objects.publish(*made, list[i]));
  }
  return CL_SUCCESS;
}

// A function that creates a list of objects; `kRelease` releases one of them. The last parameters are the length of the
// list, the list, and the number of objects.
template <auto Entry, auto kRelease>
struct ListCreation;
template <typename Parent, typename... Rest, cl_int (CL_API_CALL* Table::*Entry)(Parent, Rest...),
          auto kRelease>
struct ListCreation<Entry, kRelease> {
  static constexpr std::size_t kRest = sizeof...(Rest);

  static cl_int CL_API_CALL call(Parent handle, Rest... rest) {
    Object* const parent = vendor.objects.find(handle);
    if (parent == nullptr) return KindOf<Parent>::invalid;
    const auto all = std::tie(rest...);
    const cl_uint entries = std::get<kRest - 3>(all);
    auto* const list = std::get<kRest - 2>(all);
    cl_uint made = 0;
    cl_uint* const count = std::exchange(std::get<kRest - 1>(all), &made);
    const cl_int error = (vendor.next->*Entry)(static_cast<Parent>(objects::raw_of(*parent)), rest...);
    if (error != CL_SUCCESS) return error;
    if (count != nullptr) *count = made;
    return list == nullptr ? CL_SUCCESS
                           : wrap_created(list, std::min(entries, made), *parent, vendor.next->*kRelease);
  }
};

// Returns a value of our own as a query does.
inline cl_int write_info(const void* data, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, data, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

}  // namespace cleave::vendor
