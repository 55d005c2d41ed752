#include "kernels/scan.h"

#include <algorithm>
#include <array>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// The one spelling that all of these share keeps the search short: only names with "get_" in them are
// compared.
constexpr Text kGet = "get_";
constexpr std::array<Text, 8> kSeesTheCut = {
    "get_group_id", "get_num_groups",       "get_global_size",     "get_global_offset",
    "get_work_dim", "get_global_linear_id", "get_group_linear_id", "get_default_queue"};
constexpr std::array<Text, 3> kAssembly = {"asm", "__asm", "__asm__"};
constexpr std::array<Text, 8> kOpaquePrefixes = {
    "__builtin_", "__spirv", "__ock", "__nv", "__llvm", "enqueue_kernel", "enqueue_marker", "ndrange_"};
constexpr std::array<Text, 7> kTalks = {"volatile",           "__volatile",     "__volatile__",
                                        "mem_fence",          "read_mem_fence", "write_mem_fence",
                                        "memory_scope_device"};
constexpr std::array<Text, 3> kTalksPrefixes = {"atomic_", "atom_", "memory_scope_all"};
constexpr std::array<Text, 12> kHarmlessDirectives = {"define", "undef", "if",    "ifdef",
                                                      "ifndef", "elif",  "else",  "endif",
                                                      "pragma", "line",  "error", "warning"};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

template <std::size_t N>
bool among(const std::array<Text, N>& list, Text name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <std::size_t N>
bool begins_with_one_of(const std::array<Text, N>& list, Text name) {
  return std::any_of(list.begin(), list.end(), [&](Text prefix) { return name.starts_with(prefix); });
}

// Undoes line splices, as translation phase 2 does. Compilers also take a backslash with blanks before the
// line's end.
std::string without_splices(Text text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      std::size_t end = i + 1;
      while (end < text.size() && is_blank(text[end])) ++end;
      if (end < text.size() && text[end] == '\n') {
        i = end;
        continue;
      }
      if (end < text.size() && end > i + 1 && text[end - 1] == '\r') {  // old Macintosh line ends
        i = end - 1;
        continue;
      }
    }
    joined.push_back(text[i]);
  }
  return joined;
}

void look_at_name(Text name, Scan& scan) {
  if (name.find(kGet) != Text::npos) {
    for (const Text sees : kSeesTheCut) scan.splittable &= name.find(sees) == Text::npos;
  }
  if (among(kAssembly, name) || begins_with_one_of(kOpaquePrefixes, name)) scan.splittable = false;
  if (among(kTalks, name) || begins_with_one_of(kTalksPrefixes, name) || name.ends_with("_pipe"))
    scan.talks = true;
}

// `at` is just behind a '#'.
bool is_harmless_directive(Text text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && is_name(text[end])) ++end;
  if (end == at) return at == text.size() || text[at] == '\n';  // the null directive
  return among(kHarmlessDirectives, text.substr(at, end - at));
}

// Names that can be spelt without being written.
bool hides_names(Text text, std::size_t at) {
  const Text two = text.substr(at, 2);
  return two == "##" || two == "%:" || two == "??" || two == "\\u" || two == "\\U";
}

Scan scan_text(Text text) {
  Scan scan;
  for (std::size_t i = 0; i < text.size();) {
    if (is_name_start(text[i])) {
      const std::size_t begin = i;
      while (i < text.size() && is_name(text[i])) ++i;
      look_at_name(text.substr(begin, i - begin), scan);
      continue;
    }
    if (hides_names(text, i)) scan.splittable = false;
    // Wherever it stands: a directive may follow comments, so the start of a line is not looked for.
    if (text[i] == '#' && !is_harmless_directive(text, i + 1)) scan.splittable = false;
    ++i;
  }
  return scan;
}

}  // namespace

Scan scan_source(std::string_view source) { return scan_text(without_splices(source)); }

Scan scan_options(std::string_view options) {
  Scan scan = scan_text(options);
  for (const Text opaque : {"-include", "-imacros", "-X", "@"}) {
    scan.splittable &= options.find(opaque) == Text::npos;
  }
  return scan;
}

Scan both(const Scan& a, const Scan& b) { return {a.splittable && b.splittable, a.talks || b.talks}; }

}  // namespace cleave::kernels
