// The layer itself: takes a table of OpenCL functions and gives one in which a few are Cleave's.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/configuration.h"
#include "base/opencl.h"

namespace cleave::interpose {

// How a face introduces itself.
struct Face {
  std::string name;       // "drop-in", "layer" or "vendor library"
  std::string next_name;  // what `next` leads to, for people
};

// Puts Cleave on top of `next` and returns the table that programs are to use; it is `next` but for the
// overridden functions that `next` has. Both are copied: `next` need not live on, while `clock` must. A face
// calls this once, tests any number of times. Where the user has switched Cleave off, only the two
// clGetExtensionFunctionAddress are overridden, so that `cleave doctor` still gets its answers.
//
// Not thread-safe. Never throws; where memory runs out the answer is null and the face should use `next`
// itself.
const Table* install(const Table& next, const Face& face, base::Configuration configuration,
                     base::Clock& clock = base::Clock::system()) noexcept;

// Takes Cleave off again and frees all there is of it. Only for tests, and while no call is under way:
// programs may call at any time, so a face stays installed.
void uninstall();

// The override for a function of OpenCL or of an extension, or null. Thread-safe.
void* find_override(std::string_view name);

// Where a face is below another one and this one's loader leads from there only to names with the suffix of a
// vendor: the upper face asks for a function of this name and calls it, and the lower one splits no more. It
// sees only what its platforms are asked, the upper one sees all.
inline constexpr const char* kStandAside = "clStandAsideCLEAVE";

// What such a lower face, the vendor library, answers with.
void stand_aside() noexcept;

// Registers what is to be done around fork(). A face calls this when it is loaded, so that the program's own
// handlers, which are registered later, may call OpenCL. Reads nothing and starts nothing.
void at_load() noexcept;

// Writes the summary that the settings ask for, and ends what runs besides the program. Called by a face when
// the process exits; calls may go on to come.
void at_exit() noexcept;

}  // namespace cleave::interpose
