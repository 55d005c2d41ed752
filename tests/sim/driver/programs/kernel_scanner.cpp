#include "tests/sim/driver/programs/kernel_scanner.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace cleave::sim {
namespace {

using Words = std::vector<std::string_view>;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t skip_to(std::string_view text, std::size_t from, std::string_view end) {
  const std::size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// A preprocessor line goes on after a backslash at its end.
std::size_t skip_directive(std::string_view text, std::size_t from) {
  std::size_t end = from;
  do {
    end = skip_to(text, end, "\n");
  } while (end >= 2 && end < text.size() && text[end - 2] == '\\');
  return end;
}

std::size_t skip_literal(std::string_view text, std::size_t from) {
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != text[from]) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Names, numbers and single signs. Directives are known by the '#', which has no other use in OpenCL C.
Words words_of(std::string_view text) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (text.substr(at, 2) == "//") {
      at = skip_to(text, at, "\n");
    } else if (text.substr(at, 2) == "/*") {
      at = skip_to(text, at + 2, "*/");
    } else if (c == '#') {
      at = skip_directive(text, at);
    } else if (c == '"' || c == '\'') {
      at = skip_literal(text, at);
    } else if (in_name(c)) {
      std::size_t end = at;
      while (end < text.size() && in_name(text[end])) ++end;
      words.push_back(text.substr(at, end - at));
      at = end;
    } else {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) words.push_back(text.substr(at, 1));
      ++at;
    }
  }
  return words;
}

// The word after the bracket that closes the one at `open`.
std::size_t after_brackets(const Words& words, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < words.size(); ++at) {
    if (words[at] == "(") ++depth;
    if (words[at] == ")" && --depth == 0) return at + 1;
  }
  return words.size();
}

std::string without_underscores(std::string_view word) {
  return std::string(word.starts_with("__") ? word.substr(2) : word);
}

void read_qualifier(Parameter& parameter, std::string_view word) {
  const std::string plain = without_underscores(word);
  if (plain == "global") {
    parameter.address = CL_KERNEL_ARG_ADDRESS_GLOBAL;
  } else if (plain == "constant") {
    parameter.address = CL_KERNEL_ARG_ADDRESS_CONSTANT;
    parameter.qualifiers |= CL_KERNEL_ARG_TYPE_CONST;
  } else if (plain == "local") {
    parameter.address = CL_KERNEL_ARG_ADDRESS_LOCAL;
  } else if (plain == "read_only") {
    parameter.access = CL_KERNEL_ARG_ACCESS_READ_ONLY;
  } else if (plain == "write_only") {
    parameter.access = CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
  } else if (plain == "read_write") {
    parameter.access = CL_KERNEL_ARG_ACCESS_READ_WRITE;
  } else if (plain == "const") {
    parameter.qualifiers |= CL_KERNEL_ARG_TYPE_CONST;
  } else if (plain == "volatile") {
    parameter.qualifiers |= CL_KERNEL_ARG_TYPE_VOLATILE;
  } else if (plain == "restrict") {
    parameter.qualifiers |= CL_KERNEL_ARG_TYPE_RESTRICT;
  } else if (plain != "private") {
    if (!parameter.type.empty() && word != "*") parameter.type += ' ';
    parameter.type += word;
  }
}

Parameter read_parameter(Words words) {
  Parameter parameter;
  if (words.size() > 1 && in_name(words.back().front())) {
    parameter.name = words.back();
    words.pop_back();
  }
  for (const auto word : words) read_qualifier(parameter, word);
  const std::string& type = parameter.type;
  if (type.starts_with("image") || type.starts_with("pipe")) {
    parameter.kind = Parameter::Kind::memory;
    parameter.address = CL_KERNEL_ARG_ADDRESS_GLOBAL;
    if (parameter.access == CL_KERNEL_ARG_ACCESS_NONE) parameter.access = CL_KERNEL_ARG_ACCESS_READ_ONLY;
  } else if (type == "sampler_t") {
    parameter.kind = Parameter::Kind::sampler;
  } else if (type.ends_with('*')) {
    const bool local = parameter.address == CL_KERNEL_ARG_ADDRESS_LOCAL;
    parameter.kind = local ? Parameter::Kind::local : Parameter::Kind::memory;
  }
  return parameter;
}

