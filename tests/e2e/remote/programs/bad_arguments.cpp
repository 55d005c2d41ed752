// Calls OpenCL's functions with arguments of which one or two are wrong, and prints what each call returns and writes: a native
// run and one through a server print the same.
//
// The calls are generated: each function is listed once with arguments that are right, and every parameter is then replaced
// by each value of a list for its type, alone, and by null or zero in pairs. A case that is named on a line of the file SKIP
// (a shell pattern) is left out. One in which the driver crashes is told as such; the driver is in whatever state then.
//
// With "released" handles that have been released replace those that are right, and nothing else is replaced.
//
//   bad_arguments [SKIP ["commands objects queries" | "released commands objects queries"]]
#include "bad_arguments.h"

#include <CL/cl.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <fnmatch.h>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bad {
namespace {

std::vector<std::string> skipped;
std::set<std::string> skipped_names;  // those of them that hold no wildcard

void skip(const std::string& line) {
  if (line.find_first_of("*?[") == std::string::npos) {
    skipped_names.insert(line);
  } else {
    skipped.push_back(line);
  }
}

bool is_skipped(const std::string& name) {
  if (skipped_names.contains(name)) return true;
  for (const std::string& pattern : skipped) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

const std::thread::id main_thread = std::this_thread::get_id();
sigjmp_buf before_call;
volatile std::sig_atomic_t is_calling = 0;

// Out of a call that crashes. Another thread's crash ends the program.
void leave(int signal) {
  if (is_calling == 0 || std::this_thread::get_id() != main_thread) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  siglongjmp(before_call, 1);
}

// On a stack of its own: a driver's function may call itself without end.
void catch_crashes() {
  static std::array<char, 1U << 16U> stack;
  stack_t signal_stack{};
  signal_stack.ss_sp = stack.data();
  signal_stack.ss_size = stack.size();
  sigaltstack(&signal_stack, nullptr);
  struct sigaction action {};
  action.sa_handler = leave;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_DFL)
      sigaction(signal, &action, nullptr);  // PoCL goes on after a division by zero
  }
}

}  // namespace

void run_case(const std::string& name, const std::function<std::string()>& call) {
  if (is_skipped(name)) return;
  std::printf("%s: ", name.c_str());
  std::fflush(stdout);  // the last line names the case that has ended the program
  if (sigsetjmp(before_call, 1) != 0) {
    is_calling = 0;
    std::printf("crash\n");
    return;
  }
  is_calling = 1;
  const std::string text = call();
  is_calling = 0;
  std::printf("%s\n", text.c_str());
}

}  // namespace bad

int main(int count, char** arguments) {
  if (count > 1) {
    std::ifstream file(arguments[1]);
    for (std::string line; std::getline(file, line);) bad::skip(line);
  }
  std::setvbuf(stdout, nullptr, _IOFBF, 1U << 16U);
  bad::Rig rig;
  bad::catch_crashes();
  const std::string_view parts = count > 2 ? arguments[2] : "commands objects queries";
  if (parts.find("released") != parts.npos) rig.release_some();
  if (parts.find("commands") != parts.npos) bad::call_commands(rig);
  if (parts.find("objects") != parts.npos) bad::call_objects(rig);
  if (parts.find("queries") != parts.npos) bad::call_queries(rig);
  return 0;
}
