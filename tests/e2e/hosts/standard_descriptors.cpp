// Closes descriptors 0 to 2 before its first OpenCL call, as services do, and prints all the same. Writes to the file in the first
// argument: how many results were wrong, how often something was printed to a descriptor that stays, the number that the file itself
// got, and a line for each descriptor of the process: its number, whether it is closed on exec, where it leads.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "host_program.h"

namespace {

int printed = 0;

// What a driver opens for a moment, on a thread of its own, is the driver's: only what stays there counts.
bool stays_open(int number) {
  usleep(50'000);
  return fcntl(number, F_GETFD) >= 0;
}

void print() {
  static const char text[4096] = "step done";
  char read_byte = 0;
  for (const int number : {0, 1, 2}) {
    const bool went_somewhere = write(number, text, sizeof text) > 0 || read(number, &read_byte, 1) > 0;
    if (went_somewhere && stays_open(number)) ++printed;
  }
}

void list_descriptors(FILE* to) {
  DIR* const list = opendir("/proc/self/fd");
  while (const dirent* const each = readdir(list)) {
    const int number = std::atoi(each->d_name);
    char target[PATH_MAX] = "";
    if (each->d_name[0] == '.' || number == dirfd(list) || number == fileno(to)) continue;
    if (readlinkat(dirfd(list), each->d_name, target, sizeof target - 1) < 0) continue;
    std::fprintf(to, "%d %d %s\n", number, fcntl(number, F_GETFD) & FD_CLOEXEC, target);
  }
  closedir(list);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  for (const int number : {0, 1, 2}) close(number);
  HostProgram program;
  for (int round = 0; round < 6 && HostProgram::error() == 0; ++round) program.work(20, print);
  FILE* const file = std::fopen(arguments[1], "w");
  if (file == nullptr) return 3;
  std::fprintf(file, "error %d wrong %d printed %d number %d\n", HostProgram::error(), program.wrong(),
               printed, fileno(file));
  list_descriptors(file);
  return std::fclose(file) == 0 ? 0 : 4;
}
