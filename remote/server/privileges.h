// What a worker gives up before it hears anything from a client.
#pragma once

#include <string>

namespace cleave::remote::server {

// Becomes the user, where one is named, and can never gain rights again: not by set-uid programs, not by core
// files. Throws OptionError: there is no such user, or we may not.
void drop_privileges(const std::string& user);

}  // namespace cleave::remote::server
