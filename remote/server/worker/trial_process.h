// A trial process (builds/build_trials.h): makes builds that its worker requests, and reports whether they have ended.
// Standard input leads to the worker. The compiler works on what a client has written: nothing here is trusted by the
// worker, which has the same rights.
#pragma once

namespace cleave::remote::server {

// Returns the process's exit status, which is success if there was no more work. Throws OptionError.
int run_trial_process();

}  // namespace cleave::remote::server
