// How the tasks of one step, servers and programs, find each other if no session has started them: by sealed files in a
// folder that all nodes share.
//
//   token        the job's token, made by the first server
//   server-RANK  a server's address and certificate
//   client-RANK  a program's task that has begun
//   done-RANK    the same, when it has ended
//
// Throws std::runtime_error with a line for the user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cleave::cli {

class Exchange {
 public:
  // `folder` empty: ~/.cache/cleave/slurm-JOB.STEP.
  explicit Exchange(const std::string& folder);

  // The text that all tasks get under this name: that of the first task that offers one.
  std::string agree(const std::string& name, const std::string& offer) const;

  // For this task; others see all of it or nothing.
  void publish(const std::string& kind, const std::string& text) const;

  // The texts of all tasks that have published this; empty if the folder has been removed.
  std::vector<std::string> all(const std::string& kind) const;

  // Whether all tasks of the step have registered, as a server or a client.
  bool is_complete() const;

  // Whether the programs' tasks have ended.
  bool is_over() const;

  // Removes the folder; the last task to end does, or any of them.
  void remove() const;

 private:
  std::filesystem::path path_;
  std::string rank_;
  unsigned tasks_;  // of the step
};

}  // namespace cleave::cli
