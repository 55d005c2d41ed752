// The table of bad_arguments.cpp: what is needed to list a function, and the objects that the calls use.
//
//   vary(rig, "clEnqueueReadBuffer", clEnqueueReadBuffer, "queue buffer blocking offset size pointer waits list event",
//        rig.queue, rig.buffer, CL_TRUE, 0, 64, rig.host, 0, nullptr, &rig.event);
#pragma once

#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bad {

inline constexpr std::size_t kSize = 4096;  // of buffers
inline constexpr std::size_t kUntouched = 0xA5A5A5A5A5A5A5A5U;

// Prints the name and what the call returns, unless the case is to be skipped.
void run_case(const std::string& name, const std::function<std::string()>& call);

// An argument as a function takes it, and its type, so that one function varies calls of every signature.
using Word = std::uint64_t;
enum class Type : std::uint8_t {
  context,
  queue,
  memory,
  program,
  kernel,
  event,
  sampler,
  size,  // and bits
  number,
  code,
  sizes,
  events,
  pointer,
  other,
};

template <typename T>
constexpr Type type_of() {
  if (std::is_same_v<T, cl_context>) return Type::context;
  if (std::is_same_v<T, cl_command_queue>) return Type::queue;
  if (std::is_same_v<T, cl_mem>) return Type::memory;
  if (std::is_same_v<T, cl_program>) return Type::program;
  if (std::is_same_v<T, cl_kernel>) return Type::kernel;
  if (std::is_same_v<T, cl_event>) return Type::event;
  if (std::is_same_v<T, cl_sampler>) return Type::sampler;
  if (std::is_same_v<T, std::size_t>) return Type::size;
  if (std::is_same_v<T, cl_uint>) return Type::number;
  if (std::is_same_v<T, cl_int>) return Type::code;
  if (std::is_same_v<T, const std::size_t*>) return Type::sizes;
  if (std::is_same_v<T, const cl_event*>) return Type::events;
  return std::is_pointer_v<T> ? Type::pointer : Type::other;
}

// Valid objects, those of another context, and places for outputs.
struct Rig {
  Rig();
  void release_some();
  // Whatever the last call has written there, as text; the places are untouched again.
  std::string outputs();

  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr, other_context = nullptr;
  cl_command_queue queue = nullptr, other_queue = nullptr;
  cl_mem buffer = nullptr, second = nullptr, sub_buffer = nullptr, other_buffer = nullptr, image = nullptr;
  cl_mem write_only = nullptr, read_only = nullptr, no_access = nullptr;  // for the host
  cl_program program = nullptr, unbuilt = nullptr, other_program = nullptr;
  cl_kernel kernel = nullptr, unset = nullptr, other_kernel = nullptr;
  cl_sampler sampler = nullptr;
  cl_event ended = nullptr, other_ended = nullptr, user = nullptr;
  // Handles that the program has given up, and what they are then. Where there are any, these alone replace what is right.
  std::map<Type, std::pair<Word, cl_int>> released;
  std::byte* host = nullptr;  // much more than any transfer takes
  void* svm = nullptr;

  // Outputs.
  cl_event event = nullptr;
  cl_int error = 0;
  cl_uint number = 0;
  std::size_t size = 0;
  std::array<std::size_t, 64> values{};
};

template <typename T>
Word to_word(T value) {
  static_assert(sizeof value <= sizeof(Word));
  Word word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <typename T>
T from_word(Word word) {
  T value{};
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// A function with arguments that are right.
struct Call {
  std::string name;
  const char* parameters;  // words
  std::vector<Type> types;
  std::vector<Word> arguments;
  void (*function)();
  Word (*invoke)(void (*function)(), const Word* arguments);
  // A result as text; an object that is made is released.
  std::string (*end)(Word result);
};

// Calls the function as it is given, and with its parameters replaced. `after` undoes what a call has done, for instance unmaps.
void vary(Rig& rig, const Call& call, const std::function<void(Word)>& after);

inline std::string end_result(cl_int error) { return std::to_string(error); }
// A map: unmapped by the caller.
inline std::string end_result(void* block) { return block != nullptr ? "mapped" : "null"; }
inline std::string made(bool is_made) { return is_made ? "made" : "null"; }
inline std::string end_result(cl_context one) {
  std::size_t size = 0;
  const cl_int error = clGetContextInfo(one, CL_CONTEXT_PROPERTIES, 0, nullptr, &size);
  return made(clReleaseContext(one) == 0) +
         (error == CL_SUCCESS ? " properties " + std::to_string(size) : "");
}
inline std::string end_result(cl_command_queue one) { return made(clReleaseCommandQueue(one) == 0); }
inline std::string end_result(cl_mem one) { return made(clReleaseMemObject(one) == 0); }
inline std::string end_result(cl_program one) { return made(clReleaseProgram(one) == 0); }
inline std::string end_result(cl_kernel one) { return made(clReleaseKernel(one) == 0); }
inline std::string end_result(cl_sampler one) { return made(clReleaseSampler(one) == 0); }
inline std::string end_result(cl_event one) { return made(clReleaseEvent(one) == 0); }

template <typename Result, typename... Parameters, std::size_t... I>
Word invoke(void (*function)(), const Word* arguments, std::index_sequence<I...>) {
  return to_word(reinterpret_cast<Result(CL_API_CALL*)(Parameters...)>(function)(
      from_word<Parameters>(arguments[I])...));
}

template <typename Result, typename... Parameters>
void vary_and(Rig& rig, std::string name, Result(CL_API_CALL* function)(Parameters...),
              const char* parameters, const std::function<void(Word)>& after,
              std::type_identity_t<Parameters>... arguments) {
  const Call call{
      std::move(name),
      parameters,
      {type_of<Parameters>()...},
      {to_word<Parameters>(arguments)...},
      reinterpret_cast<void (*)()>(function),
      [](void (*one)(), const Word* words) {
        return invoke<Result, Parameters...>(one, words, std::index_sequence_for<Parameters...>{});
      },
      [](Word result) { return end_result(from_word<Result>(result)); },
  };
  vary(rig, call, after);
}

template <typename Result, typename... Parameters>
void vary(Rig& rig, std::string name, Result(CL_API_CALL* function)(Parameters...), const char* parameters,
          std::type_identity_t<Parameters>... arguments) {
  vary_and(rig, std::move(name), function, parameters, {}, arguments...);
}

// The functions, by what they do.
void call_commands(Rig& rig);
void call_objects(Rig& rig);
void call_queries(Rig& rig);

}  // namespace bad
