// A client that executes the commands on its standard input, one per line, and answers each with a line:
//
//   work         creates a context, launches, and releases everything: "ok" or "error N"
//   hold         creates a context and its objects, and keeps them: "held" or "error N"
//   use          launches with the held objects: "ok" or "error N"
//   wait N       enqueues a command that completes after N seconds, and waits for it: "ok" or "error N"
//   build        builds a program in the held context: the call's return value, and how often its callback was called
//   release      releases the held objects: "released"
//   available    the value of CL_DEVICE_AVAILABLE
//   descriptors  the number of open descriptors
//   fork C,C...  a child executes these; its replies begin with "child: ", then "child ended N"
//   forks N      so many children, while a thread uses the held context; each releases that and works: "all ok"
//   orphan       a child that does nothing: its process id
//   inherited    the files that an executed program would inherit
//
// Ends with its input.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "checked_work.h"

namespace {

// A child that takes longer hangs, and is killed.
constexpr unsigned kChildTimeout = 60;  // seconds

struct State {
  cl_device_id device = nullptr;
  std::optional<work::Worker> held;
  work::Random random{4711};
};

std::string execute(State& state, const std::string& line);

template <typename Work>
std::string outcome_of(const char* success, Work work) {
  try {
    work();
    return success;
  } catch (const work::DeviceLost& lost) {
    return "error " + std::to_string(lost.error);
  }
}

// Without the checks of checked_work.h: a parent's handles may be refused as invalid ones.
std::string use_parents_objects(const work::Worker& worker) {
  cl_int error = clFinish(worker.queue);
  if (error == CL_SUCCESS) return "ok";
  clCreateBuffer(*worker.context, 0, 4, nullptr, &error);
  return "error " + std::to_string(error);
}

// The command waits for a user event, and the program sleeps meanwhile: it makes no call.
void wait_on_user_event(const work::Worker& worker, int seconds) {
  const kit::Event gate = work::cl().user_event(*worker.context);
  work::check(work::cl().marker(worker.queue, {gate}));
  work::check(work::cl().clFlush(worker.queue));
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  work::check(work::cl().clSetUserEventStatus(gate, CL_COMPLETE));
  work::check(work::cl().clFinish(worker.queue));
}

// The callback comes from another thread; if none is due, nothing says that none will come.
std::string build(const work::Worker& worker) {
  static const char* source = "kernel void nothing() {}";
  static cl_program const program = clCreateProgramWithSource(*worker.context, 1, &source, nullptr, nullptr);
  static std::atomic<int> calls{0};
  calls = 0;
  const cl_int error = clBuildProgram(
      program, 0, nullptr, "", [](cl_program, void*) { ++calls; }, nullptr);
  const auto is_settled = [&] { return error == CL_SUCCESS && calls != 0; };
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(error == CL_SUCCESS ? 20'000 : 250);
  while (!is_settled() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return std::to_string(error) + ", callbacks " + std::to_string(calls);
}

std::vector<int> open_descriptors() {
  std::vector<int> list;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(folder)) list.push_back(number);
  }
  closedir(folder);
  return list;
}

std::string inherited() {
  std::string files;
  for (const int descriptor : open_descriptors()) {
    if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0) continue;
    char target[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (readlink(link.c_str(), target, sizeof target - 1) > 0 && descriptor > STDERR_FILENO)
      files += std::string(target) + " ";
  }
  return "inherited: " + files;
}

int exit_status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::string fork_and_execute(State& state, std::string commands) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return "child ended " + std::to_string(exit_status_of(child));
  alarm(kChildTimeout);
  std::replace(commands.begin(), commands.end(), ',', '\n');
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    const std::string reply =
        line == "use" && state.held ? use_parents_objects(*state.held) : execute(state, line);
    std::printf("child: %s\n", reply.c_str());
  }
  std::fflush(stdout);
  _exit(0);
}

bool child_succeeds(State& state, int number) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildTimeout);
    if (use_parents_objects(*state.held) == "ok") _exit(1);
    state.held.reset();
    const bool works = number % 4 == 0;  // the others only start and end
    _exit(works && execute(state, "work") != "ok" ? 2 : 0);
  }
  return exit_status_of(child) == 0;
}

std::string fork_repeatedly(State& state, int count) {
  std::atomic<bool> stop{false};
  std::string outcome = "ok";
  std::thread busy([&] {
    work::Random random(17);
    const work::Worker worker(state.device, *state.held);
    while (!stop && outcome == "ok") outcome = outcome_of("ok", [&] { work::random_step(worker, random); });
  });
  int succeeded = 0;
  for (int i = 0; i < count; ++i) succeeded += child_succeeds(state, i) ? 1 : 0;
  stop = true;
  busy.join();
  if (outcome != "ok") return "the parent's thread: " + outcome;
  return succeeded == count ? "all ok" : std::to_string(count - succeeded) + " children failed";
}

std::string orphan() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
    while (true) pause();
  }
  return std::to_string(child);
}

std::string execute(State& state, const std::string& line) {
  const std::string command = line.substr(0, line.find(' '));
  const std::string rest = command == line ? "" : line.substr(command.size() + 1);
  if (command == "work")
    return outcome_of("ok", [&] { work::add_and_check(work::Worker(state.device), state.random); });
  if (command == "hold") return outcome_of("held", [&] { state.held.emplace(state.device); });
  if (command == "use") return outcome_of("ok", [&] { work::add_and_check(*state.held, state.random); });
  if (command == "wait")
    return outcome_of("ok", [&] { wait_on_user_event(*state.held, std::atoi(rest.c_str())); });
  if (command == "build") return build(*state.held);
  if (command == "release") return state.held.reset(), "released";
  if (command == "available") {
    cl_bool available = CL_FALSE;
    clGetDeviceInfo(state.device, CL_DEVICE_AVAILABLE, sizeof available, &available, nullptr);
    return std::to_string(available);
  }
  if (command == "descriptors") return std::to_string(open_descriptors().size());
  if (command == "fork") return fork_and_execute(state, rest);
  if (command == "forks") return fork_repeatedly(state, std::atoi(rest.c_str()));
  if (command == "orphan") return orphan();
  if (command == "inherited") return inherited();
  return "unknown command " + command;
}

}  // namespace

int main() {
  State state;
  state.device = work::first_device();
  if (state.device == nullptr) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::printf("%s\n", execute(state, line).c_str());
    std::fflush(stdout);
  }
  return 0;
}
