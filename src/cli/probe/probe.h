// `cleave probe`, the hidden subcommand that `cleave doctor` runs in child processes, where a driver may crash or hang. Its
// standard output consists of records (records.h); what drivers print goes to standard error. Each function returns the exit
// status: 0 if the question was answered, whatever the answer. Instead of the records listed here, each may write
//   failure TEXT
#pragma once

#include <string>

namespace cleave::cli {

// Queries the drop-in. The loader below it may load its drivers.
//   version TEXT, face TEXT, next PATH, setting KEY VALUE ORIGIN ..., problem TEXT ..., and once the records of
//   probe_neighbours()
int probe_library();

// Queries the drop-in for the number of VMs, once a second until the reader has closed the pipe.
//   setting KEY VALUE ORIGIN ... and problem TEXT ..., once; then repeatedly
//   neighbour NAME PLACE STATE KNOWLEDGE VMS AGE (milliseconds) ..., vms N
int probe_neighbours();

// Loads `loader`, like a program that names the system's library by its path, and finds out which face of Cleave answers.
//   face TEXT and platforms N
int probe_loader(const std::string& loader);

// Loads `loader`, like programs that are not under `cleave run`, and finds out which platforms the vendor library wraps.
//   version TEXT, once, if there are any; wrapped NAME ..., beside NAME ...
int probe_vendor(const std::string& loader);

// Lists the platforms and devices of the drop-in.
//   platform P NAME VERSION ..., device P D NAME TYPE VERSION DRIVER CORES ...
int probe_devices();

// Runs a small kernel on device D of platform P.
//   right MILLISECONDS, or no-compiler
int probe_kernel(unsigned platform, unsigned device);

// Waits for a kernel of at least some 20 ms on device D of platform P with the driver's own clFinish.
//   waits MILLISECONDS SHARE (the CPU time of the waiting thread, in per cent), or no-compiler
int probe_waits(unsigned platform, unsigned device);

// Queries the remote server at the address.
//   server NAME, answered NANOSECONDS, clients N MOST, device NAME VERSION UNITS BYTES ..., or problem TEXT
int probe_server(const std::string& address);

}  // namespace cleave::cli
