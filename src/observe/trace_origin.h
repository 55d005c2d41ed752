// Whose clock and process a trace is of, as an event that each trace file begins with; and the notes between client and server
// that let `cleave trace merge` connect their files. docs/trace.md defines them.
//
// Thread-safe: plain functions and names. May throw std::bad_alloc.
#pragma once

#include <string>

namespace cleave::observe {

// The names of the notes (TraceEvents::note).
inline constexpr const char* kOriginNote = "cleave_origin";  // origin_of_this_process()
inline constexpr const char* kSessionNote =
    "cleave_session";  // session, role: a connection of client and server
inline constexpr const char* kUntracedNote =
    "cleave_untraced";  // server: of a client's connection without a session
inline constexpr const char* kExchangeNote = "cleave_exchange";  // session, sent_ns, server_ns, received_ns

// JSON: `boot` and `time_namespace`, which are equal where CLOCK_MONOTONIC is the same; `host`, for people; `process`, which is
// this one's alone on this host. What the system does not report is empty.
std::string origin_of_this_process();

}  // namespace cleave::observe
