#include "remote/server/options/grant.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/settings/share.h"

namespace cleave::remote::server {
base::Environment environment_for(const Grant& grant, base::Environment otherwise) {
  auto values = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  // A name that a certificate alone has may be any text. Whatever the server's own is, it is not the client's.
  (*values)["CLEAVE_TENANT"] = base::is_tenant_name(grant.tenant) ? grant.tenant : "";
  if (grant.memory) (*values)["CLEAVE_MEMORY_LIMIT"] = std::to_string(*grant.memory);
  if (!grant.weight.empty()) (*values)["CLEAVE_WEIGHT"] = grant.weight;
  if (!grant.cap.empty()) (*values)["CLEAVE_CAP"] = grant.cap;
  if (!grant.priority.empty()) (*values)["CLEAVE_PRIORITY"] = grant.priority;
  return [values, otherwise = std::move(otherwise)](const char* name) -> const char* {
    const auto found = values->find(std::string_view(name));
    if (found == values->end()) return otherwise(name);
    return found->second.empty() ? nullptr : found->second.c_str();
  };
}

}  // namespace cleave::remote::server
