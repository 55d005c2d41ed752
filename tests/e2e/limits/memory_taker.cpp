// Takes memory of the device, and says what it got. One word for each line of its input:
//
//   take BYTES     a buffer of so many; kept. "taken", or the error's number
//   give           releases the newest
//   svm BYTES      shared virtual memory; "taken", which is freed at once, or "null"
//   says           what the device says that it has: CL_DEVICE_GLOBAL_MEM_SIZE and CL_DEVICE_MAX_MEM_ALLOC_SIZE
//   fork BYTES     a child that takes so many by a context of its own, and what that says
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

const kit::Api cl(kit::linked_table(), kit::end_program);

struct Taker {
  cl_device_id device = cl.device_of();
  kit::Context context = cl.context(device);
  std::vector<cl_mem> taken;

  std::string take(std::size_t bytes) {
    cl_int error = CL_SUCCESS;
    cl_mem const made = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    if (made == nullptr) return std::to_string(error);
    taken.push_back(made);
    return "taken";
  }
  std::string give() {
    cl.clReleaseMemObject(taken.back());
    taken.pop_back();
    return "given";
  }
  std::string svm(std::size_t bytes) const {
    void* const made = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    if (made == nullptr) return "null";
    cl.clSVMFree(context, made);
    return "taken";
  }
  [[nodiscard]] std::string says() const {
    return std::to_string(cl.info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE)) + " " +
           std::to_string(cl.info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  }
};

void say(const std::string& words) {
  std::puts(words.c_str());
  std::fflush(stdout);
}

void take_in_child(std::size_t bytes) {
  if (const pid_t child = fork(); child != 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  say(Taker().take(bytes));
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main() {
  std::unique_ptr<Taker> taker;  // made when it is needed: drivers do not survive a fork
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string word;
    std::size_t bytes = 0;
    words >> word >> bytes;
    if (word == "fork") {
      take_in_child(bytes);
      continue;
    }
    if (!taker) taker = std::make_unique<Taker>();
    if (word == "take") say(taker->take(bytes));
    if (word == "give") say(taker->give());
    if (word == "svm") say(taker->svm(bytes));
    if (word == "says") say(taker->says());
  }
  return 0;
}
