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
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bad {

inline constexpr std::size_t kSize = 4096;  // of buffers
inline constexpr std::size_t kUntouched = 0xA5A5A5A5A5A5A5A5U;

// Prints the name and what the call returns, unless the case is to be skipped.
void run_case(const std::string& name, const std::function<std::string()>& call);

// Valid objects, those of another context, and places for outputs.
struct Rig {
  Rig();
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
  std::byte* host = nullptr;  // much more than any transfer takes
  void* svm = nullptr;

  // Outputs.
  cl_event event = nullptr;
  cl_int error = 0;
  cl_uint number = 0;
  std::size_t size = 0;
  std::array<std::size_t, 64> values{};
};

// What a parameter is replaced by, and how that is called.
template <typename T>
struct Value {
  T value;
  const char* name;
  bool in_pairs = false;  // replaces it together with another parameter
};

template <typename T>
std::vector<Value<T>> values_of(Rig& rig) {
  using V = std::vector<Value<T>>;
  static constexpr std::size_t kMost = SIZE_MAX;
  static const std::size_t zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1}, flat[3] = {4, 0, 1},
                           thin[3] = {0, 4, 1}, thick[3] = {4, 4, 0}, large[3] = {kSize + 1, 1, 1},
                           most[3] = {kMost, kMost, kMost};
  static const cl_event no_event[8] = {};
  static cl_event ended[8], foreign[8];
  ended[0] = rig.ended;
  foreign[0] = rig.other_ended;
  if constexpr (std::is_same_v<T, cl_context>) {
    return V{{nullptr, "null", true}, {rig.other_context, "other"}};
  } else if constexpr (std::is_same_v<T, cl_command_queue>) {
    return V{{nullptr, "null", true}, {rig.other_queue, "other"}};
  } else if constexpr (std::is_same_v<T, cl_mem>) {
    return V{{nullptr, "null", true},
             {rig.other_buffer, "other"},
             {rig.image, "image"},
             {rig.buffer, "buffer"},
             {rig.sub_buffer, "sub-buffer"},
             {rig.write_only, "host-write-only"},
             {rig.read_only, "host-read-only"},
             {rig.no_access, "host-no-access"}};
  } else if constexpr (std::is_same_v<T, cl_program>) {
    return V{{nullptr, "null", true}, {rig.unbuilt, "unbuilt"}, {rig.other_program, "other"}};
  } else if constexpr (std::is_same_v<T, cl_kernel>) {
    return V{{nullptr, "null", true}, {rig.unset, "unset"}, {rig.other_kernel, "other"}};
  } else if constexpr (std::is_same_v<T, cl_event>) {
    return V{{nullptr, "null", true}, {rig.other_ended, "other"}, {rig.user, "user"}};
  } else if constexpr (std::is_same_v<T, std::size_t>) {
    return V{{0, "0", true}, {1, "1"},          {2, "2"},
             {3, "3"},       {4, "4"},          {5, "5"},
             {6, "6"},       {8, "8"},          {9, "9"},
             {10, "10"},     {16, "16"},        {24, "24"},
             {32, "32"},     {33, "33"},        {40, "40"},
             {64, "64"},     {128, "128"},      {256, "256"},
             {384, "384"},   {512, "512"},      {640, "640"},
             {1024, "1024"}, {2048, "2048"},    {4096, "4096"},
             {4097, "4097"}, {1U << 20U, "1M"}, {kMost / 2, "half of all"},
             {kMost, "all"}};
  } else if constexpr (std::is_same_v<T, cl_uint>) {
    return V{{0, "0", true}, {1, "1"}, {2, "2"}, {3, "3"}, {4, "4"}, {7, "7"}};
  } else if constexpr (std::is_same_v<T, cl_int>) {
    return V{{0, "0", true}, {1, "1"}, {2, "2"}, {3, "3"}, {-1, "-1"}};
  } else if constexpr (std::is_same_v<T, const std::size_t*>) {
    return V{{nullptr, "null", true}, {zeros, "zeros"},     {ones, "ones"},   {flat, "no rows"},
             {thin, "no columns"},    {thick, "no slices"}, {large, "large"}, {most, "most"}};
  } else if constexpr (std::is_same_v<T, const cl_event*>) {
    return V{{nullptr, "null", true}, {no_event, "null events"}, {ended, "ended"}, {foreign, "other"}};
  } else if constexpr (std::is_pointer_v<T>) {
    return V{{nullptr, "null", true}};
  } else {
    return V{};
  }
}

