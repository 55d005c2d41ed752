// How the client begins, what it does around fork(), and at the end of the process. initialize() is declared in objects/client.h.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client {

// The table of all functions with which initialize() has created the platform.
const Table& platform_table();

// Before initialize(): the caller is a face, which offers the platform itself and does not know cl_khr_icd 2, so the table has
// to hold functions only. No effect after initialize().
void use_plain_table();

// Around fork(), by pthread_atfork: the startup mutex and then all other locks of the library. A child keeps the platform
// and its devices; all other objects of the parent are invalid there, and releasing them has no effect (objects/objects.h:
// disown_all).
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// Lets initialize() start again. Only for tests, which have taken everything else down.
void restart_for_tests();

// At the end of the process: sends all gathered commands, and ends the trace.
void flush_all() noexcept;

}  // namespace cleave::remote::client
