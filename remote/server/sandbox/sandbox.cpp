#include "remote/server/sandbox/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "remote/server/sandbox/inside.h"
#include "remote/server/sandbox/needed_files.h"

namespace cleave::remote::server {
namespace {

namespace fs = std::filesystem;

// For a driver to load and to answer.
constexpr unsigned kTrialSeconds = 60;
constexpr std::array kDefaultDevices{"/dev/nvidia*", "/dev/dri/*", "/dev/kfd"};

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/')) continue;
    folder.append("/").append(name);
    if (::access(folder.c_str(), X_OK) == 0) return folder;
  }
  return "";
}

std::vector<std::string> matching_devices(const SandboxSettings& settings) {
  std::vector<std::string> patterns = settings.devices;
  if (patterns.empty()) patterns.assign(kDefaultDevices.begin(), kDefaultDevices.end());
  std::vector<std::string> found;
  for (const std::string& pattern : patterns) {
    glob_t matches{};
    if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0)
      found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
  }
  return found;
}

// The folders as they are: a mount cannot be on a link.
std::vector<std::string> existing_folders() {
  std::vector<std::string> found;
  for (const char* const folder : kHiddenFolders) {
    std::error_code error;
    const std::string real = fs::canonical(folder, error);
    if (error || !fs::is_directory(real, error) || real == "/") continue;
    const bool is_known = std::any_of(found.begin(), found.end(),
                                      [&](const std::string& other) { return is_below(real, other); });
    if (!is_known && !is_below(real, kTemporaryInside)) found.push_back(real);
  }
  return found;
}

// Writable for all users, as the first process under Cleave would make it.
void make_registry(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) == 0) static_cast<void>(::chmod(folder.c_str(), 01777));
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::istringstream list(contents_of("/proc/" + id + "/task/" + id + "/children"));
  return {std::istream_iterator<pid_t>(list), {}};
}

struct Trial {
  bool succeeded = false;
  std::vector<std::string> devices;
  std::string problem;  // what it said first besides
};

Trial read_trial(int output, pid_t process) {
  std::string text;
  std::array<char, 512> buffer;
  for (ssize_t got = 0; (got = ::read(output, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(process, &status, 0);
  Trial trial{WIFEXITED(status) && WEXITSTATUS(status) == 0, {}, ""};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kListedDevice)) {
      trial.devices.push_back(line);
    } else if (trial.problem.empty()) {
      trial.problem = line.starts_with("bwrap: ") ? line.substr(std::strlen("bwrap: ")) : line;
    }
  }
  if (trial.problem.empty())
    trial.problem = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "it failed without a word";
  return trial;
}

// The process has one thread.
[[noreturn]] void exec_trial(const Launch& launch, int output, int program, char* const* arguments) {
  ::alarm(kTrialSeconds);
  for (const auto& [name, value] : launch.variables)
    value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("CLEAVE_DISABLE", "true", 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  pass_program(program);
  if (enter(launch)) ::execv(arguments[0], arguments);
  ::_exit(EXIT_FAILURE);
}

Trial try_launch(const Launch& launch, std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, {}, std::strerror(errno)};
  const base::FileDescriptor output(ends[0]);
  base::FileDescriptor input(ends[1]);
  const base::FileDescriptor program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  const pid_t process = ::fork();
  if (process == 0) exec_trial(launch, input.get(), program.get(), arguments.data());
  if (process < 0) return {false, {}, std::strerror(errno)};
  input.close();
  return read_trial(output.get(), process);
}

}  // namespace

bool enter(const Launch& launch) {
  if (launch.control_group >= 0 && ::write(launch.control_group, "0", 1) != 1) return false;
  return !launch.identity || become(*launch.identity);
}

