#include "remote/server/options/grant.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace cleave::remote::server {
namespace {

std::string text_of(const base::Cap& cap) {
  if (cap.permille == 0) return "off";
  return std::to_string(cap.permille / 10) + "." + std::to_string(cap.permille % 10) + "%" +
         (cap.borrow ? ",borrow" : "");
}

const char* text_of(base::TurnPriority priority) {
  switch (priority) {
    case base::TurnPriority::high:
      return "high";
    case base::TurnPriority::background:
      return "background";
    case base::TurnPriority::idle:
      return "idle";
    case base::TurnPriority::normal:
      break;
  }
  return "normal";
}

}  // namespace

base::Environment environment_for(const Grant& grant, base::Environment otherwise) {
  auto values = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  // A name that a certificate alone has may be any text. Whatever the server's own is, it is not the client's.
  (*values)["CLEAVE_TENANT"] = base::is_tenant_name(grant.tenant) ? grant.tenant : "";
  if (grant.memory) (*values)["CLEAVE_MEMORY_LIMIT"] = std::to_string(*grant.memory);
  if (grant.weight != 0) (*values)["CLEAVE_WEIGHT"] = std::to_string(grant.weight);
  if (grant.cap) (*values)["CLEAVE_CAP"] = text_of(*grant.cap);
  if (grant.priority) (*values)["CLEAVE_PRIORITY"] = text_of(*grant.priority);
  return [values, otherwise = std::move(otherwise)](const char* name) -> const char* {
    const auto found = values->find(std::string_view(name));
    if (found == values->end()) return otherwise(name);
    return found->second.empty() ? nullptr : found->second.c_str();
  };
}

}  // namespace cleave::remote::server
