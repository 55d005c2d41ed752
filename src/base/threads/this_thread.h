// The calling thread, as pthread_self() names it. With glibc on x86-64 that is the thread's own pointer, which is in a register: a
// call would touch three lines of another library's code and tables, which are seldom in the processor's caches when a driver has
// just run.
//
// Thread-safe.
#pragma once

#include <pthread.h>

namespace cleave::base {

inline pthread_t this_thread() noexcept {
#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__)
  pthread_t self = 0;
  // Its first member points to itself (the ABI's thread pointer).
  asm("mov %%fs:0, %0" : "=r"(self));
  return self;
#else
  return pthread_self();
#endif
}

}  // namespace cleave::base