// Between `first` and `last`: what stands between the brackets of the kernel's declaration.
std::vector<Parameter> read_parameters(const Words& words, std::size_t first, std::size_t last) {
  std::vector<Parameter> parameters;
  Words current;
  int depth = 0;
  for (std::size_t at = first; at <= last; ++at) {
    if (at == last || (words[at] == "," && depth == 0)) {
      const bool nothing = current.empty() || (current.size() == 1 && current.front() == "void");
      if (!nothing) parameters.push_back(read_parameter(current));
      current.clear();
      continue;
    }
    if (words[at] == "(") ++depth;
    if (words[at] == ")") --depth;
    current.push_back(words[at]);
  }
  return parameters;
}

// __attribute__ ( ( name ( ... ) ) ), from the bracket after the first word.
void read_attribute(KernelSignature& kernel, const Words& words, std::size_t open, std::size_t end) {
  std::string text;
  for (std::size_t at = open + 2; at + 2 < end; ++at) text += words[at];
  kernel.attributes += (kernel.attributes.empty() ? "" : " ") + text;
  for (std::size_t at = open; at + 6 < end; ++at) {
    if (without_underscores(words[at]).starts_with("reqd_work_group_size")) {
      const auto size = [&](std::size_t i) {
        return static_cast<std::size_t>(std::strtoull(std::string(words[i]).c_str(), nullptr, 0));
      };
      const std::array<std::size_t, 3> required{size(at + 2), size(at + 4), size(at + 6)};
      // A macro's name reads as zero: macros are not expanded, so that kernel counts as having no required
      // size.
      if (required[0] * required[1] * required[2] > 0) kernel.required_size = required;
    }
  }
}

// Reads attributes as long as there are any, and moves `at` behind them.
void read_attributes(KernelSignature& kernel, const Words& words, std::size_t& at) {
  while (at + 1 < words.size() && words[at] == "__attribute__") {
    const std::size_t end = after_brackets(words, at + 1);
    read_attribute(kernel, words, at + 1, end);
    at = end;
  }
}

// From the word after "kernel": void, attributes and the name in any order, the brackets, more attributes.
// `kernel` has the attributes that stood before.
std::optional<KernelSignature> read_kernel(KernelSignature kernel, const Words& words, std::size_t& at) {
  for (; at < words.size(); ++at) {
    read_attributes(kernel, words, at);
    if (at == words.size()) break;
    if (words[at] == "(" && !kernel.name.empty()) {
      const std::size_t end = after_brackets(words, at);
      kernel.parameters = read_parameters(words, at + 1, end - 1);
      at = end;
      read_attributes(kernel, words, at);
      return kernel;
    }
    if (!in_name(words[at].front())) return std::nullopt;
    if (words[at] != "void") kernel.name = words[at];
  }
  return std::nullopt;
}

}  // namespace

std::vector<KernelSignature> scan_kernels(std::string_view source) {
  std::vector<KernelSignature> kernels;
  const Words words = words_of(source);
  for (std::size_t at = 0; at < words.size();) {
    KernelSignature attributed;
    read_attributes(attributed, words, at);
    if (at == words.size()) break;
    const bool found = words[at] == "kernel" || words[at] == "__kernel";
    ++at;
    if (!found) continue;
    auto kernel = read_kernel(std::move(attributed), words, at);
    if (!kernel) continue;
    const auto same = [&](const KernelSignature& other) { return other.name == kernel->name; };
    if (std::none_of(kernels.begin(), kernels.end(), same)) kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

}  // namespace cleave::sim
