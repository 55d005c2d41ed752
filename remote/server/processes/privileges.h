// The privileges that a front or a worker gives up before it reads anything from a client.
//
// Not thread-safe: before there are threads.
#pragma once

#include <string>

#include <sys/resource.h>

namespace cleave::remote::server {

// For drivers' devices and caches; clients open no files.
inline constexpr rlim_t kMaxWorkerFiles = 4096;

// Throws OptionError if workers cannot switch to the user: it does not exist, or that is not permitted.
void check_user(const std::string& user);

// For workers that share the user's home: logs a warning if drivers will have no folder for what they compile.
void check_cache(const std::string& user);

// Switches to the user, if one is named, and makes sure that the process can never gain privileges again, by set-uid programs
// or core files. Throws OptionError as check_user() does.
void drop_privileges(const std::string& user, rlim_t most_files = kMaxWorkerFiles);

// No core file, and no look from other processes of the same user: there are secrets.
void hide_memory();

// As many descriptors as the process is permitted: for processes that hold connections of many clients.
void raise_file_limit();

}  // namespace cleave::remote::server