void pass_program(int program) {
  if (program == kProgramDescriptor) {
    ::fcntl(program, F_SETFD, 0);
  } else {
    ::dup2(program, kProgramDescriptor);
  }
  ::close_range(kProgramDescriptor + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

WorkerWalls::~WorkerWalls() {
  if (launch_.identity) sandbox_.users_.erase(launch_.identity->user);
}

// In a sandbox the process is bwrap, which waits for its child, the first process of a namespace: that ends last of all in it.
void WorkerWalls::kill(pid_t process) const {
  group_.kill();
  const std::vector<pid_t> children = launch_.prefix.empty() ? std::vector<pid_t>() : children_of(process);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  if (!children.empty()) return;
  ::kill(-process, SIGKILL);
  ::kill(process, SIGKILL);
}

Sandbox::Sandbox(const SandboxSettings& settings, const std::string& user, SharedFiles shared)
    : settings_(settings), shared_(std::move(shared)), hidden_(existing_folders()) {
  if (::geteuid() == 0 && !user.empty()) identity_ = identity_of(user);
  settings_file_ = settings_file(::getenv);
}

std::vector<std::string> Sandbox::raise() {
  std::vector<std::string> missing;
  remove_stale_folders();
  if (settings_.use != SandboxSettings::Use::off) {
    if (!shared_.registry.empty()) make_registry(shared_.registry);
    const std::string problem = try_sandbox();
    has_sandbox_ = problem.empty();
    if (!has_sandbox_) missing.push_back("no sandbox: " + problem);
  }
  std::string problem;
  const std::string own =
      own_group_folder(contents_of("/proc/self/cgroup"), contents_of("/proc/self/mountinfo"));
  groups_ = ControlGroups::make(own, settings_, problem);
  if (!groups_ && (settings_.host_memory != 0 || settings_.processor != 0)) {
    missing.push_back("no limits of host memory and processors: " + problem);
  }
  return missing;
}

SandboxView Sandbox::view() const {
  SandboxView view{bwrap_,        hidden_, {}, {}, matching_devices(settings_), settings_.cache_seed,
                   settings_.disk};
  std::vector<std::string> needed = named_files(::getenv);
  needed.insert(needed.end(), settings_.files.begin(), settings_.files.end());
  if (shared_.opencl.starts_with('/')) needed.push_back(shared_.opencl);
  if (!shared_.state.empty()) needed.push_back(shared_.state);
  std::vector<std::string> hidden = hidden_;
  hidden.emplace_back(kTemporaryInside);
  hidden.emplace_back("/dev/shm");
  view.readable = below_hidden(needed, hidden);
  // A worker does not become a client of its own server.
  for (const std::string& socket : shared_.sockets) {
    const bool is_visible = std::any_of(view.readable.begin(), view.readable.end(),
                                        [&](const std::string& path) { return is_below(socket, path); });
    if (is_visible && ::access(socket.c_str(), F_OK) == 0) view.masked.push_back(socket);
  }
  for (const std::string& secret : visible(shared_.secrets, hidden, view.readable))
    view.masked.push_back(secret);
  // A process that may read a file may lock it.
  std::vector<std::string> foreign = shared_.private_folders;
  if (!shared_.registry.empty()) foreign.push_back(shared_.registry);
  view.emptied = visible(foreign, hidden, view.readable);
  return view;
}

// Has this program list the devices as a worker would see them, inside and outside: a driver that lacks something inside must
// not be lost.
std::string Sandbox::try_sandbox() {
  bwrap_ = find_program("bwrap");
  if (bwrap_.empty()) return "bwrap is not installed (Debian's package bubblewrap)";
  Launch launch;
  launch.identity = identity_;
  if (identity_ && settings_.users) launch.identity->user = settings_.users->first;
  const PrivateFolder folder(launch.identity ? launch.identity->user : ::geteuid(),
                             launch.identity ? launch.identity->group : ::getegid());
  launch.variables = {{"TMPDIR", folder.path()}};
  describe_inside(launch);
  const Trial outside = try_launch(launch, {"/proc/self/exe", kListArgument, shared_.opencl});
  has_sandbox_ = true;
  launch.variables = {{"TMPDIR", ""}};
  describe_inside(launch);
  const Trial inside =
      try_launch(launch, bubblewrap_command(view(), {kProgramInside, kListArgument, shared_.opencl}));
  if (!inside.succeeded) return inside.problem;
  if (inside.devices == outside.devices) return "";
  return "the driver offers " + std::to_string(inside.devices.size()) + " devices in it and " +
         std::to_string(outside.devices.size()) + " outside";
}

// Drivers find their caches by these.
void Sandbox::describe_inside(Launch& launch) const {
  const std::string folder = has_sandbox_ ? "" : launch.variables.front().second;
  const std::string home = has_sandbox_ ? kHomeInside : folder;
  const std::string cache = has_sandbox_ ? kCacheInside : folder;
  launch.variables.insert(launch.variables.end(), {{"HOME", home},
                                                   {"XDG_CACHE_HOME", cache},
                                                   {"POCL_CACHE_DIR", cache + "/pocl/kcache"},
                                                   {"CUDA_CACHE_PATH", cache + "/nv"},
                                                   {"XDG_RUNTIME_DIR", ""}});
  if (!settings_file_.empty()) launch.variables.emplace_back("CLEAVE_CONFIG", settings_file_);
  const std::string seed = has_sandbox_ ? kSeedInside : settings_.cache_seed;
  if (!settings_.cache_seed.empty()) launch.variables.emplace_back(kSeedVariable, seed);
}

Launch Sandbox::outside() const {
  Launch launch;
  launch.identity = identity_;
  if (!settings_file_.empty()) launch.variables.emplace_back("CLEAVE_CONFIG", settings_file_);
  return launch;
}

std::unique_ptr<WorkerWalls> Sandbox::make_walls(std::string& problem) {
  std::unique_ptr<WorkerWalls> walls(new WorkerWalls(*this));
  Launch& launch = walls->launch_;
  std::optional<Identity> identity = identity_;
  if (identity && settings_.users) {
    const auto user = choose_user(*settings_.users, users_);
    if (!user) {
      problem = "--user-range: all users are in use";
      return nullptr;
    }
    identity->user = *user;
    users_.insert(*user);
  }
  launch.identity = identity;
  if (identity) {
    launch.variables = {{"USER", identity->name}, {"LOGNAME", identity->name}, {"HOME", identity->home}};
  }
  if (has_sandbox_) {
    launch.prefix = bubblewrap_command(view(), {kProgramInside});
    launch.variables.insert(launch.variables.begin(), {"TMPDIR", ""});
    // A private one, in the place of the one in which its broker takes part.
    if (!shared_.registry.empty()) launch.variables.emplace_back("CLEAVE_REGISTRY", kRegistryInside);
  } else {
    walls->folder_ =
        PrivateFolder(identity ? identity->user : ::geteuid(), identity ? identity->group : ::getegid());
    if (walls->folder_.path().empty()) {
      problem = std::string("it has no folder for temporary files: ") + std::strerror(errno);
      return nullptr;
    }
    launch.variables.insert(launch.variables.begin(), {"TMPDIR", walls->folder_.path()});
  }
  if (has_sandbox_ || settings_.users) describe_inside(launch);
  if (groups_) walls->group_ = groups_->add();
  launch.control_group = walls->group_.entry();
  return walls;
}

}  // namespace cleave::remote::server
