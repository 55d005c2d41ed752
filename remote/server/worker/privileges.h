// What a worker gives up before it hears anything from a client.
//
// Not thread-safe: before there are threads.
#pragma once

#include <string>

namespace cleave::remote::server {

// Throws OptionError where no worker could become the user: there is none of that name, or we may not. Says
// so where drivers will find no place for what they compile.
void check_user(const std::string& user);

// Becomes the user, where one is named, and can never gain rights again: not by set-uid programs, not by core
// files. Throws OptionError as check_user() does.
void drop_privileges(const std::string& user);

}  // namespace cleave::remote::server
