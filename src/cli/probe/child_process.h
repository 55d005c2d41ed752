// A process that may crash or hang without harm: `cleave doctor` meets drivers only in such processes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace cleave::cli {

struct ChildRequest {
  std::vector<std::string> arguments;  // for this very command, `cleave`
  // Changes to our own environment; a variable without a value is taken away.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::chrono::milliseconds limit{};  // the child and its own children are killed after that
};

struct ChildResult {
  enum class End { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;        // the exit status, the signal, or why it could not be started (errno)
  std::string output;  // what it wrote to standard output
  std::string errors;  // and to standard error

  bool succeeded() const { return end == End::exited && code == 0; }

  // "was killed by signal 11 (Segmentation fault)", "did not answer in time", ...; for a sentence about the
  // child.
  std::string outcome_text() const;
};

// Runs the command with standard input empty and waits for its end. One call at a time.
ChildResult run_child(const ChildRequest& request);

// A child that goes on to tell what it sees, for as long as this object lives. Its standard error goes
// nowhere; the request's limit does not count.
class StreamingChild {
 public:
  explicit StreamingChild(const ChildRequest& request);
  StreamingChild(const StreamingChild&) = delete;
  StreamingChild& operator=(const StreamingChild&) = delete;
  ~StreamingChild();  // kills it

  // To be polled for input; -1 where the child could not be started.
  int stream() const { return stream_; }

  // Reads what is there, or waits for some. False at the end of the stream.
  bool listen();

  // The complete lines that have come since the last time.
  std::string take_lines();

 private:
  pid_t child_ = -1;
  int stream_ = -1;
  std::string output_;
};

}  // namespace cleave::cli
