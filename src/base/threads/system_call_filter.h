// Whether the program has put itself under a filter of system calls (seccomp) since Cleave began. Such a filter may end the program
// for a call that is not expected any more, so Cleave then makes no kinds of calls that only its end, or housekeeping, needs.
//
// Thread-safe. Nothing throws, errno is kept.
#pragma once

namespace cleave::base {

// Remembers the present filters, such as those of a container. A forked child does so again.
void remember_system_call_filters() noexcept;

// Whether the calling thread, or the process's first one, has since got another one; false if that is unknown, since there were
// filters before and the kernel is older than 5.9 or there is no /proc. Makes no kinds of calls that remember_system_call_filters()
// has not made.
bool has_new_system_call_filter() noexcept;

}  // namespace cleave::base
