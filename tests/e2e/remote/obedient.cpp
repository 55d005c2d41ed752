// A program that does what it is told, a word a line, and answers each with a line:
//
//   work         a context of its own, a launch, and all is released: "right" or "error N"
//   hold         keeps a context and what belongs to it: "held" or "error N"
//   use          the same, with what is held
//   linger N     a command on what is held that ends after N seconds, and waits for it: "right" or "error N"
//   build        a program in what is held, the same each time: what the call returns, and how often its
//                callback was called
//   release      "released"
//   available    what CL_DEVICE_AVAILABLE says
//   descriptors  how many are open
//   fork W,W...  a child does these; its answers come with "child: " before them, then "child ended N"
//   forks N      so many children, while a thread works with what is held; each releases that and works:
//                "all right"
//   orphan       a child that does nothing: its process id
//   open         what kinds of files a program started by this one would inherit, in order
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

// A child that takes longer hangs, and is killed and noticed.
constexpr unsigned kSecondsOfChild = 60;

struct State {
  cl_device_id device = nullptr;
  std::optional<work::Rig> held;
  work::Random random{4711};
};

std::string obey(State& state, const std::string& line);

template <typename Work>
std::string outcome_of(const char* good, Work work) {
  try {
    work();
    return good;
  } catch (const work::DeviceLost& lost) {
    return "error " + std::to_string(lost.error);
  }
}

// Not by the functions of work_steps.h: what is a parent's may be refused by the names of invalid handles.
std::string use_of_a_parents(const work::Rig& rig) {
  cl_int error = clFinish(rig.queue.get());
  if (error == CL_SUCCESS) return "right";
  clCreateBuffer(rig.context.get(), 0, 4, nullptr, &error);
  return "error " + std::to_string(error);
}

// The device waits for the program, which waits for itself: no call of its comes until then.
void linger(const work::Rig& rig, int seconds) {
  const work::Event gate(work::made(
      "clCreateUserEvent", [&](cl_int* error) { return clCreateUserEvent(rig.context.get(), error); }));
  cl_event raw = gate.get();
  work::did("clEnqueueMarkerWithWaitList",
            [&] { return clEnqueueMarkerWithWaitList(rig.queue.get(), 1, &raw, nullptr); });
  work::did("clFlush", [&] { return clFlush(rig.queue.get()); });
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  work::did("clSetUserEventStatus", [&] { return clSetUserEventStatus(raw, CL_COMPLETE); });
  work::did("clFinish", [&] { return clFinish(rig.queue.get()); });
}

// The callback comes from another thread; where none is due, nothing says that none will come.
std::string build(const work::Rig& rig) {
  static const char* source = "kernel void nothing() {}";
  static cl_program const program =
      clCreateProgramWithSource(rig.context.get(), 1, &source, nullptr, nullptr);
  static std::atomic<int> calls{0};
  calls = 0;
  const cl_int error = clBuildProgram(
      program, 0, nullptr, "", [](cl_program, void*) { ++calls; }, nullptr);
  for (int looks = 0; looks < 50 && (calls == 0 || error != CL_SUCCESS); ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(error == CL_SUCCESS ? 100 : 5));
  return std::to_string(error) + ", called " + std::to_string(calls);
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
  std::string kinds;
  for (const int descriptor : open_descriptors()) {
    if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0) continue;
    char target[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (readlink(link.c_str(), target, sizeof target - 1) > 0 && descriptor > STDERR_FILENO)
      kinds += std::string(target) + " ";
  }
  return "inherited: " + kinds;
}

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::string fork_to_do(State& state, std::string words) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return "child ended " + std::to_string(end_of(child));
  alarm(kSecondsOfChild);
  std::replace(words.begin(), words.end(), ',', '\n');
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);) {
    const std::string answer =
        line == "use" && state.held ? use_of_a_parents(*state.held) : obey(state, line);
    std::printf("child: %s\n", answer.c_str());
  }
  std::fflush(stdout);
  _exit(0);
}

bool is_child_well(State& state, int number) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSecondsOfChild);
    if (use_of_a_parents(*state.held) == "right") _exit(1);
    state.held.reset();
    const bool fresh = number % 4 == 0;  // the others only come and go
    _exit(fresh && obey(state, "work") != "right" ? 2 : 0);
  }
  return end_of(child) == 0;
}

std::string fork_often(State& state, int count) {
  std::atomic<bool> enough{false};
  std::string others = "right";
  std::thread busy([&] {
    work::Random random(17);
    const work::Rig rig(state.device, *state.held);
    while (!enough && others == "right")
      others = outcome_of("right", [&] { work::random_step(rig, random); });
  });
  int well = 0;
  for (int i = 0; i < count; ++i) well += is_child_well(state, i) ? 1 : 0;
  enough = true;
  busy.join();
  if (others != "right") return "the parent's thread: " + others;
  return well == count ? "all right" : std::to_string(count - well) + " children were not";
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

std::string obey(State& state, const std::string& line) {
  const std::string word = line.substr(0, line.find(' '));
  const std::string rest = word == line ? "" : line.substr(word.size() + 1);
  if (word == "work")
    return outcome_of("right", [&] { work::add_up(work::Rig(state.device), state.random); });
  if (word == "hold") return outcome_of("held", [&] { state.held.emplace(state.device); });
  if (word == "use") return outcome_of("right", [&] { work::add_up(*state.held, state.random); });
  if (word == "linger") return outcome_of("right", [&] { linger(*state.held, std::atoi(rest.c_str())); });
  if (word == "build") return build(*state.held);
  if (word == "release") return state.held.reset(), "released";
  if (word == "available") {
    cl_bool available = CL_FALSE;
    clGetDeviceInfo(state.device, CL_DEVICE_AVAILABLE, sizeof available, &available, nullptr);
    return std::to_string(available);
  }
  if (word == "descriptors") return std::to_string(open_descriptors().size());
  if (word == "fork") return fork_to_do(state, rest);
  if (word == "forks") return fork_often(state, std::atoi(rest.c_str()));
  if (word == "orphan") return orphan();
  if (word == "open") return inherited();
  return "what is " + word + "?";
}

}  // namespace

int main() {
  State state;
  state.device = work::first_device();
  if (state.device == nullptr) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::printf("%s\n", obey(state, line).c_str());
    std::fflush(stdout);
  }
  return 0;
}