// A result that is made is released at once.
inline std::string ended_result(cl_int error) { return std::to_string(error); }
template <typename Handle, cl_int (*Release)(Handle)>
std::string made(Handle handle) {
  if (handle == nullptr) return "null";
  Release(handle);
  return "made";
}
inline std::string ended_result(cl_context o) { return made<cl_context, clReleaseContext>(o); }
inline std::string ended_result(cl_command_queue o) {
  return made<cl_command_queue, clReleaseCommandQueue>(o);
}
inline std::string ended_result(cl_mem o) { return made<cl_mem, clReleaseMemObject>(o); }
inline std::string ended_result(cl_program o) { return made<cl_program, clReleaseProgram>(o); }
inline std::string ended_result(cl_kernel o) { return made<cl_kernel, clReleaseKernel>(o); }
inline std::string ended_result(cl_sampler o) { return made<cl_sampler, clReleaseSampler>(o); }
inline std::string ended_result(cl_event o) { return made<cl_event, clReleaseEvent>(o); }
// A map: unmapped by whoever calls it.
inline std::string ended_result(void* o) { return o != nullptr ? "mapped" : "null"; }

// One parameter's replacement.
template <typename Arguments>
struct Change {
  std::string name;
  bool in_pairs;
  std::function<void(Arguments&)> apply;
};

// The replacements of each parameter, without those that are what is given.
template <typename... Parameters, std::size_t... I>
auto changes_of(Rig& rig, const std::vector<std::string>& names, const std::tuple<Parameters...>& good,
                std::index_sequence<I...>) {
  using Arguments = std::tuple<Parameters...>;
  std::vector<std::vector<Change<Arguments>>> all;
  const auto add = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    auto& changes = all.emplace_back();
    for (const auto& one : values_of<std::tuple_element_t<N, Arguments>>(rig)) {
      if (one.value == std::get<N>(good)) continue;
      changes.push_back({" " + names[N] + "=" + one.name, one.in_pairs,
                         [value = one.value](Arguments& arguments) { std::get<N>(arguments) = value; }});
    }
  };
  (add(std::integral_constant<std::size_t, I>{}), ...);
  return all;
}

// Calls the function as it is given, and with its parameters replaced. `after` undoes what a call has done, for instance unmaps.
template <typename Result, typename... Parameters>
void vary_and(Rig& rig, const std::string& name, Result(CL_API_CALL* function)(Parameters...),
              const char* names, const std::function<void(std::type_identity_t<Result>)>& after,
              std::type_identity_t<Parameters>... arguments) {
  using Arguments = std::tuple<Parameters...>;
  std::istringstream words(names);
  std::vector<std::string> list;
  for (std::string word; words >> word;) list.push_back(word);
  if (list.size() != sizeof...(Parameters)) {
    std::printf("%s has not so many parameters\n", name.c_str());
    return;
  }
  const auto call = [&](const std::string& what, const Arguments& given) {
    run_case(name + what, [&] {
      rig.outputs();
      const Result result = std::apply(function, given);
      const std::string outputs = rig.outputs();
      if (after) after(result);
      std::string text = ended_result(result) + outputs;
      if (name.starts_with("clEnqueue")) clFinish(rig.queue);
      return text;
    });
  };
  const Arguments good{arguments...};
  call("", good);
  const auto changes = changes_of(rig, list, good, std::index_sequence_for<Parameters...>{});
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const auto& one : changes[i]) {
      Arguments changed = good;
      one.apply(changed);
      call(one.name, changed);
      for (std::size_t j = i + 1; one.in_pairs && j < changes.size(); ++j) {
        for (const auto& other : changes[j]) {
          if (!other.in_pairs) continue;
          Arguments both = changed;
          other.apply(both);
          call(one.name + other.name, both);
        }
      }
    }
  }
}

template <typename Result, typename... Parameters>
void vary(Rig& rig, const std::string& name, Result(CL_API_CALL* function)(Parameters...), const char* names,
          std::type_identity_t<Parameters>... arguments) {
  vary_and(rig, name, function, names, {}, arguments...);
}

// The functions, by what they do.
void call_commands(Rig& rig);
void call_objects(Rig& rig);
void call_queries(Rig& rig);

}  // namespace bad
