// The types of OpenCL's functions, by their entries of a table: FunctionAt<&Table::clFinish>.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::opencl {

template <auto Entry>
struct EntryTraits;
template <typename Struct, typename Member, Member Struct::*Pointer>
struct EntryTraits<Pointer> {
  using Table = Struct;
  using Function = Member;
};

// The type of pointer that the entry holds.
template <auto Entry>
using FunctionAt = typename EntryTraits<Entry>::Function;

// The function type that the entry points to.
template <auto Entry>
using Declared = std::remove_pointer_t<FunctionAt<Entry>>;

template <typename Function>
struct FunctionTraits;
template <typename R, typename... Parameters>
struct FunctionTraits<R(CL_API_CALL*)(Parameters...)> {
  using Result = R;
  using All = std::tuple<Parameters...>;
  using Noexcept = R CL_API_CALL(Parameters...) noexcept;
  static constexpr std::size_t kParameters = sizeof...(Parameters);
};

template <auto Entry>
using ResultOf = typename FunctionTraits<FunctionAt<Entry>>::Result;
template <auto Entry, std::size_t index>
using ParameterOf = std::tuple_element_t<index, typename FunctionTraits<FunctionAt<Entry>>::All>;
template <auto Entry>
using DeclaredNoexcept = typename FunctionTraits<FunctionAt<Entry>>::Noexcept;

}  // namespace cleave::opencl
