// Runs this command, and programs that are examined, in child processes, which may crash or hang without harm: `cleave
// doctor` loads drivers only there.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/files/file_descriptor.h"

namespace cleave::cli {

struct ChildRequest {
  std::vector<std::string> arguments;  // of `cleave`
  // Changes to the environment; a variable without a value is removed.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::chrono::milliseconds limit{};  // the child and its descendants are killed after this time
  bool is_program = false;            // the arguments are another program's, its name first
};

struct ChildResult {
  enum class End { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;        // the exit status, the signal, or the error (errno), by `end`
  std::string output;  // its standard output
  std::string errors;  // its standard error

  bool succeeded() const { return end == End::exited && code == 0; }

  // The end of a sentence about the child: "was killed by signal 11 (Segmentation fault)", "did not answer in time", ...
  std::string outcome_text() const;
};

// Runs it with empty standard input until it ends.
ChildResult run_child(const ChildRequest& request);

// A child that writes lines for as long as this object lives. Its standard error is discarded; the request's limit does not
// apply.
class StreamingChild {
 public:
  explicit StreamingChild(const ChildRequest& request);
  StreamingChild(const StreamingChild&) = delete;
  StreamingChild& operator=(const StreamingChild&) = delete;
  ~StreamingChild();  // kills the child

  // The descriptor to poll for input; -1 if the child could not be started.
  int stream() const { return stream_.get(); }

  // Reads available output, or waits for some. Returns false at the end of the stream.
  bool read();

  // The complete lines since the last call.
  std::string take_lines();

 private:
  pid_t child_ = -1;
  base::FileDescriptor stream_;
  std::string output_;
};

}  // namespace cleave::cli
