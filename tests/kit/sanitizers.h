// Which sanitizer a test was built with, for what one cannot follow.
#pragma once

namespace kit {

// It keeps account of 64 locks that a thread holds, and there are more around a fork.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// With any of them, what a test repeats takes many times as long.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kSanitizer = kThreadSanitizer || __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitizer = kThreadSanitizer;
#endif

}  // namespace kit
