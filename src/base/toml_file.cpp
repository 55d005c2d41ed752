#include "base/toml_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace cleave::base {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;  // a settings file is a page; more is a mistake

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};

std::optional<std::string> contents(const std::string& path, TomlFile& result) {
  const std::unique_ptr<FILE, CloseFile> file(fopen(path.c_str(), "re"));
  if (!file) {
    result.exists = errno != ENOENT && errno != ENOTDIR;
    if (result.exists) result.error = std::string("cannot be read: ") + std::strerror(errno);
    return std::nullopt;
  }
  result.exists = true;
  std::string text(kLargestFile + 1, '\0');
  text.resize(fread(text.data(), 1, text.size(), file.get()));
  if (ferror(file.get()) != 0) {
    result.error = "cannot be read";
  } else if (text.size() > kLargestFile) {
    result.error = "is larger than 1 MiB";
  }
  if (!result.error.empty()) return std::nullopt;
  return text;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return std::to_string(number->get());
  if (const auto* truth = node.as_boolean()) return std::string(truth->get() ? "true" : "false");
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::string joined;
  for (const auto& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return std::nullopt;
    joined.append(joined.empty() ? "" : ",").append(text->get());
  }
  return joined;
}

void flatten(const toml::table& table, std::vector<std::string>& path, TomlFile& result) {
  for (const auto& [key, node] : table) {
    path.emplace_back(key.str());
    if (const auto* inner = node.as_table()) {
      flatten(*inner, path, result);
    } else {
      const auto text = text_of(node);
      result.values.push_back({path, text.value_or("(neither text nor number)"), node.source().begin.line});
    }
    path.pop_back();
  }
}

TomlFile read(const std::string& path) {
  TomlFile result;
  const auto text = contents(path, result);
  if (!text) return result;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) {
    const auto& error = parsed.error();
    result.error =
        "line " + std::to_string(error.source().begin.line) + ": " + std::string(error.description());
    for (char& c : result.error) {
      if (c == '\n') c = ' ';
    }
    return result;
  }
  std::vector<std::string> keys;
  flatten(parsed.table(), keys, result);
  return result;
}

}  // namespace

TomlFile read_toml(const std::string& path) try { return read(path); } catch (...) {
  TomlFile failed;
  failed.exists = true;
  failed.error = "cannot be read: out of memory";
  return failed;
}

}  // namespace cleave::base
