// How the client begins, what it does around fork(), and at the end of the process. begin() is declared in objects/client.h.
#pragma once

#include "base/fork_locks.h"
#include "base/opencl.h"

namespace cleave::remote::client {

// The table of all functions with which begin() has created the platform.
const Table& platform_table();

// Before begin(): the caller is a face, which offers the platform itself and does not know cl_khr_icd 2, so the table has
// to hold functions only. No effect after begin().
void use_plain_table();

// All locks of the library, for pthread_atfork. Made at the first fork, when the static objects exist. A child keeps the
// platform and its devices; all other objects of the parent are invalid there, and releasing them has no effect
// (objects/objects.h: disown_all).
base::ForkLocks& fork_locks();

// Lets begin() start again. Only for tests, which have taken everything else down.
void restart_for_tests();

// At the end of the process: sends all gathered commands.
void flush_all() noexcept;

}  // namespace cleave::remote::client
