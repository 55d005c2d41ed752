// Child processes of `cleave slurm`, and the signals that it waits for.
//
// Not thread-safe. Functions that start something throw std::runtime_error with a line for the user.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/files/file_descriptor.h"

namespace cleave::cli {

// Blocks SIGCHLD and the signals that request termination, so that a wait can cover them and descriptors; children get the
// former mask. One in a process.
class SignalWatch {
 public:
  SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

  // Waits for a signal, for input on `stream` (-1: none), or until the time is over. Returns the signal that requests termination, if
  // one has arrived.
  std::optional<int> wait(int stream, std::chrono::milliseconds limit);

 private:
  base::FileDescriptor signals_;
};

struct ProcessRequest {
  std::vector<std::string> command;
  // Changes to the environment; a variable without a value is removed.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  bool own_group = false;    // the terminal's signals do not reach it
  bool pipe_input = false;   // else: ours
  bool pipe_output = false;  // else: ours
  bool pipe_errors = false;  // into the same pipe as the output
};

// A child that ends with this process at the latest.
class Process {
 public:
  explicit Process(const ProcessRequest& request);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // ends it

  // The status as a shell has it (128 + signal), once it has ended.
  std::optional<int> status();

  void signal(int number) const;

  // Waits for its end; sends SIGTERM after `patience`, and kills it after the same time again. Returns its status.
  int end(std::chrono::milliseconds patience);

  // Our ends of the pipes. Closing `input` is the end of its input.
  base::FileDescriptor input;
  base::FileDescriptor output;

  // Appends what has arrived, without waiting. Returns false at the end of the stream.
  bool read(std::string& text) const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

struct Captured {
  int status = 127;
  std::string output;
};

// Runs a command that ends soon; it is killed after `limit`.
Captured capture(const std::vector<std::string>& command, const std::string& input = "",
                 std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace cleave::cli
