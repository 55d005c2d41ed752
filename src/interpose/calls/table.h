// Installs the interposer: takes a table of OpenCL functions and returns one in which some functions are Cleave's.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/settings/configuration.h"
#include "interpose/state/face.h"
#include "interpose/state/split_owner.h"
#include "observe/trace_writer.h"

namespace cleave::interpose {

// Puts Cleave on top of `next` and returns the table for programs: `next` with the overridden functions that it has. The
// tables are copied; `clock` must live on. A face calls this once, tests any number of times. If the user has disabled
// Cleave, only the two clGetExtensionFunctionAddress functions are overridden, so that `cleave doctor` still gets answers.
//
// Not thread-safe. Never throws; returns null without memory, and the face should then use `next`.
const Table* install(const Table& next, const Face& face, base::Configuration configuration,
                     base::Clock& clock = base::Clock::system()) noexcept;

// Reports mistakes in the settings now, if there are any and no other Cleave splits, instead of at the first launch. For a face
// above a loader, once that answers calls.
void report_mistakes() noexcept;

// The file of the trace, for a face that adds events of its own; null without CLEAVE_TRACE, or before install(). It lives on.
observe::TraceWriter* trace_file() noexcept;
// From now on the calling thread's launches are made for a command of this number, as the trace shows; 0: for none.
void set_traced_command(std::uint64_t number) noexcept;

// Removes Cleave and frees everything. Only for tests, and only while no call is in progress: programs may call at any
// time, so a face stays installed.
void uninstall();

// The override for a function of OpenCL or of an extension, or null. Thread-safe.
void* find_override(std::string_view name);

// What the vendor library answers for the name kStandAside: the face above splits.
void stand_aside() noexcept;

// Registers the handlers around fork(). A face calls this when it is loaded, so that the program's own handlers, which
// are registered later, may call OpenCL. Reads nothing and starts nothing.
void at_load() noexcept;

// The process exits: writes the summary and ends our thread. Calls may still come.
void at_exit() noexcept;

}  // namespace cleave::interpose
