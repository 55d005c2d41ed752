// `cleave probe`, the hidden subcommand that `cleave doctor` runs in processes of their own: here a driver
// may crash or hang. Standard output gets the lines that records.h describes and nothing else; what drivers
// print goes to standard error. Each function returns the exit status: 0 where the question was answered,
// whatever the answer.
#pragma once

#include <string>

namespace cleave::cli {

// Asks the drop-in about itself. The loader below it may load its drivers on that occasion.
//   version TEXT, face TEXT, next PATH, setting KEY VALUE ORIGIN ..., problem TEXT ..., and what
//   probe_neighbours tells, once
// or, where the drop-in cannot be loaded or asked: failure TEXT
int probe_library();

// Asks the drop-in how many share the host, once a second until nobody listens any more.
//   setting KEY VALUE ORIGIN ... and problem TEXT ..., once; then again and again
//   neighbour NAME PLACE STATE KNOWLEDGE VMS AGE (milliseconds) ..., vms N
int probe_neighbours();

// Loads `loader`, as a program does that names the system's library by its path, and asks which face of
// Cleave answers.
//   face TEXT and platforms N, or failure TEXT
int probe_loader(const std::string& loader);

// Loads `loader` as programs do that are not under `cleave run`, and asks which platforms the vendor library
// stands in front of.
//   version TEXT, once, if there are any; wrapped NAME ..., beside NAME ..., or failure TEXT
int probe_vendor(const std::string& loader);

// Lists what the drop-in offers to programs.
//   platform P NAME VERSION ..., device P D NAME TYPE VERSION DRIVER CORES ..., or failure TEXT
int probe_devices();

// Runs a small kernel on device D of platform P.
//   right MILLISECONDS, no-compiler, or failure TEXT
int probe_kernel(unsigned platform, unsigned device);

// Waits for a kernel of some 20 ms or more on device D of platform P with the driver's own clFinish.
//   waits MILLISECONDS SHARE (per cent of that time that the waiting thread ran), no-compiler, or failure
//   TEXT
int probe_waits(unsigned platform, unsigned device);

}  // namespace cleave::cli
