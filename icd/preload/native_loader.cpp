#include "icd/preload/native_loader.h"

#include <algorithm>

namespace cleave::icd {
namespace {

constexpr const char* kVersioned = "libOpenCL.so.1";
constexpr const char* kUnversioned = "libOpenCL.so";

using Objects = std::vector<LoadedObject>;

std::optional<std::size_t> first_that_answers_to(const Objects& objects, const std::string& name) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].answers_to(name)) return i;
  }
  return std::nullopt;
}

// The first that needs `name`: its search has found the library for all others.
std::optional<std::size_t> first_that_needs(const Objects& objects, const std::string& name) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto& needed = objects[i].needed;
    if (!objects[i].is_cleave && std::find(needed.begin(), needed.end(), name) != needed.end()) return i;
  }
  return std::nullopt;
}

// An OpenCL library with this name that was loaded some other way, by its path for instance.
std::optional<std::size_t> loaded_by_path(const Objects& objects, const std::string& name) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!objects[i].is_cleave && objects[i].has_opencl && objects[i].answers_to(name)) return i;
  }
  return std::nullopt;
}

// What defines OpenCL for `root`, which is not asked itself: it calls, and may be a tracer.
struct Definition {
  std::optional<std::size_t> loaded;
  std::string name;  // else, if not empty: Cleave has taken the place of the library of this name
};

Definition definition_for(const Objects& objects, std::size_t root) {
  struct Visit {
    std::size_t object;
    std::string name;  // by which it is needed
  };
  std::vector<Visit> visits = {{root, ""}};
  std::vector<bool> seen(objects.size());
  seen[root] = true;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const LoadedObject& object = objects[visits[i].object];
    if (i > 0 && object.is_cleave) return {std::nullopt, visits[i].name};
    if (i > 0 && object.has_opencl) return {visits[i].object, ""};
    for (const std::string& name : object.needed) {
      const auto found = first_that_answers_to(objects, name);
      if (!found || seen[*found]) continue;
      seen[*found] = true;
      visits.push_back({*found, name});
    }
  }
  return {};
}

// Adds the searches for a library that Cleave has taken the place of.
void add_searches(const Objects& objects, const std::string& name, NativeLoader& result) {
  if (const auto importer = first_that_needs(objects, name)) result.searches.push_back({name, *importer});
}

// Whether the definitions of a program or library lead to a loader; adds it to `result`.
bool take(const Objects& objects, const Definition& definition, NativeLoader& result) {
  if (definition.loaded) {
    result.loaded = definition.loaded;
    return true;
  }
  if (definition.name.empty()) return false;
  // Loaded before the first search for it, that search would have ended there.
  const auto importer = first_that_needs(objects, definition.name);
  const auto loaded = loaded_by_path(objects, definition.name);
  if (loaded && importer && *loaded < *importer) result.loaded = loaded;
  add_searches(objects, definition.name, result);
  return true;
}

// For programs that open the library by its name: nobody can say which object did, or with which name.
void add_opened(const Objects& objects, std::optional<std::size_t> caller, NativeLoader& result) {
  for (const char* name : {kVersioned, kUnversioned}) add_searches(objects, name, result);
  for (const std::size_t importer : {caller.value_or(0), std::size_t{0}}) {
    for (const char* name : {kVersioned, kUnversioned}) result.searches.push_back({name, importer});
  }
}

}  // namespace

NativeLoader native_loader(const Objects& objects, std::optional<std::size_t> caller,
                           std::optional<std::size_t> next) {
  NativeLoader result;
  const bool is_preloaded_loader =
      next && (objects[*next].answers_to(kVersioned) || objects[*next].answers_to(kUnversioned));
  if (is_preloaded_loader) result.loaded = next;
  const bool is_decided = result.loaded || take(objects, definition_for(objects, 0), result) ||
                          (caller && *caller != 0 && take(objects, definition_for(objects, *caller), result));
  if (!is_decided) result.loaded = loaded_by_path(objects, kVersioned);
  add_opened(objects, caller, result);
  return result;
}

}  // namespace cleave::icd
