// The isolation of workers: decides what is possible, and sets it up for each worker.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "remote/server/sandbox/bubblewrap.h"
#include "remote/server/sandbox/control_group.h"
#include "remote/server/sandbox/identity.h"
#include "remote/server/sandbox/private_folder.h"
#include "remote/server/sandbox/settings.h"

namespace cleave::remote::server {

// How an isolated process is started.
struct Launch {
  std::vector<std::string> prefix;  // the command in front of "--worker"; empty: the program itself
  // For its environment; empty values: not in it.
  std::vector<std::pair<std::string, std::string>> variables;
  std::optional<Identity> identity;  // that it becomes first
  int control_group = -1;            // ControlGroup::entry()
};

// For a forked child: becomes the identity and enters the group. False: that is not permitted. Allocates nothing.
bool enter(const Launch& launch);
// For a forked child: passes the program on as kProgramDescriptor. All descriptors above it are closed by exec.
void pass_program(int program);

// The part of the surroundings that workers share with the server.
struct SharedFiles {
  std::string opencl;                // the loader: a path, or a name
  std::string state;                 // the folder with the number of clients; empty: none
  std::string registry;              // of the processes under Cleave, which workers do not see; empty: none
  std::vector<std::string> sockets;  // paths where the server listens
  std::vector<std::string> secrets;  // files that the server can read, perhaps as the user of its workers
  std::vector<std::string> private_folders;  // folders with such files
};

class Sandbox;

// One worker's isolation. The destructor, once its processes are gone, removes its files and frees its user.
class WorkerWalls {
 public:
  WorkerWalls(const WorkerWalls&) = delete;
  WorkerWalls& operator=(const WorkerWalls&) = delete;
  ~WorkerWalls();

  [[nodiscard]] const Launch& launch() const { return launch_; }
  // Ends all that the process, which has been started by launch(), has started in its turn, and itself. The process has ended
  // only when all others have.
  void kill(pid_t process) const;

 private:
  friend class Sandbox;
  explicit WorkerWalls(Sandbox& sandbox) : sandbox_(sandbox) {}

  Sandbox& sandbox_;  // which outlives it
  Launch launch_;
  PrivateFolder folder_;
  ControlGroup group_;
};

class Sandbox {
 public:
  // `user`: by name; empty: the server's own. It exists.
  Sandbox(const SandboxSettings& settings, const std::string& user, SharedFiles shared);

  // Tries the isolation; to be called once, at the start. Returns what is missing, each in one sentence; the first one
  // is that there is no sandbox at all, if `has_sandbox()` is false.
  std::vector<std::string> raise();
  [[nodiscard]] bool has_sandbox() const { return has_sandbox_; }
  // For a process outside, as the user that workers have unless each has its own.
  [[nodiscard]] Launch outside() const;

  // For a worker that is to be started; null: no user or folder is left, and `problem` says so.
  std::unique_ptr<WorkerWalls> make_walls(std::string& problem);

 private:
  friend class WorkerWalls;
  [[nodiscard]] SandboxView view() const;
  [[nodiscard]] std::string try_sandbox();
  void describe_inside(Launch& launch) const;

  SandboxSettings settings_;
  std::optional<Identity> identity_;
  SharedFiles shared_;
  bool has_sandbox_ = false;
  std::string bwrap_;
  std::vector<std::string> hidden_;
  std::string settings_file_;
  std::optional<ControlGroups> groups_;
  std::set<uid_t> users_;  // that workers have
};

}  // namespace cleave::remote::server
