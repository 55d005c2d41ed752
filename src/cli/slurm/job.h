// A task's information about itself and its Slurm job, from its environment and from Slurm's commands.
//
// Not thread-safe. May throw std::bad_alloc, or std::runtime_error with a line for the user.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace cleave::cli {

// An environment variable; empty if it is not set.
std::string variable(const char* name);

// Of a positive number; 0 if it is none.
unsigned number_variable(const std::string& name);

// This node's address for the other nodes of the cluster.
std::string node_address();

// MUNGE's socket if Slurm is configured with one; else empty, for MUNGE's default.
std::string munge_socket();

// The path of this command, which must be the same on all nodes.
std::string own_command();

// A private folder of this task, in the job's folder (which the plugin's epilog removes) or else in that for
// temporary files. Removed with this object.
class TaskFolder {
 public:
  TaskFolder();
  TaskFolder(const TaskFolder&) = delete;
  TaskFolder& operator=(const TaskFolder&) = delete;
  ~TaskFolder();

  // Writes a file there (mode 0600) and returns its path.
  std::string write(const char* name, const std::string& text) const;
  std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Queries Slurm now and then whether this process's job still runs: a node whose slurmd has died is not notified of the end of
// its jobs.
class JobWatch {
 public:
  explicit JobWatch(std::chrono::seconds interval);

  // False once Slurm reports that the job has ended. While Slurm does not answer, the job is assumed to run.
  bool goes_on();

 private:
  std::chrono::seconds interval_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace cleave::cli
