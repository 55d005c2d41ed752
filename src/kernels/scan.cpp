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
// What leads past the language: assembly, compiler intrinsics, device-side enqueues, names given to symbols.
constexpr std::array<Text, 3> kAssembly = {"asm", "__asm", "__asm__"};
constexpr std::array<Text, 13> kOpaque = {"__builtin_",     "__spirv",        "__ock",    "__nv",  "__llvm",
                                          "enqueue_kernel", "enqueue_marker", "ndrange_", "alias", "weakref",
                                          "ifunc",          "extname",        "_Pragma"};
constexpr std::array<Text, 7> kTalks = {"volatile",           "__volatile",     "__volatile__",
                                        "mem_fence",          "read_mem_fence", "write_mem_fence",
                                        "memory_scope_device"};
constexpr std::array<Text, 5> kTalksWithin = {"atomic", "atom_", "__sync_", "memory_scope_all", "_pipe"};
constexpr std::array<Text, 11> kHarmlessDirectives = {"define", "undef", "if",   "ifdef", "ifndef", "elif",
                                                      "else",   "endif", "line", "error", "warning"};
constexpr std::array<Text, 3> kHarmlessPragmas = {"OPENCL", "unroll", "nounroll"};
constexpr std::array<Text, 9> kHarmlessOptions = {"-D", "-I", "-cl-", "-w", "-W", "-O", "-g", "-x", "-nv-"};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0'; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }

template <std::size_t N>
bool among(const std::array<Text, N>& list, Text name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <std::size_t N>
bool holds_one_of(const std::array<Text, N>& list, Text name) {
  return std::any_of(list.begin(), list.end(), [&](Text word) { return name.find(word) != Text::npos; });
}

void look_at_name(Text name, Scan& scan) {
  if (name.find(kGet) != Text::npos) {
    for (const Text sees : kSeesTheCut) scan.splittable &= name.find(sees) == Text::npos;
  }
  if (among(kAssembly, name) || holds_one_of(kOpaque, name)) scan.splittable = false;
  if (among(kTalks, name) || holds_one_of(kTalksWithin, name)) scan.talks = true;
}

// The next word of the line from `at` on, which moves behind it. Empty if something else comes first.
Text next_word(Text text, std::size_t& at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_name(text[at])) ++at;
  return text.substr(begin, at - begin);
}

// `at` is just behind a '#'.
bool is_harmless_directive(Text text, std::size_t at) {
  const Text directive = next_word(text, at);
  if (directive.empty()) return at == text.size() || is_line_end(text[at]);  // the null directive
  if (directive == "pragma") return among(kHarmlessPragmas, next_word(text, at));
  return among(kHarmlessDirectives, directive);
}

// Names that can be spelt without being written.
bool hides_names(Text text, std::size_t at) {
  const Text two = text.substr(at, 2);
  return two == "##" || two == "%:" || two == "??" || two == "\\u" || two == "\\U";
}

// One word of the options, or the operand of the one before.
bool is_harmless_option(Text word) {
  if (word.starts_with('@')) return false;
  if (!word.starts_with('-')) return true;
  if (word.starts_with("-W") && word.find(',') != Text::npos) return false;  // hands options to another tool
  return std::any_of(kHarmlessOptions.begin(), kHarmlessOptions.end(),
                     [&](Text known) { return word.starts_with(known); });
}

}  // namespace

// Undoes line splices, as translation phase 2 does. Compilers also take a backslash with blanks before the
// line's end.
std::string without_splices(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    if (text[i] == '\\') {
      while (end < text.size() && is_blank(text[end])) ++end;
    }
    if (text[i] != '\\' || end == text.size() || !is_line_end(text[end])) {
      joined.push_back(text[i]);
      continue;
    }
    // The two characters of one line end, in either order, go together.
    const bool pair = end + 1 < text.size() && is_line_end(text[end + 1]) && text[end + 1] != text[end];
    i = pair ? end + 1 : end;
  }
  return joined;
}

Scan scan_text(std::string_view text) {
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

std::string without_quotes(std::string_view options) {
  std::string bare;
  for (const char c : options) {
    if (c != '"' && c != '\'' && c != '\\') bare.push_back(c);
  }
  return bare;
}

Scan scan_options(std::string_view options) {
  const std::string bare = without_quotes(options);
  Scan scan = both(scan_text(options), scan_text(bare));
  for (std::size_t at = 0; at < bare.size();) {
    std::size_t end = at;
    while (end < bare.size() && !is_blank(bare[end]) && !is_line_end(bare[end])) ++end;
    scan.splittable &= is_harmless_option(Text(bare).substr(at, end - at));
    at = end + 1;
  }
  return scan;
}

Scan both(const Scan& a, const Scan& b) { return {a.splittable && b.splittable, a.talks || b.talks}; }

}  // namespace cleave::kernels
