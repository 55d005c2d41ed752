#include "icd/preload/native_loader.h"

#include <algorithm>
#include <string_view>

namespace cleave::icd {
namespace {

constexpr const char* kVersioned = "libOpenCL.so.1";
constexpr const char* kUnversioned = "libOpenCL.so";
constexpr std::size_t kProgram = 0;

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

// Whether it calls itself what loaders do, or what their copies in Python wheels do: libOpenCL-0123abcd.so.1. The name of its
// file is no sufficient evidence: it has not been loaded by that name.
bool has_loaders_name(const LoadedObject& object) {
  std::string_view name = object.soname;
  constexpr std::string_view kStem = "libOpenCL";
  if (!name.starts_with(kStem)) return false;
  name.remove_prefix(kStem.size());
  if (name.starts_with("-"))
    name.remove_prefix(std::min(name.find_first_not_of("0123456789abcdef", 1), name.size()));
  return name.starts_with(".so");
}

bool needs_loader(const LoadedObject& object) {
  return std::any_of(object.needed.begin(), object.needed.end(), [](std::string_view name) {
    return name.substr(name.rfind('/') + 1).starts_with(kUnversioned);
  });
}

// Whether an object that has OpenCL's functions is a loader or a driver, and not one that passes calls on to the loader. No
// function of it is called to find out: it may rely on a loader that Cleave keeps it from finding.
bool is_loader(const LoadedObject& object) {
  return object.has_opencl && !object.is_cleave && (has_loaders_name(object) || object.has_icd_entry) &&
         !needs_loader(object);
}

// A loader with this name that was loaded some other way, by its path for instance.
std::optional<std::size_t> loaded_by_path(const Objects& objects, const std::string& name) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (is_loader(objects[i]) && objects[i].answers_to(name)) return i;
  }
  return std::nullopt;
}

// The object for which the linker loaded this one: the program, or an object that was preloaded or opened.
std::size_t root_of(const Objects& objects, std::size_t object) {
  for (std::size_t i = 0; i < object; ++i) {
    if (objects[i].is_cleave) continue;
    const auto& needed = objects[i].needed;
    const bool needs_it = std::any_of(needed.begin(), needed.end(), [&](const std::string& name) {
      return first_that_answers_to(objects, name) == object;
    });
    if (needs_it) return root_of(objects, i);
  }
  return object;
}

// Preloaded objects come after the program, and before the last of those that it needs.
std::optional<std::size_t> preloaded_behind_cleave(const Objects& objects) {
  std::size_t end = kProgram;
  for (const std::string& name : objects[kProgram].needed)
    end = std::max(end, first_that_answers_to(objects, name).value_or(kProgram));
  const auto cleave =
      std::find_if(objects.begin(), objects.end(), [](const auto& object) { return object.is_cleave; });
  for (auto i = static_cast<std::size_t>(cleave - objects.begin()); i < end; ++i) {
    if (is_loader(objects[i]) && root_of(objects, i) != kProgram) return i;
  }
  return std::nullopt;
}

// What defines OpenCL for the objects that were loaded for `root`.
struct Definition {
  std::optional<std::size_t> loaded;
  std::string name;  // else, if not empty: Cleave has taken the place of the library of this name
};

Definition definition_for(const Objects& objects, std::size_t root, std::optional<std::size_t> caller) {
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
    // An object that calls Cleave does not implement the functions itself.
    const bool may_answer = visits[i].object != kProgram && visits[i].object != caller;
    if (may_answer && is_loader(object)) return {visits[i].object, ""};
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

// For programs that open the library by its name: it is unknown which object did, or with which name.
void add_opened(const Objects& objects, std::optional<std::size_t> caller, NativeLoader& result) {
  for (const char* name : {kVersioned, kUnversioned}) add_searches(objects, name, result);
  for (const std::size_t importer : {caller.value_or(kProgram), kProgram}) {
    for (const char* name : {kVersioned, kUnversioned}) result.searches.push_back({name, importer});
  }
}

}  // namespace

NativeLoader native_loader(const Objects& objects, std::optional<std::size_t> caller) {
  NativeLoader result;
  result.loaded = preloaded_behind_cleave(objects);
  if (!result.loaded && !take(objects, definition_for(objects, kProgram, caller), result) && caller)
    take(objects, definition_for(objects, root_of(objects, *caller), caller), result);
  add_opened(objects, caller, result);
  return result;
}

}  // namespace cleave::icd
