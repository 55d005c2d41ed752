// Handlers that are derived: the command's message has the function's parameters as its fields, in the same order. Ids
// become handles, a Size3 an array; numbers stay what they are.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "opencl/function_traits.h"
#include "remote/server/handlers/triple.h"
#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {

// One field as the function's parameter.
template <typename Parameter, typename Field>
struct RelayedField {
  static_assert(std::is_integral_v<Parameter> && std::is_integral_v<Field>,
                "the field is not what the parameter needs: handle the message by hand");
  RelayedField(const SessionContext&, Field field) : value(static_cast<Parameter>(field)) {}
  [[nodiscard]] static cl_int error() { return CL_SUCCESS; }
  [[nodiscard]] Parameter get() const { return value; }
  Parameter value;
};

template <typename Parameter>
struct RelayedField<const Parameter*, const wire::Size3*> {
  static_assert(std::is_same_v<Parameter, size_t>);
  RelayedField(const SessionContext&, const wire::Size3* size) : value(triple(size)) {}
  [[nodiscard]] static cl_int error() { return CL_SUCCESS; }
  [[nodiscard]] const size_t* get() const { return value.data(); }
  Triple value;
};

template <>
struct RelayedField<cl_mem, std::uint64_t> {
  RelayedField(const SessionContext& session, std::uint64_t id) : value(session.objects.handle<cl_mem>(id)) {}
  [[nodiscard]] cl_int error() const { return value == nullptr ? KindOf<cl_mem>::invalid : CL_SUCCESS; }
  [[nodiscard]] cl_mem get() const { return value; }
  cl_mem value;
};

template <auto Entry, typename Message, typename Function = opencl::FunctionAt<Entry>>
struct Relay;

template <auto Entry, typename Message, typename... Parameters>
struct Relay<Entry, Message, cl_int(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  // The wait list and the event are not the message's.
  static constexpr std::size_t kFields = sizeof...(Parameters) - 3;
  static_assert(Message::Traits::fields_number == kFields,
                "a field for each of the function's own parameters");

  static void handle(SessionContext& session, const wire::Command& command, const Message& message) {
    handle(session, command, message, std::make_index_sequence<kFields>());
  }

 private:
  template <std::size_t... I>
  static void handle(SessionContext& session, const wire::Command& command, const Message& message,
                     std::index_sequence<I...>) {
    using All = std::tuple<Parameters...>;
    const std::tuple<RelayedField<std::tuple_element_t<I, All>, decltype(message.template get_field<I>())>...>
        fields{{session, message.template get_field<I>()}...};
    cl_int error = CL_SUCCESS;
    ((error = error != CL_SUCCESS ? error : std::get<I>(fields).error()), ...);
    if (error != CL_SUCCESS) return fail_command(session, command, error);
    enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
      return (session.cl.*Entry)(queue, std::get<I>(fields).get()..., wait...);
    });
  }
};

}  // namespace cleave::remote::server
