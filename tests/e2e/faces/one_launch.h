// What the programs of this folder have in common: one small launch. They differ only in how they find the functions of
// OpenCL, and in which process and thread they call them.
#pragma once

#include "tests/kit/linked.h"

// One line that says what failed, and the end of the process; fit for exit handlers and forked children.
[[noreturn]] void end_process(const char* call, cl_int error,
                              const kit::Where& where = kit::Where::current());

// dlopen() that ends the program if there is no such library.
void* open_library(const char* name, int flags);

// The functions of OpenCL that the program is linked with.
inline kit::Api linked_functions() { return {kit::linked_table(), end_process}; }
// By dlsym(library, name), or by dlvsym(library, name, version) unless `version` is null.
kit::Api functions_of(void* library, const char* version = nullptr);

// Builds a kernel, launches it over 4096 work-items in groups of 16, checks every result, and prints a line with `title` and
// a checksum. Releases all of its objects. Ends the program if anything is wrong. May be called from several threads.
void run_one_launch(const kit::Api& cl, const char* title);

// Waits for a forked child. Whether it has ended with status 0.
bool has_succeeded(int child);
