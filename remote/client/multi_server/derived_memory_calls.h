// Commands on memory objects of a context over several servers, derived from their rows: `uses(read, write)` says what
// the command does to each memory object in turn. The command goes to the queue's own server, and what is elsewhere is
// moved there first.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {

struct Uses {
  std::array<Access, 2> accesses{};
  std::size_t count = 0;
};

template <auto kSingle, Uses kUses>
struct MemoryCommand;

template <typename... Parameters, cl_int(CL_API_CALL* kSingle)(cl_command_queue, Parameters...), Uses kUses>
struct MemoryCommand<kSingle, kUses> {
  using All = std::tuple<Parameters...>;
  // Before the wait list and the event. A number of this type among them says whether the program waits for its data.
  static constexpr std::size_t kOwn = sizeof...(Parameters) - 3;

  static cl_int CL_API_CALL call(cl_command_queue queue, Parameters... parameters) {
    return run(queue, All(parameters...), std::make_index_sequence<kOwn>());
  }

 private:
  template <typename T, std::size_t... I>
  static constexpr std::size_t count_of(std::index_sequence<I...>) {
    return (std::is_same_v<T, std::tuple_element_t<I, All>> + ...);
  }
  static constexpr std::size_t kFlags = count_of<cl_bool>(std::make_index_sequence<kOwn>());
  static_assert(kFlags <= 1, "more than one cl_bool: the blocking flag is ambiguous");
  static_assert(count_of<cl_mem>(std::make_index_sequence<kOwn>()) == kUses.count,
                "an access for each memory object");

  template <std::size_t... I>
  static cl_int run(cl_command_queue queue, const All& all, std::index_sequence<I...>) {
    QueuedCommand command({queue, std::get<kOwn>(all), std::get<kOwn + 1>(all), std::get<kOwn + 2>(all)});
    All here = all;
    std::size_t used = 0;
    bool blocking = false;
    const auto replace = [&](auto& parameter) {
      using Parameter = std::remove_reference_t<decltype(parameter)>;
      if constexpr (std::is_same_v<Parameter, cl_mem>) {
        parameter = command.use(parameter, kUses.accesses[used++]);
      } else if constexpr (std::is_same_v<Parameter, cl_bool>) {
        blocking = std::exchange(parameter, CL_FALSE) != CL_FALSE;
      }
    };
    (replace(std::get<I>(here)), ...);
    const auto enqueue = [&](auto... wait) { return kSingle(queue, std::get<I>(here)..., wait...); };
    return kFlags != 0 ? command.transfer(blocking, enqueue) : command.run(enqueue);
  }
};

}  // namespace cleave::remote::client::multi_server
