// Clang's thread-safety annotations under names of our own. Other compilers ignore them. The Clang builds treat a
// violation as an error (-Wthread-safety).
//
// Source: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#if defined(__clang__)
#define CLEAVE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CLEAVE_THREAD_ANNOTATION(x)
#endif

// A class whose objects can be held, and a class whose objects hold one for as long as they live.
#define CLEAVE_CAPABILITY(name) CLEAVE_THREAD_ANNOTATION(capability(name))
#define CLEAVE_SCOPED_CAPABILITY CLEAVE_THREAD_ANNOTATION(scoped_lockable)

// A member that is read and written only with the mutex held; for PT_, what the pointer points to.
#define CLEAVE_GUARDED_BY(mutex) CLEAVE_THREAD_ANNOTATION(guarded_by(mutex))
#define CLEAVE_PT_GUARDED_BY(mutex) CLEAVE_THREAD_ANNOTATION(pt_guarded_by(mutex))

// The order in which two mutexes are taken when both are held.
#define CLEAVE_ACQUIRED_BEFORE(...) CLEAVE_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define CLEAVE_ACQUIRED_AFTER(...) CLEAVE_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// A function whose caller holds, or must not hold, the mutex.
#define CLEAVE_REQUIRES(...) CLEAVE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define CLEAVE_EXCLUDES(...) CLEAVE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// A function that takes, releases or tries to take the mutex.
#define CLEAVE_ACQUIRE(...) CLEAVE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define CLEAVE_RELEASE_LOCK(...) CLEAVE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define CLEAVE_TRY_ACQUIRE(...) CLEAVE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// A function that returns a reference to the mutex, and one that states (without proof) that it is held.
#define CLEAVE_RETURN_CAPABILITY(mutex) CLEAVE_THREAD_ANNOTATION(lock_returned(mutex))
#define CLEAVE_ASSERT_HELD(...) CLEAVE_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))

// For the few functions that the analysis cannot follow. Each use has a comment that says why.
#define CLEAVE_NO_THREAD_SAFETY_ANALYSIS CLEAVE_THREAD_ANNOTATION(no_thread_safety_analysis)
