// Whether the program has put itself under a filter of system calls (seccomp) since Cleave began. Such a filter may end the program
// for a call that nobody expects any more, so Cleave then makes no calls of kinds that only its end, or its upkeep, needs.
//
// Thread-safe. Nothing throws, errno is kept.
#pragma once

namespace cleave::base {

// Remembers the filters that there are; those of a container, for instance. In a forked child anew.
void remember_system_call_filters() noexcept;

// Whether the calling thread, or the process's first one, has got another one since; false where that cannot be told, since there were
// filters before and the kernel is older than 5.9 or there is no /proc. Makes no kinds of calls that remember_system_call_filters()
// has not made.
bool has_new_system_call_filter() noexcept;

}  // namespace cleave::base
