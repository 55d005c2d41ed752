#include "kernels/text/predefined_macros.h"

#include <algorithm>
#include <array>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Reserved names that belong to other languages and systems. Builds as C++ are not preprocessed (preprocess.h).
constexpr std::array<Text, 9> kForeign = {"__cplusplus",     "__CUDACC__",        "__HIPCC__",
                                          "__METAL_MACOS__", "__METAL_VERSION__", "_WIN32",
                                          "_WIN64",          "_MSC_VER",          "__APPLE__"};

// First words of names that compilers and vendors define.
constexpr std::array<Text, 57> kWords = {
    "ALIGN", "ALTERA",    "AMD",     "AOC",    "AOCL", "APPLE",  "ARM",  "ATI",    "ATOMIC",   "BIG",
    "CHAR",  "CL",        "CLANG",   "CLC",    "CLK",  "CPU",    "DBL",  "DEBUG",  "FLT",      "FP",
    "FPGA",  "GCN",       "GPU",     "HALF",   "HUGE", "IMAGE",  "IMG",  "INF",    "INFINITY", "INT",
    "INTEL", "INTELFPGA", "INTTYPE", "LITTLE", "LLVM", "LONG",   "M",    "MALI",   "MAX",      "MAXFLOAT",
    "MESA",  "NAN",       "NDEBUG",  "NULL",   "NV",   "NVIDIA", "OCL",  "OPENCL", "POCL",     "QCOM",
    "SCHAR", "SHRT",      "SPIR",    "UCHAR",  "UINT", "ULONG",  "USHRT"};

template <std::size_t N>
bool is_listed(Text text, const std::array<Text, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

Predefined predefined(std::string_view macro) {
  if (macro == "__OPENCL_VERSION__") return Predefined::always;
  if (is_listed(macro, kForeign)) return Predefined::never;
  const bool reserved = macro.starts_with('_');
  const bool lower = std::none_of(macro.begin(), macro.end(), is_upper);
  const auto end = std::find_if_not(macro.begin(), macro.end(), is_upper);
  const Text word(macro.data(), static_cast<std::size_t>(end - macro.begin()));
  return reserved || lower || macro.starts_with("cl_") || is_listed(word, kWords) ? Predefined::perhaps
                                                                                  : Predefined::never;
}

}  // namespace cleave::kernels
